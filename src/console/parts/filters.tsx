/** Filters of a list: each is a value of the address, and takes the list back to its first page. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { changed, go, placeNow, usePlace } from '../router.ts';

const set = (name: string, value: string, replace: boolean): void => {
  const { path, query } = placeNow();
  go(path, changed(query, { [name]: value, page: null }), replace);
};

interface ChoiceProps {
  name: string;
  label: string;
  /** Value and what it is called; the empty value is none in the address. */
  values: readonly (readonly [value: string, title: string])[];
}

export function FilterChoice({ name, label, values }: ChoiceProps) {
  const id = useId();
  const { query } = usePlace();
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select id={id} value={query.get(name) ?? ''} onChange={(event) => set(name, event.currentTarget.value, false)}>
        {values.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </div>
  );
}

/** After the last letter: a list is not asked for at each of them. */
const TYPED_MS = 250;

interface TextProps {
  name: string;
  label: string;
  placeholder?: string;
}

export function FilterText({ name, label, placeholder }: TextProps) {
  const id = useId();
  const { query } = usePlace();
  const there = query.get(name) ?? '';
  const [typed, setTyped] = useState(there);
  const timer = useRef(0);
  useEffect(() => {
    setTyped(there);
  }, [there]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <div class="filter">
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
          timer.current = window.setTimeout(() => set(name, value, true), TYPED_MS);
        }}
      />
    </div>
  );
}

/** One of the values that the API knows, or none. */
export const oneOf = <const T extends string>(value: string | null, values: readonly T[]): T[] =>
  values.filter((one) => one === value);
