/** Columns and figures for people. Cells come from media and servers: no control character gets through. */
import { signOf, type Tone } from '../../base/signs.ts';
import { oneLine, type Terminal } from '../terminal.ts';

export { bitRate, duration, several } from '../../base/scaled.ts';

/** How long ago, as kubectl says it. */
export function age(since: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(since)) / 1_000));
  return Number.isNaN(seconds) ? '' : ageOf(seconds);
}

export function ageOf(seconds: number): string {
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

export type Colour = 'red' | 'green' | 'yellow' | 'dim' | 'bold';
const CODES: Readonly<Record<Colour, string>> = { red: '31', green: '32', yellow: '33', dim: '2', bold: '1' };

export const paint = ({ colour }: Pick<Terminal, 'colour'>, name: Colour | undefined, text: string): string =>
  colour && name !== undefined ? `\u001b[${CODES[name]}m${text}\u001b[0m` : text;

interface Cell {
  text: string;
  colour?: Colour | undefined;
}
export type Row = readonly (string | Cell)[];

const COLOURS: Readonly<Record<Tone, Colour | undefined>> = {
  good: 'green',
  warn: 'yellow',
  bad: 'red',
  none: undefined,
};

/** Of an outcome, a state or a level, by its word. In the console `skipped` is also what was not asked for. */
export const colourOf = (word: string): Colour | undefined =>
  word === 'skipped' ? 'yellow' : COLOURS[signOf(word).tone];

export const coloured = (text: string): Cell => ({ text, colour: colourOf(text) });

const cellOf = (cell: string | Cell): Cell => (typeof cell === 'string' ? { text: cell } : cell);
const GAP = '  ';
const LEAST = 8;

/** Null: not known, and left out. */
export type Facts = readonly (readonly [name: string, value: string | null])[];

/** A name and a value in each row. */
export const factsText = (terminal: Parameters<typeof tableText>[0], head: readonly string[], facts: Facts): string =>
  tableText(
    terminal,
    head,
    facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );

/** A last column that is too long for a terminal is cut, or stands below its row; into a pipe nothing is cut. */
export function tableText(
  terminal: Pick<Terminal, 'colour' | 'interactive' | 'width'>,
  head: readonly string[],
  rows: readonly Row[],
  tooLong: 'cut' | 'below' = 'cut',
): string {
  const all: Cell[][] = [
    head.map((text) => ({ text, colour: 'dim' as const })),
    ...rows.map((row) => row.map(cellOf).map(({ text, colour }) => ({ text: oneLine(text), colour }))),
  ];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.text.length ?? 0)));
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  const most = terminal.interactive ? Math.max(LEAST, terminal.width - before) : Number.POSITIVE_INFINITY;
  return all
    .map((row) =>
      row
        .map(({ text, colour }, column) => {
          if (column < head.length - 1) return paint(terminal, colour, text.padEnd(widths[column]!));
          if (text.length <= most) return paint(terminal, colour, text);
          if (tooLong === 'below') return `\n${GAP}${paint(terminal, colour, text)}`;
          return paint(terminal, colour, `${text.slice(0, most - 1)}…`);
        })
        .join(GAP)
        .replaceAll(/ +$/gm, ''),
    )
    .map((line) => `${line}\n`)
    .join('');
}
