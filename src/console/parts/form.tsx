/** Forms: one button, what went wrong beside the field that it is about, and nothing sent twice. */
import { type ComponentChildren, createContext, h, type TargetedInputEvent, type TargetedSubmitEvent } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Failure } from '../api/failure.ts';
import { useWork } from '../api/use_call.ts';
import { Wrong } from './states.tsx';

const FailureOfForm = createContext<Failure | null>(null);

interface FormProps {
  /** What the button says. */
  submit: string;
  work: (values: FormData) => Promise<void>;
  /** None: a question alone. */
  children?: ComponentChildren;
  danger?: boolean;
  /** Said when it is done, where the page does not change. */
  done?: string;
  wide?: boolean;
}

export function Form({ submit, work, children, danger = false, done, wide = false }: FormProps) {
  const { busy, failure, start } = useWork();
  const [finished, setFinished] = useState(false);
  const form = useRef<HTMLFormElement>(null);

  async function send(event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    if (busy !== null) return;
    setFinished(false);
    const values = new FormData(event.currentTarget);
    await start(submit, async () => {
      await work(values);
      setFinished(true);
    });
  }
  // A wrong field takes the focus, so that it is heard of and mended at once.
  useEffect(() => {
    if (failure?.field) form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(failure.field)}"]`)?.focus();
  }, [failure]);

  return (
    <form ref={form} class={wide ? 'wide' : undefined} onSubmit={(event) => void send(event)} aria-busy={busy !== null}>
      <FailureOfForm.Provider value={failure}>{children}</FailureOfForm.Provider>
      {failure && (
        <p class="wrong" role="alert">
          {failure.text}
          {failure.retryAfter !== null && ` Try again in ${failure.retryAfter} s.`}
        </p>
      )}
      <p class="actions">
        <button type="submit" class={danger ? 'danger' : 'primary'} disabled={busy !== null}>
          {busy === null ? submit : `${submit} …`}
        </button>
        <span role="status" class="said">
          {finished ? done : ''}
        </span>
      </p>
    </form>
  );
}

/** A small button that works at once, without a form. `label`: where its words do not say what it is about. */
export function WorkButton({ work, label, children }: { work: () => Promise<void>; label?: string; children: string }) {
  const { busy, failure, start } = useWork();
  const press = (): void => void start(children, work);
  return (
    <>
      <button type="button" class="small" disabled={busy !== null} onClick={press} aria-label={label}>
        {busy === null ? children : `${children} …`}
      </button>
      <Wrong failure={failure} />
    </>
  );
}

/** Whether what went wrong is about this field. The API names one with its place: `limits.concurrency`. */
export const useWrong = (name: string): boolean => useContext(FailureOfForm)?.field === name;

/** Values of a list, each with what it is called. */
export type Choices = readonly (readonly [value: string, title: string])[];

/** `chosen`: at first, where the page does not hold the value. */
export const optionsOf = (choices: Choices, chosen?: unknown) =>
  choices.map(([value, title]) => (
    <option key={value} value={value} selected={value === chosen}>
      {title}
    </option>
  ));

export interface FieldProps {
  name: string;
  label: string;
  type?: 'text' | 'email' | 'password' | 'number' | 'search' | 'date';
  /** Of these one is chosen. */
  values?: Choices;
  /** A text of so many lines. */
  rows?: number;
  help?: string | undefined;
  value?: string | number | null | undefined;
  /** Called with what is typed: the value is held elsewhere. None: it is read when the form is sent. */
  change?: (value: string) => void;
  required?: boolean;
  disabled?: boolean;
  autoComplete?: string;
  minLength?: number;
  maxLength?: number;
  min?: number | undefined;
  max?: number | undefined;
  step?: number | 'any';
  inputMode?: 'url';
  unit?: string;
  placeholder?: string;
  pattern?: string;
}

/** A control with its label, its help, and a mark where it is wrong. */
export function Field({ label, unit, help, value, change, values, rows, type = 'text', ...given }: FieldProps) {
  const id = useId();
  const wrong = useWrong(given.name);
  const typed = (event: TargetedInputEvent<HTMLInputElement>) => change?.(event.currentTarget.value);
  const tag = values ? 'select' : rows === undefined ? 'input' : 'textarea';
  const control = {
    ...given,
    rows,
    ...(tag === 'input' && { type }),
    ...(change ? { value: value ?? '', onInput: typed } : { defaultValue: value ?? undefined }),
    id,
    spellcheck: false,
    'aria-invalid': wrong,
    'aria-describedby': help === undefined ? undefined : `${id}-help`,
  };
  return (
    <div class="field">
      <label for={id}>
        {label}
        {unit !== undefined && <span class="unit"> {unit}</span>}
      </label>
      {h<object>(tag, control, values && optionsOf(values, value))}
      {help !== undefined && (
        <p class="help" id={`${id}-help`}>
          {help}
        </p>
      )}
    </div>
  );
}

export function Check({ name, label, checked = false }: { name: string; label: string; checked?: boolean }) {
  return (
    <label class="check">
      <input type="checkbox" name={name} defaultChecked={checked} /> {label}
    </label>
  );
}

/** Of a field that holds text. */
export const textIn = (values: FormData, name: string): string => {
  const value = values.get(name);
  return typeof value === 'string' ? value : '';
};
/** Of such fields, which have the names of the API. */
export const textsIn = <K extends string>(values: FormData, ...names: readonly K[]): Record<K, string> =>
  Object.fromEntries(names.map((name) => [name, textIn(values, name)])) as Record<K, string>;
export const isChecked = (values: FormData, name: string): boolean => values.get(name) === 'on';
/** Null: left empty. */
export const numberIn = (values: FormData, name: string): number | null => {
  const text = textIn(values, name).trim();
  return text === '' ? null : Number(text);
};

// A password that is chosen: its bounds are those of the API.

const BOUNDS = '6 to 72 characters';

/** `help`: when to choose one; it stands before the bounds. */
export const NewPassword = ({ help, ...given }: Pick<FieldProps, 'name'> & Partial<FieldProps>) => (
  <Field
    label="New password"
    required
    {...given}
    type="password"
    autoComplete="new-password"
    help={help === undefined ? `${BOUNDS}.` : `${help}: ${BOUNDS}.`}
    minLength={6}
    maxLength={72}
  />
);
