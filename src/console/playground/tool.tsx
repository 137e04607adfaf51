/** A tool of the playground: whether it runs, at which version, with which options. */
import { useState } from 'preact/hooks';
import type { AvailableTool } from '../../api_types.ts';
import { usePlace } from '../router.ts';
import { Choice, OnOff, OptionField } from './fields.tsx';
import { runs, setOptions } from './form.ts';

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
      <div class="field">
        <label for={`find-${tool.tool}`}>Find an option of {tool.tool}</label>
        <input
          id={`find-${tool.tool}`}
          type="search"
          value={wanted}
          autoComplete="off"
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
      </div>
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
              value={query.get(`${tool.tool}.${option.name}`)}
              values={version?.values?.[option.name] ?? option.values ?? []}
            />
            {!accepted.has(option.name) && <p class="wrong">version {chosen} does not have it</p>}
          </div>
        ))}
      </div>
    </details>
  );
}

export function Tool({ tool }: { tool: AvailableTool }) {
  const { query } = usePlace();
  const { tool: name, latest, selectable, versions, help, options } = tool;
  const on = runs(query, tool);
  const { chosen, known } = versionOf(query, tool);
  return (
    <fieldset class="tool">
      <legend>{name}</legend>
      <OnOff name={`${name}.enabled`} label={`Run ${name}`} on={on} {...(selectable ? {} : { help })} />
      {latest === null && <p class={on ? 'wrong' : 'help'}>no version is ready in this cluster</p>}
      {on && selectable && latest !== null && (
        <Choice
          name={`${name}.version`}
          label={`Version of ${name}`}
          value={query.get(`${name}.version`) ?? ''}
          values={[['', `latest (${latest})`], ...versions.map(({ version }) => [version, version] as const)]}
        />
      )}
      {on && known?.warning !== undefined && (
        <p class="help">
          Version {chosen}: {known.warning}
        </p>
      )}
      {on && selectable && options.length > 0 && <Options tool={tool} />}
    </fieldset>
  );
}
