/** Several versions of the tools on one file, or two files at one version. */
import { useState } from 'preact/hooks';
import type { AvailableTool } from '../../api_types.ts';
import { call } from '../api/client.ts';
import type { HeldToken } from '../api/gateway.ts';
import { Form } from '../parts/form.tsx';
import { WithToken } from '../parts/with_token.tsx';
import { QueryField, VersionChoice } from '../playground/fields.tsx';
import { ADDRESS } from '../playground/form.ts';
import { Bench, send } from '../playground/run.tsx';
import { Address } from '../playground/source.tsx';
import { changed, go, goWith, usePlace } from '../router.ts';

const OTHER = 'other';

/** Without a choice: the latest version of ffprobe and the one before. */
function chosenOf(query: URLSearchParams, { tool, versions }: AvailableTool, isChosen: boolean): string[] {
  if (!isChosen) return tool === 'ffprobe' ? versions.slice(0, 2).map(({ version }) => version) : [];
  return versions.map(({ version }) => version).filter((version) => query.getAll(tool).includes(version));
}

interface VersionsProps {
  tool: AvailableTool;
  chosen: readonly string[];
  choose: (versions: string[]) => void;
}

const VersionChecks = ({ tool: { tool, versions }, chosen, choose }: VersionsProps) => (
  <fieldset>
    <legend>Versions of {tool}</legend>
    <div class="checks">
      {versions.map(({ version }) => (
        <label key={version} class="check">
          <input
            type="checkbox"
            name={`${tool}.versions`}
            checked={chosen.includes(version)}
            onChange={({ currentTarget: { checked } }) =>
              choose(checked ? [...chosen, version] : chosen.filter((one) => one !== version))
            }
          />{' '}
          {tool} {version}
        </label>
      ))}
    </div>
  </fieldset>
);

function Composed({ token, tools }: { token: HeldToken; tools: readonly AvailableTool[] }) {
  const { query } = usePlace();
  const [url, setUrl] = useState(query.get(ADDRESS) ?? '');
  const [other, setOther] = useState(query.get(OTHER) ?? '');
  const ofFiles = query.get('of') === 'files';
  const isChosen = tools.some(({ tool }) => query.has(tool));
  const chosen = new Map(tools.map((one) => [one.tool, chosenOf(query, one, isChosen)]));
  const choose = (tool: string, versions: string[]): void =>
    goWith({ ...Object.fromEntries(chosen), [tool]: versions.length === 0 && isChosen ? null : versions });

  async function start(): Promise<void> {
    // In the order in which they are compared: the oldest first.
    const versions = [...chosen].filter(([, some]) => some.length > 0);
    const body = ofFiles
      ? {
          urls: [url.trim(), other.trim()],
          ...Object.fromEntries(
            tools.map(({ tool, latest }) => [tool, { version: query.get(`${tool}.at`) || latest }]),
          ),
        }
      : {
          url: url.trim(),
          ...Object.fromEntries(versions.map(([tool, some]) => [tool, { versions: some.toReversed() }])),
        };
    const run = await send('POST /v1/compare', body, token.text);
    go('/compare', changed(query, { run, tab: null, find: null, output: null }), true);
  }
  return (
    <Form submit="Compare" wide work={start}>
      <QueryField
        name="of"
        label="What to compare"
        values={[
          ['', 'versions of the tools on one file'],
          ['files', 'two files'],
        ]}
      />
      <Address name={ADDRESS} label={ofFiles ? 'First address' : 'Address of the media'} url={url} change={setUrl} />
      {ofFiles && <Address name={OTHER} label="Second address" url={other} change={setOther} />}
      {tools.map((tool) =>
        ofFiles ? (
          <VersionChoice key={tool.tool} tool={tool} name={`${tool.tool}.at`} />
        ) : (
          <VersionChecks
            key={tool.tool}
            tool={tool}
            chosen={chosen.get(tool.tool)!}
            choose={(versions) => choose(tool.tool, versions)}
          />
        ),
      )}
    </Form>
  );
}

const read = (bearer: string, signal: AbortSignal) => call('GET /v1/versions', { bearer, signal });

export const Compare = () => (
  <WithToken what="the tool versions" read={read}>
    {({ tools }, token) => (
      <Bench
        token={token}
        title="The comparison appears here"
        hint="Each field that differs is a row, each version or file a column."
      >
        <Composed token={token} tools={tools.filter(({ selectable, latest }) => selectable && latest !== null)} />
      </Bench>
    )}
  </WithToken>
);
