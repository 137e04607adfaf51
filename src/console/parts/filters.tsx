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
    <div class="filter">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={present}
        onPointerDown={askForOthers}
        onChange={(event) => set(name, event.currentTarget.value, false)}
      >
        {values.map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </div>
  );
}

/** The first letter is asked for at once, and the others when none has followed for this long. */
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
          const now = performance.now();
          if (now - last.current >= TYPED_MS) ask(value);
          else timer.current = window.setTimeout(() => ask(value), TYPED_MS);
          last.current = now;
        }}
      />
    </div>
  );
}

/** One of the values that the API knows, or none. */
export const oneOf = <const T extends string>(value: string | null, values: readonly T[]): T[] =>
  values.filter((one) => one === value);
