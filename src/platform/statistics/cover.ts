/**
 * Splits a range of time into pieces of the coarsest rollups that fit, down to the requests themselves at both ends. So
 * a figure over any range is exact, and two years of days cost 730 rows, not ten thousand.
 */
export type Grain = 'day' | 'hour' | 'minute';
export interface Range {
  from: number;
  to: number;
}

export const SIZE: Record<Grain, number> = { day: 86_400_000, hour: 3_600_000, minute: 60_000 };
const GRAINS = ['day', 'hour', 'minute'] as const;

export interface Cover {
  day: Range[];
  hour: Range[];
  minute: Range[];
  /** Parts of minutes, counted from the requests. */
  raw: Range[];
  /** The range of all rollups together; usage not yet folded is added over it. */
  folded: Range;
}

// Days, hours and minutes in UTC are whole multiples since 1970.
const ceil = (time: number, size: number) => Math.ceil(time / size) * size;
const floor = (time: number, size: number) => Math.floor(time / size) * size;
const some = (ranges: Range[]): Range[] => ranges.filter(({ from, to }) => from < to);

/** `coarsest`: the widest rollup that may be used, at most as wide as the buckets. `from` is included, `to` is not. */
export function cover({ from, to }: Range, coarsest: Grain): Cover {
  const out: Cover = { day: [], hour: [], minute: [], raw: [], folded: { from: 0, to: 0 } };
  let open = some([{ from, to }]);
  for (const grain of GRAINS.slice(GRAINS.indexOf(coarsest))) {
    const size = SIZE[grain];
    open = open.flatMap((range) => {
      const whole = { from: ceil(range.from, size), to: floor(range.to, size) };
      if (whole.from >= whole.to) return [range];
      out[grain].push(whole);
      return some([
        { from: range.from, to: whole.from },
        { from: whole.to, to: range.to },
      ]);
    });
  }
  out.raw = open;
  const whole = { from: ceil(from, SIZE.minute), to: floor(to, SIZE.minute) };
  if (whole.from < whole.to) out.folded = whole;
  return out;
}

/**
 * Widens the ends of a range to whole minutes if the requests there are deleted: the rollups have no finer resolution.
 */
export function widened({ from, to }: Range, requestsSince: number): Range {
  return {
    from: from < requestsSince ? floor(from, SIZE.minute) : from,
    to: to < requestsSince ? ceil(to, SIZE.minute) : to,
  };
}
