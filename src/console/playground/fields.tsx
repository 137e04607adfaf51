/** Fields of the playground: each is a value of the address, so that a link fills the form in. */
import { useId, useState } from 'preact/hooks';
import type { AvailableTool, PolicyRow, ToolOption } from '../../api_types.ts';
import { choices } from '../parts/filters.tsx';
import { Field, type FieldProps, useWrong } from '../parts/form.tsx';
import { goWith, usePlace } from '../router.ts';
import { isOn, runs, setOptions } from './form.ts';

/** A run that is shown stays until the next one. */
export const setValue = (name: string, value: string | null): void => goWith({ [name]: value });

interface OnOffProps {
  name: string;
  label: string;
  byDefault: boolean;
  help?: string;
  /** The value says what is not done. */
  negated?: boolean;
}

export function OnOff({ name, label, byDefault, help, negated = false }: OnOffProps) {
  const id = useId();
  const wrong = useWrong(name);
  const { query } = usePlace();
  return (
    <div class="on-off">
      <label>
        <input
          type="checkbox"
          name={name}
          checked={isOn(query, name, byDefault !== negated) !== negated}
          aria-invalid={wrong}
          aria-describedby={help === undefined ? undefined : id}
          onChange={(event) => setValue(name, String(event.currentTarget.checked !== negated))}
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

/** Its value stands in the address. The empty one is left out of the request. */
export function QueryField(field: FieldProps) {
  const { query } = usePlace();
  return <Field {...field} value={query.get(field.name)} change={(value) => setValue(field.name, value)} />;
}

/** Which policy judges the answer. */
export const PolicyField = ({ policies }: { policies: readonly PolicyRow[] }) => (
  <QueryField
    name="policy"
    label="Policy"
    values={choices(
      policies.map(({ name }) => name),
      'none',
    )}
  />
);

/** `values`: those of the chosen version, which may have fewer than others. */
function OptionField({ tool, option, values }: { tool: string; option: ToolOption; values: readonly string[] }) {
  const name = `${tool}.${option.name}`;
  if (option.type === 'boolean')
    return <OnOff name={name} label={option.name} byDefault={option.default === true} help={option.help} />;
  if (option.type === 'enum') {
    const byDefault = option.default === null ? 'not passed' : `${String(option.default)} (default)`;
    const others = values.filter((one) => one !== option.default).map((one) => [one, one] as const);
    return <QueryField name={name} label={option.name} values={[['', byDefault], ...others]} help={option.help} />;
  }
  return (
    <QueryField
      name={name}
      label={option.name}
      help={option.help}
      placeholder={option.default === null ? '' : String(option.default)}
      autoComplete="off"
      {...(option.type !== 'string' && {
        type: 'number',
        min: option.minimum,
        max: option.maximum,
        step: option.type === 'integer' ? 1 : 'any',
      })}
    />
  );
}

// A tool of the playground: whether it runs, at which version, with which options.

/** The version that the form names, or the latest; `known`: what the catalog says of it. */
function versionOf(query: URLSearchParams, { tool, latest, versions }: AvailableTool) {
  const chosen = query.get(`${tool}.version`) || latest;
  return { chosen, known: versions.find(({ version }) => version === chosen) };
}

function Options({ tool }: { tool: AvailableTool }) {
  const { query } = usePlace();
  const [wanted, setWanted] = useState('');
  const { chosen, known: version } = versionOf(query, tool);
  const accepted = new Set(version?.options);
  const set = setOptions(query, tool);
  const isSet = (name: string) => set.some(({ option }) => option.name === name);
  // One that is set and not accepted stays in view: the API would refuse it.
  const offered = tool.options.filter(({ name }) => accepted.has(name) || isSet(name));
  const text = wanted.trim().toLowerCase();
  const shown = offered.filter(({ name, help }) => `${name} ${help}`.toLowerCase().includes(text));
  return (
    <details>
      <summary>
        Options <span class="unit">{set.length === 0 ? 'as they are by default' : `${set.length} set`}</span>
      </summary>
      <Field
        name={`find-${tool.tool}`}
        label={`Find an option of ${tool.tool}`}
        type="search"
        value={wanted}
        change={setWanted}
        autoComplete="off"
      />
      <p class="unit" role="status">
        {shown.length} of {offered.length}
        {offered.length < tool.options.length &&
          `; version ${chosen} does not have ${tool.options.length - accepted.size} others`}
      </p>
      <div class="options">
        {shown.map((option) => (
          <div key={option.name} class={isSet(option.name) ? 'option set' : 'option'}>
            <OptionField
              tool={tool.tool}
              option={option}
              values={version?.values?.[option.name] ?? option.values ?? []}
            />
            {!accepted.has(option.name) && <p class="wrong">version {chosen} does not have it</p>}
          </div>
        ))}
      </div>
    </details>
  );
}

const ONLY_PLAYLISTS = 'mediastreamvalidator.parse_playlist_only';

/** A version of a link or of the log that is not here stays in view: the API would refuse it. */
export function VersionChoice({ tool: { tool, latest, versions }, name }: { tool: AvailableTool; name: string }) {
  const wanted = usePlace().query.get(name) ?? '';
  const isKnown = wanted === '' || versions.some(({ version }) => version === wanted);
  const offered = [
    ['', `latest (${latest})`],
    ...(isKnown ? [] : [[wanted, `${wanted} (not here)`] as const]),
    ...versions.map(({ version }) => [version, version] as const),
  ] as const;
  return <QueryField name={name} label={`Version of ${tool}`} values={offered} />;
}

export function Tool({ tool }: { tool: AvailableTool }) {
  const { query } = usePlace();
  const { tool: name, latest, selectable, help, options } = tool;
  const on = runs(query, tool);
  const { chosen, known } = versionOf(query, tool);
  return (
    <fieldset class="tool">
      <legend>{name}</legend>
      <OnOff
        name={`${name}.enabled`}
        label={`Run ${name}`}
        byDefault={tool.default}
        {...(selectable ? {} : { help })}
      />
      {latest === null && <p class={on ? 'wrong' : 'help'}>no version is ready in this cluster</p>}
      {on && selectable && latest !== null && <VersionChoice tool={tool} name={`${name}.version`} />}
      {on && known?.warning !== undefined && (
        <p class="help">
          Version {chosen}: {known.warning}
        </p>
      )}
      {on && name === 'mediastreamvalidator' && (
        <OnOff
          name={ONLY_PLAYLISTS}
          label="Measure segments"
          byDefault={false}
          help="Reads segments, too: measured bit rates and durations beside the declared ones."
          negated
        />
      )}
      {on && options.length > 0 && <Options tool={tool} />}
    </fieldset>
  );
}
