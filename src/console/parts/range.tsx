/** Which time a page is about: the last hours or days, or from one day to another, in the reader's zone. */
import { useId } from 'preact/hooks';
import { changed, go, usePlace } from '../router.ts';
import { ZONE } from './figures.ts';
import { FilterChoice } from './filters.tsx';

const HOUR_MS = 3_600_000;
const RANGES: Record<string, { title: string; ms: number }> = {
  hour: { title: 'the last hour', ms: HOUR_MS },
  day: { title: 'the last 24 hours', ms: 24 * HOUR_MS },
  week: { title: 'the last 7 days', ms: 168 * HOUR_MS },
  month: { title: 'the last 30 days', ms: 720 * HOUR_MS },
};

export interface Range {
  from: string;
  to: string | null;
}

const isDay = (text: string | null): text is string => text !== null && /^\d{4}-\d\d-\d\d$/.test(text);
/** Midnight in the reader's zone. */
const midnight = (day: string, later = 0): string => {
  const [year, month, date] = day.split('-').map(Number) as [number, number, number];
  return new Date(year, month - 1, date + later).toISOString();
};

/** To the minute, so that the same page asks the same question; never longer than it is called. */
export function rangeIn(query: URLSearchParams, byDefault: keyof typeof RANGES): Range {
  const [from, to] = [query.get('from'), query.get('to')];
  if (query.get('range') === 'days' && isDay(from))
    return { from: midnight(from), to: isDay(to) ? midnight(to, 1) : null };
  const { ms } = RANGES[query.get('range') ?? ''] ?? RANGES[byDefault]!;
  return { from: new Date(Math.ceil(Date.now() / 60_000) * 60_000 - ms).toISOString(), to: null };
}

export const useRange = (byDefault: keyof typeof RANGES): Range => rangeIn(usePlace().query, byDefault);

function Day({ name, label }: { name: string; label: string }) {
  const id = useId();
  const { path, query } = usePlace();
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="date"
        value={query.get(name) ?? ''}
        onChange={(event) => go(path, changed(query, { [name]: event.currentTarget.value, page: null }))}
      />
    </div>
  );
}

interface RangeFilterProps {
  byDefault: keyof typeof RANGES;
  ahead?: (query: URLSearchParams) => void;
}

export function RangeFilter({ byDefault, ahead }: RangeFilterProps) {
  const { query } = usePlace();
  const values = [
    ['', RANGES[byDefault]!.title],
    ...Object.entries(RANGES)
      .filter(([name]) => name !== byDefault)
      .map(([name, { title }]) => [name, title] as const),
    ['days', 'days …'],
  ] as const;
  return (
    <>
      <FilterChoice name="range" label="Time" values={values} ahead={ahead} />
      {query.get('range') === 'days' && (
        <>
          <Day name="from" label={`From (${ZONE})`} />
          <Day name="to" label="To" />
        </>
      )}
    </>
  );
}
