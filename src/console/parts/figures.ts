/** Figures as people read them, in the reader's own language and time zone. */
const NUMBER = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const DATE = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export const count = (value: number): string => NUMBER.format(value);
export const several = (value: number, one: string): string => `${count(value)} ${one}${value === 1 ? '' : 's'}`;
export const dateTime = (iso: string): string => DATE.format(new Date(iso));

export interface Figure {
  value: string;
  unit: string;
}

/** The largest step that leaves at least one before the point. */
function stepped(value: number, steps: readonly (readonly [unit: string, size: number])[]): Figure {
  const [unit, size] = steps.findLast(([, one]) => Math.abs(value) >= one) ?? steps[0]!;
  return { value: NUMBER.format(value / size), unit };
}

export const milliseconds = (value: number): Figure =>
  stepped(value, [
    ['ms', 1],
    ['s', 1_000],
    ['min', 60_000],
    ['h', 3_600_000],
    ['days', 86_400_000],
  ]);

export const seconds = (value: number): Figure => milliseconds(1_000 * value);

/** Powers of ten, as the limits count. */
export const bytes = (value: number): Figure =>
  stepped(value, [
    ['B', 1],
    ['kB', 1e3],
    ['MB', 1e6],
    ['GB', 1e9],
    ['TB', 1e12],
    ['PB', 1e15],
  ]);

export const said = ({ value, unit }: Figure): string => `${value} ${unit}`;

const bitRate = (value: number): Figure => ({ value: count(Math.round(value / 1_000)), unit: 'kb/s' });
export const kilobits = (value: number): string => said(bitRate(value));

/** What is not known is left out. */
export const joined = (separator: string, parts: readonly (string | 0 | false | null | undefined)[]): string =>
  parts.filter(Boolean).join(separator);
