/** Sections of an answer for people. */
import { type Cell, type Part, spansIn, type Table, textIn } from '../../media/answer/section.ts';
import { Tally } from '../../base/tally.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import { colourOf, paint, tableText } from './text_table.ts';

/** On a terminal: into a pipe nothing is cut. */
const MOST_ROWS = 50;
const MOST_ALIKE = 5;

/** A status in it colours all of it. */
function cellText(cell: Cell) {
  const spans = spansIn(cell);
  const text = spans.map((span) => (span.as === 'chosen' ? `✓ ${span.text}` : span.text)).join(' ');
  return { text, colour: colourOf(spans.find(({ as }) => as === 'status')?.text ?? '') };
}

function shownRows({ interactive }: Terminal, { rows, alike }: Table<unknown>): readonly unknown[] {
  const kinds = new Tally<string>();
  const shown = rows.filter((row) => {
    const kind = alike?.(row);
    if (kind !== undefined) kinds.add(kind);
    return kind === undefined || kinds.of(kind) <= MOST_ALIKE;
  });
  return interactive ? shown.slice(0, MOST_ROWS) : shown;
}

const factLine = (name: string, value: string): string => (value === '' ? '' : `${name}: ${oneLine(value)}\n`);

function sentenceText(terminal: Terminal, sentence: Cell): string {
  const words = spansIn(sentence).map(({ text, as }) =>
    paint(terminal, as === 'status' ? colourOf(text) : undefined, oneLine(text)),
  );
  return words.length === 0 ? '' : `${words.join(' ')}\n`;
}

function partText(terminal: Terminal, part: Part): string {
  if ('facts' in part) return part.facts.map(([name, value]) => factLine(name, textIn(value))).join('');
  if ('nothing' in part) return `${part.nothing}. ${part.why}\n`;
  if ('sentence' in part) return sentenceText(terminal, part.sentence);
  if (!('columns' in part) || part.rows.length === 0) return '';
  const { columns, rows } = part;
  const head = columns.map(({ title }) => title.toUpperCase());
  const shown = shownRows(terminal, part).map((row) => columns.map(({ cell }) => cellText(cell(row))));
  const more = rows.length - shown.length;
  return `${tableText(terminal, head, shown, 'below')}${more > 0 ? `and ${more} more\n` : ''}`;
}

/** What is folded, `-o json` has. */
export const partsText = (terminal: Terminal, parts: readonly Part[]): string =>
  parts.map((part) => partText(terminal, part)).join('');
