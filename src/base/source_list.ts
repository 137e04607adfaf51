/** The sources of a batch, as a list has them: an address on each line, JSON lines, or CSV with a column `url`. */
import { isObject } from './is_object.ts';

/** What is wrong with a list. No part of it is repeated: an address may hold a credential. */
export class ListError extends Error {
  readonly hint: string | undefined;
  constructor(message: string, hint?: string) {
    super(message);
    this.name = 'ListError';
    this.hint = hint;
  }
}

/** A source, and the line that it began on. */
export interface ListedItem {
  line: number;
  item: unknown;
}

interface Line {
  line: number;
  text: string;
}

const isNoise = ({ text }: Line): boolean => text === '' || text.startsWith('#');
const linesOf = (list: string): Line[] =>
  list
    .split(/\r?\n/)
    .map((text, at) => ({ line: at + 1, text: text.trim() }))
    .filter((one) => !isNoise(one));

const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;

function addressOf({ line, text }: Line): ListedItem {
  if (ADDRESS.test(text)) return { line, item: text };
  throw new ListError(
    `line ${line}: is not an address`,
    'an address begins with its scheme: https://, s3://, rtmp:// …',
  );
}

/** Characters of an item as JSON, and of a cell of CSV in quotes. */
export const MOST_LINE = 9 * 1024;

function jsonOf({ line, text }: Line): ListedItem {
  if (text.length > MOST_LINE) throw new ListError(`line ${line}: must have at most ${MOST_LINE} characters`);
  let item: unknown;
  try {
    item = JSON.parse(text);
  } catch {
    throw new ListError(`line ${line}: is not valid JSON`);
  }
  // JSON.parse reads more levels than JSON.stringify writes; members of an item have none.
  if (typeof item !== 'string' && (!isObject(item) || Object.values(item).some(isNested)))
    throw new ListError(`line ${line}: must be an address or {"url": …}`);
  return { line, item };
}

const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null;

// CSV, as RFC 4180 has it: a cell in quotes may hold separators, line breaks, and quotes that are doubled.

const UNCLOSED = `is not closed within ${MOST_LINE} characters, or something follows it`;

interface CsvRow {
  line: number;
  cells: string[];
}

function csvRows(text: string, separator: string): CsvRow[] {
  const cell = new RegExp(
    String.raw`(?:"((?:[^"]|""){0,${MOST_LINE}})"|([^"${separator}\r\n][^${separator}\r\n]*|))(${separator}|\r?\n|$)`,
    'y',
  );
  const rows: CsvRow[] = [];
  let [line, cells] = [1, [] as string[]];
  for (let begun = line; cell.lastIndex < text.length;) {
    const found = cell.exec(text);
    if (!found) throw new ListError(`line ${line}: a quote ${UNCLOSED}`);
    const [whole, quoted, plain = '', end] = found;
    cells.push((quoted?.replaceAll('""', '"') ?? plain).trim());
    line += whole.split('\n').length - 1;
    if (end === separator && cell.lastIndex < text.length) continue;
    rows.push({ line: begun, cells });
    [begun, cells] = [line, []];
  }
  return rows.filter((row) => row.cells.some((value) => value !== ''));
}

const SEPARATORS = [',', ';', '\t'];

/** Undefined: it is no CSV with a column `url`. */
function separatorOf({ text }: Line): string | undefined {
  if (text.includes('://')) return undefined;
  return SEPARATORS.find((separator) => namesOf(text.split(separator)).includes('url'));
}
const namesOf = (cells: readonly string[]): string[] =>
  cells.map((name) => name.replaceAll('"', '').trim().toLowerCase());

/** `begins`: the line of the names. */
function csvItems(text: string, separator: string, begins: number): ListedItem[] {
  const [head, ...rows] = csvRows(text, separator).filter(({ line }) => line >= begins);
  const names = namesOf(head!.cells);
  const [url, ref] = [names.indexOf('url'), names.indexOf('ref')];
  return rows.map(({ line, cells }) => {
    const { item } = addressOf({ line, text: cells[url] ?? '' });
    const name = ref === -1 ? '' : (cells[ref] ?? '');
    return { line, item: name === '' ? item : { url: item, ref: name } };
  });
}

const EMPTY = 'the list has no sources';

export function itemsIn(given: string): ListedItem[] {
  const text = given.replace(/^\ufeff/, '');
  const lines = linesOf(text);
  const [first] = lines;
  if (!first) throw new ListError(EMPTY);
  const separator = separatorOf(first);
  if (separator === undefined) return lines.map(/^[{"]/.test(first.text) ? jsonOf : addressOf);
  const items = csvItems(text, separator, first.line);
  if (items.length === 0) throw new ListError(EMPTY);
  return items;
}
