/** Attribute lists: parsed to their end, whatever they contain, and checked against the grammar. */
import { quote } from './rule.ts';
import { formError, type Form, type TagSpec } from './grammar.ts';
import type { Note } from './rules/catalog.ts';

export interface Attribute {
  /** Without its quotes, with variables expanded. */
  value: string;
  quoted: boolean;
  column: number;
}

export type Attributes = ReadonlyMap<string, Attribute>;

const NAME = /^[A-Z0-9-]+$/;

/** Further attributes are not read: no genuine playlist comes near this. */
const MOST = 1_000;

/** Parses from column `start`. `expand` expands variables. */
function readAttributes(
  line: string,
  start: number,
  expand: (text: string) => string,
  note: (rule: 'attribute-syntax' | 'attribute-duplicate', detail: string, column: number) => void,
): Attributes {
  const found = new Map<string, Attribute>();
  let at = start;
  const end = line.length;
  let count = 0;
  while (at < end) {
    if (++count > MOST) {
      note('attribute-syntax', `more than ${MOST} attributes`, at + 1);
      break;
    }
    const space = skipSpace(line, at);
    if (space > at) note('attribute-syntax', 'white space before an attribute', at + 1);
    at = space;
    if (at >= end) break;
    const begun = at;
    const comma = line.indexOf(',', at);
    const equals = line.indexOf('=', at);
    if (equals === -1 || (comma !== -1 && comma < equals)) {
      const stop = comma === -1 ? end : comma;
      note(
        'attribute-syntax',
        stop === at ? 'an attribute is empty' : `${quote(line.slice(at, stop))} is not NAME=value`,
        at + 1,
      );
      at = stop + 1;
      continue;
    }
    const spelled = line.slice(at, equals);
    const name = spelled.trimEnd();
    if (name !== spelled) note('attribute-syntax', `white space around the = of ${quote(name)}`, at + 1);
    if (!NAME.test(name))
      note('attribute-syntax', `${quote(name)} is not an attribute name, which consists of A-Z, 0-9 and -`, at + 1);
    at = equals + 1;
    let value: string;
    let quoted = false;
    if (line.charCodeAt(at) === 34) {
      quoted = true;
      const close = line.indexOf('"', at + 1);
      if (close === -1) {
        note('attribute-syntax', `the quoted value of ${name} does not end`, at + 1);
        value = line.slice(at + 1);
        at = end;
      } else {
        value = line.slice(at + 1, close);
        at = close + 1;
        if (at < end && line.charCodeAt(at) !== 44) {
          const next = line.indexOf(',', at);
          const stop = next === -1 ? end : next;
          note('attribute-syntax', `${quote(line.slice(at, stop))} after the quoted value of ${name}`, at + 1);
          at = stop;
        }
      }
    } else {
      const next = line.indexOf(',', at);
      const stop = next === -1 ? end : next;
      value = line.slice(at, stop);
      if (value.trim() !== value) {
        note('attribute-syntax', `white space around the value of ${name}`, at + 1);
        value = value.trim();
      }
      at = stop;
    }
    if (at < end) {
      at++;
      if (at === end) note('attribute-syntax', 'nothing follows the last comma', at);
    }
    if (value.includes('{$')) value = expand(value);
    if (found.has(name)) note('attribute-duplicate', name, begun + 1);
    else found.set(name, { value, quoted, column: begun + 1 });
  }
  return found;
}

function skipSpace(line: string, from: number): number {
  let at = from;
  while (at < line.length && (line.charCodeAt(at) === 32 || line.charCodeAt(at) === 9)) at++;
  return at;
}

/** Unknown and missing attributes, and values of the wrong form, are noted. `start`: column of the first attribute. */
export function checkedAttributes(
  content: string,
  start: number,
  { name, line, spec }: { name: string; line: number; spec: TagSpec },
  expand: (text: string) => string,
  note: Note,
): Attributes {
  const attributes = readAttributes(content, start, expand, (rule, detail, column) =>
    note(rule, line, `${name}: ${detail}`, column),
  );
  const known = spec.attributes ?? {};
  for (const [attribute, found] of attributes) {
    const wanted = Object.hasOwn(known, attribute) ? known[attribute] : undefined;
    if (wanted === undefined) {
      if (!attribute.startsWith('X-') && !attribute.startsWith('REQ-'))
        note('attribute-unknown', line, `${name}: ${quote(attribute)}`, found.column);
      else if (
        !found.quoted &&
        formError('hex', found.value, false) !== undefined &&
        formError('signed', found.value, false) !== undefined &&
        name === 'EXT-X-DATERANGE'
      )
        note('attribute-type', line, `${name}: ${attribute} is neither in quotes nor a number`, found.column);
      continue;
    }
    const { form, values } = wanted;
    const error = formError(form, found.value, found.quoted);
    const shown = (): string => `${name}: ${attribute}=${quote(found.value)}`;
    if (error !== undefined) note('attribute-type', line, `${shown()} ${error}`, found.column);
    else if (values !== undefined && !wordsOf(form, found.value).every((word) => values.includes(word)))
      note('attribute-value', line, `${shown()} is not one of ${values.join(', ')}`, found.column);
    else if (found.quoted && found.value === '' && attribute !== 'VALUE')
      note('attribute-value', line, `${name}: ${attribute} is empty`, found.column);
  }
  for (const [attribute, { required }] of Object.entries(known))
    if (required === true && !attributes.has(attribute))
      note('attribute-missing', line, `${name} without ${attribute}`);
  return attributes;
}

const wordsOf = (form: Form, value: string): string[] =>
  form === 'enum' ? [value] : value.split(',').map((word) => word.trim());
