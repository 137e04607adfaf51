/** Quantities as people write them: `5 Mbit/s`, `1.5 GiB`, `40 ms`, `48 kHz`. */

export type Unit = 'none' | 'seconds' | 'bytes' | 'bits' | 'hertz' | 'rate';

/** By the unit's name in lower case: how many of the base unit. */
const FACTORS: Readonly<Record<Unit, Readonly<Record<string, number>>>> = {
  none: {},
  seconds: { ms: 0.001, s: 1, sec: 1, min: 60, h: 3600 },
  bytes: {
    b: 1,
    kb: 1e3,
    mb: 1e6,
    gb: 1e9,
    tb: 1e12,
    kib: 1024,
    mib: 1024 ** 2,
    gib: 1024 ** 3,
    tib: 1024 ** 4,
  },
  bits: {
    'bit/s': 1,
    'kbit/s': 1e3,
    'mbit/s': 1e6,
    'gbit/s': 1e9,
    bps: 1,
    kbps: 1e3,
    mbps: 1e6,
    gbps: 1e9,
    'kb/s': 1e3,
    'mb/s': 1e6,
  },
  hertz: { hz: 1, khz: 1e3, mhz: 1e6 },
  rate: { fps: 1 },
};

/** What a message names of a unit. */
const EXAMPLES: Readonly<Record<Unit, string>> = {
  none: 'a number',
  seconds: 'a number of seconds, or text such as "90 s", "40 ms" or "1.5 h"',
  bytes: 'a number of bytes, or text such as "700 MB" or "4 GiB"',
  bits: 'a number of bits per second, or text such as "192 kbit/s" or "5 Mbit/s"',
  hertz: 'a number of hertz, or text such as "48 kHz"',
  rate: 'a number, or text such as "24000/1001" or "25"',
};
export const acceptedOf = (unit: Unit): string => EXAMPLES[unit];

const QUANTITY = /^([+-]?\d{1,15}(?:\.\d{1,9})?) ?([A-Za-z/]{1,6})?$/;

/** In the base unit; undefined where it is none. */
export function quantityOf(value: unknown, unit: Unit): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string') return undefined;
  const found = QUANTITY.exec(value.trim());
  if (!found) return undefined;
  const factors = FACTORS[unit];
  const name = found[2]?.toLowerCase();
  if (name === undefined) return Number(found[1]);
  return Object.hasOwn(factors, name) ? Number(found[1]) * factors[name]! : undefined;
}

/** How far a value may lie from another: in the field's unit, in frames, or relative to it. */
export interface Tolerance {
  kind: 'absolute' | 'frames' | 'relative';
  amount: number;
}

const SPECIAL = /^(\d{1,9}(?:\.\d{1,9})?) ?(frames?|%)$/;

export function toleranceOf(value: unknown, unit: Unit): Tolerance | undefined {
  const found = typeof value === 'string' ? SPECIAL.exec(value.trim()) : null;
  if (found?.[2] === '%') return { kind: 'relative', amount: Number(found[1]) / 100 };
  if (found) return unit === 'seconds' ? { kind: 'frames', amount: Number(found[1]) } : undefined;
  const amount = quantityOf(value, unit);
  return amount === undefined || amount < 0 ? undefined : { kind: 'absolute', amount };
}

export function allowed(tolerance: Tolerance, of: number, frame: number): number {
  const { kind, amount } = tolerance;
  return kind === 'absolute' ? amount : kind === 'frames' ? amount * frame : Math.abs(of) * amount;
}
