/** Sections of an answer for people. */
import { type Cell, type Part, spansIn, textIn } from '../../media/answer/section.ts';
import { oneLine, type Terminal } from '../terminal.ts';
import { coloured, tableText } from './text_table.ts';

const MOST_ROWS = 50;

function cellText(cell: Cell) {
  const spans = spansIn(cell);
  if (spans[0]?.as === 'status') return coloured(textIn(cell));
  return spans.map(({ text, as }) => (as === 'chosen' ? `✓ ${text}` : text)).join(' ');
}

const factLine = (name: string, value: string): string => (value === '' ? '' : `${name}: ${oneLine(value)}\n`);

function partText(terminal: Terminal, part: Part): string {
  if ('facts' in part) return part.facts.map(([name, value]) => factLine(name, textIn(value))).join('');
  if ('nothing' in part) return `${part.nothing}. ${part.why}\n`;
  if ('sentence' in part) return spansIn(part.sentence).length === 0 ? '' : `${oneLine(textIn(part.sentence))}\n`;
  if (!('columns' in part) || part.rows.length === 0) return '';
  const { columns, rows } = part;
  const head = columns.map(({ title }) => title.toUpperCase());
  const shown = rows.slice(0, MOST_ROWS).map((row) => columns.map(({ cell }) => cellText(cell(row))));
  const more = rows.length - shown.length;
  return `${tableText(terminal, head, shown)}${more > 0 ? `and ${more} more\n` : ''}`;
}

/** What is folded, `-o json` has. */
export const partsText = (terminal: Terminal, parts: readonly Part[]): string =>
  parts.map((part) => partText(terminal, part)).join('');
