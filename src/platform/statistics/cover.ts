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
  /** Parts of minutes, and of hours where minutes are deleted: counted from the requests. */
  raw: Range[];
  /** The range of all rollups together; usage not yet folded is added over it. */
  folded: Range;
}

// Days, hours and minutes in UTC are whole multiples since 1970.
const ceil = (time: number, size: number) => Math.ceil(time / size) * size;
const floor = (time: number, size: number) => Math.floor(time / size) * size;
const some = (ranges: Range[]): Range[] => ranges.filter(({ from, to }) => from < to);

/**
 * `coarsest`: the widest rollup that may be used, at most as wide as the buckets. `from` is included, `to` is not.
 * `minutesSince`: when the figures by minute begin, the start of a month.
 */
export function cover({ from, to }: Range, coarsest: Grain, minutesSince: number): Cover {
  const out: Cover = { day: [], hour: [], minute: [], raw: [], folded: { from: 0, to: 0 } };
  let open = some([{ from, to }]);
  for (const grain of GRAINS.slice(GRAINS.indexOf(coarsest))) {
    const size = SIZE[grain];
    open = open.flatMap((range) => {
      if (grain === 'minute' && range.from < minutesSince) return [range];
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
  const [first, last] = [open[0], open.at(-1)];
  const folded = { from: first?.from === from ? first.to : from, to: last?.to === to ? last.from : to };
  if (folded.from < folded.to) out.folded = folded;
  return out;
}

/**
 * Widens the ends of a range to what is there: where requests are deleted to whole minutes, and where figures by minute
 * are deleted, too, to whole hours.
 */
export function widened({ from, to }: Range, since: { requests: number; minutes: number }): Range {
  const size = (time: number) => (time >= since.requests ? 1 : time >= since.minutes ? SIZE.minute : SIZE.hour);
  return { from: floor(from, size(from)), to: ceil(to, size(to)) };
}
