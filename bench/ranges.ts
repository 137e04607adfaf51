/** The target ranges, as a reviewed file (ranges.yaml). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { parse } from 'yaml';
import { ratioOf, type Row } from './measurement.ts';

const Bound = Type.Object(
  {
    /** `tail`: the 99th percentile over the row's own median. */
    of: Type.Enum(['p50', 'p99', 'most', 'ratio', 'tail']),
    atMost: Type.Optional(Type.Number()),
    atLeast: Type.Optional(Type.Number()),
  },
  { additionalProperties: false },
);
const Range = Type.Object(
  {
    aim: Type.String(),
    /** All must hold. Without any, the figure is only reported. */
    bounds: Type.Array(Bound),
    /** The measured values when the range was set, as p50 and p99 or as minimum and maximum. */
    mean: Type.String(),
    spread: Type.String(),
    calibrated: Type.String(),
    run: Type.String(),
  },
  { additionalProperties: false },
);
const Ranges = Type.Record(Type.String(), Range);
export type Range = Static<typeof Range>;

export function readRanges(
  text = readFileSync(join(import.meta.dirname, 'ranges.yaml'), 'utf8'),
): Record<string, Range> {
  return Value.Parse(Ranges, parse(text));
}

/** Undefined if there is no bound. */
export function reached(row: Row, range: Range | undefined): boolean | undefined {
  if (!range || range.bounds.length === 0) return undefined;
  return range.bounds.every(({ of, atMost, atLeast }) => {
    const value = of === 'ratio' ? ratioOf(row) : of === 'tail' ? row.values.p99 / row.values.p50 : row.values[of];
    return value !== undefined && value <= (atMost ?? Infinity) && value >= (atLeast ?? -Infinity);
  });
}
