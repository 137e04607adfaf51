/** Filters of a list: each is a value of the address, and takes the list back to its first page. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { changed, goWith, usePlace } from '../router.ts';
import { ZONE } from './figures.ts';
import { optionsOf, type Choices } from './form.tsx';

const set = (name: string, value: string, replace: boolean): void => goWith({ [name]: value, page: null }, replace);

interface ChipProps {
  id: string;
  label: string;
  name: string;
  isSet: boolean;
  children: ComponentChildren;
}

/** One that is set is marked, and cleared by a button. */
const Chip = ({ id, label, name, isSet, children }: ChipProps) => (
  <div class={isSet ? 'filter set' : 'filter'}>
    <label for={id}>{label}</label>
    {children}
    {isSet && (
      <button type="button" class="clear" onClick={() => set(name, '', false)}>
        <span class="unseen">Clear: {label}</span>
        <span aria-hidden="true">✕</span>
      </button>
    )}
  </div>
);

interface ChoiceProps {
  name: string;
  label: string;
  /** Value and what it is called; the empty value is none in the address. */
  values: Choices;
  /** The list of values is opened: what each of them leads to may be asked for. */
  ahead?: ((query: URLSearchParams) => void) | undefined;
}

export function FilterChoice({ name, label, values, ahead }: ChoiceProps) {
  const id = useId();
  const { query } = usePlace();
  const present = query.get(name) ?? '';
  const askForOthers = () => {
    for (const [value] of values) if (value !== present) ahead?.(changed(query, { [name]: value, page: null }));
  };
  return (
    <Chip id={id} label={label} name={name} isSet={present !== ''}>
      <select
        id={id}
        value={present}
        onPointerDown={askForOthers}
        onChange={(event) => set(name, event.currentTarget.value, false)}
      >
        {optionsOf(values)}
      </select>
    </Chip>
  );
}

/** The first letter is asked for at once, and the others when none has followed for this long. */
const TYPED_MS = 250;

export function FilterText({ name, label, placeholder }: { name: string; label: string; placeholder?: string }) {
  const id = useId();
  const { query } = usePlace();
  const there = query.get(name) ?? '';
  const [typed, setTyped] = useState(there);
  const timer = useRef(0);
  /** When a letter was typed last, and what of it is in the address. */
  const last = useRef(-TYPED_MS);
  const asked = useRef(there);
  useEffect(() => {
    // Letters may have followed those that this field has put there.
    if (there !== asked.current) setTyped(there);
    asked.current = there;
  }, [there]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const ask = (value: string): void => {
    asked.current = value;
    set(name, value, true);
  };
  return (
    <div class="filter text">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        value={typed}
        placeholder={placeholder}
        spellcheck={false}
        autoComplete="off"
        onInput={(event) => {
          const { value } = event.currentTarget;
          setTyped(value);
          clearTimeout(timer.current);
          const now = performance.now();
          if (now - last.current >= TYPED_MS) ask(value);
          else timer.current = window.setTimeout(() => ask(value), TYPED_MS);
          last.current = now;
        }}
      />
    </div>
  );
}

/** Each value by its own name, behind that of none. */
export const choices = (values: readonly string[], none = 'any') =>
  [['', none], ...values.map((value) => [value, value] as const)] as const;

/** One of the values that the API knows, or none. */
export const oneOf = <const T extends string>(value: string | null, values: readonly T[]): T[] =>
  values.filter((one) => one === value);

// Which time a page is about: the last hours or days, or from one day to another, in the reader's zone.

const HOUR_MS = 3_600_000;

export interface Range {
  from: string;
  to: string | null;
}

/** Midnight in the reader's zone, some days before or after a day. */
const midnight = (day: Date, later = 0): string =>
  new Date(day.getFullYear(), day.getMonth(), day.getDate() + later).toISOString();

/** To the minute, so that the same page asks the same question; never longer than it is called. */
const last = (hours: number) => (): Range => ({
  from: new Date(Math.ceil(Date.now() / 60_000) * 60_000 - hours * HOUR_MS).toISOString(),
  to: null,
});

const RANGES = {
  hour: { title: 'the last hour', of: last(1) },
  day: { title: 'the last 24 hours', of: last(24) },
  today: { title: 'today', of: (): Range => ({ from: midnight(new Date()), to: null }) },
  yesterday: {
    title: 'yesterday',
    of: (): Range => ({ from: midnight(new Date(), -1), to: midnight(new Date()) }),
  },
  week: { title: 'the last 7 days', of: last(168) },
  month: { title: 'the last 30 days', of: last(720) },
};
type RangeName = keyof typeof RANGES;

const dayOf = (text: string | null): Date | null => {
  const [, year, month, date] = (/^(\d{4})-(\d\d)-(\d\d)$/.exec(text ?? '') ?? []).map(Number);
  return date === undefined ? null : new Date(year!, month! - 1, date);
};

export function rangeIn(query: URLSearchParams, byDefault: RangeName): Range {
  const [from, to] = [dayOf(query.get('from')), dayOf(query.get('to'))];
  const name = query.get('range') ?? '';
  if (name === 'days' && from) return { from: midnight(from), to: to ? midnight(to, 1) : null };
  return RANGES[Object.hasOwn(RANGES, name) ? (name as RangeName) : byDefault].of();
}

function Day({ name, label }: { name: string; label: string }) {
  const id = useId();
  const { query } = usePlace();
  const value = query.get(name) ?? '';
  return (
    <Chip id={id} label={label} name={name} isSet={value !== ''}>
      <input id={id} type="date" value={value} onChange={(event) => set(name, event.currentTarget.value, false)} />
    </Chip>
  );
}

export function RangeFilter({ byDefault, ahead }: { byDefault: RangeName; ahead?: (query: URLSearchParams) => void }) {
  const { query } = usePlace();
  const values = [
    ['', RANGES[byDefault].title],
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
