/**
 * A range of time as pieces of the coarsest rollups that fill it, down to the requests themselves at its two ends: so a
 * figure over any range is exact, and two years of days cost 730 rows, not ten thousand.
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
  /** What is in no whole minute: counted from the requests. */
  raw: Range[];
  /** All that the rollups cover together: what was not folded yet is added over it. */
  folded: Range;
}

// Days, hours and minutes of UTC are whole multiples since 1970.
const ceil = (time: number, size: number) => Math.ceil(time / size) * size;
const floor = (time: number, size: number) => Math.floor(time / size) * size;
const some = (ranges: Range[]): Range[] => ranges.filter(({ from, to }) => from < to);

/** `coarsest`: no piece is wider than the buckets that are asked for. From is inside, to is not. */
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
 * Where the requests are kept no longer, the ends of a range are widened to whole minutes: the rollups know no more.
 */
export function widened({ from, to }: Range, requestsSince: number): Range {
  return {
    from: from < requestsSince ? floor(from, SIZE.minute) : from,
    to: to < requestsSince ? ceil(to, SIZE.minute) : to,
  };
}
