/** Fields of the playground: each is a value of the address, so that a link fills the form in. */
import { useId } from 'preact/hooks';
import type { ToolOption } from '../../api_types.ts';
import { useWrong } from '../parts/form.tsx';
import { changed, go, placeNow } from '../router.ts';

/** A run that is shown stays until the next one. */
export function setValue(name: string, value: string | null): void {
  const { path, query } = placeNow();
  go(path, changed(query, { [name]: value }), true);
}

interface OnOffProps {
  name: string;
  label: string;
  on: boolean;
  help?: string;
}

export function OnOff({ name, label, on, help }: OnOffProps) {
  const id = useId();
  const wrong = useWrong(name);
  return (
    <div class="on-off">
      <label>
        <input
          type="checkbox"
          name={name}
          checked={on}
          aria-invalid={wrong}
          aria-describedby={help === undefined ? undefined : id}
          onChange={(event) => setValue(name, String(event.currentTarget.checked))}
        />{' '}
        {label}
      </label>
      {help !== undefined && (
        <p class="help" id={id}>
          {help}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps {
  name: string;
  label: string;
  value: string;
  /** The empty value is left out of the request. */
  values: readonly (readonly [value: string, title: string])[];
  help?: string | undefined;
}

export function Choice({ name, label, value, values, help }: ChoiceProps) {
  const id = useId();
  const wrong = useWrong(name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        name={name}
        value={value}
        aria-invalid={wrong}
        aria-describedby={help === undefined ? undefined : `${id}-help`}
        onChange={(event) => setValue(name, event.currentTarget.value)}
      >
        {values.map(([one, title]) => (
          <option key={one} value={one}>
            {title}
          </option>
        ))}
      </select>
      {help !== undefined && (
        <p class="help" id={`${id}-help`}>
          {help}
        </p>
      )}
    </div>
  );
}

interface TypedProps {
  name: string;
  option: ToolOption;
  value: string;
}

function Typed({ name, option: { name: label, type, default: byDefault, help, minimum, maximum }, value }: TypedProps) {
  const id = useId();
  const wrong = useWrong(name);
  const attributes: object =
    type === 'string'
      ? { type: 'text' }
      : { type: 'number', min: minimum, max: maximum, step: type === 'integer' ? 1 : 'any' };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        value={value}
        placeholder={byDefault === null ? '' : String(byDefault)}
        spellcheck={false}
        autoComplete="off"
        aria-invalid={wrong}
        aria-describedby={`${id}-help`}
        onInput={(event) => setValue(name, event.currentTarget.value)}
        {...attributes}
      />
      <p class="help" id={`${id}-help`}>
        {help}
      </p>
    </div>
  );
}

interface OptionProps {
  tool: string;
  option: ToolOption;
  /** As the address has it; null: it does not. */
  value: string | null;
  /** Fewer than all, where the chosen version has fewer. */
  values: readonly string[];
}

export function OptionField({ tool, option, value, values }: OptionProps) {
  const name = `${tool}.${option.name}`;
  if (option.type === 'boolean')
    return (
      <OnOff
        name={name}
        label={option.name}
        on={value === null ? option.default === true : value === 'true'}
        help={option.help}
      />
    );
  if (option.type === 'enum') {
    const byDefault = option.default === null ? 'not passed' : `${String(option.default)} (default)`;
    const others = values.filter((one) => one !== option.default).map((one) => [one, one] as const);
    return (
      <Choice
        name={name}
        label={option.name}
        value={value ?? ''}
        values={[['', byDefault], ...others]}
        help={option.help}
      />
    );
  }
  return <Typed name={name} option={option} value={value ?? ''} />;
}
