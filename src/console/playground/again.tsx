/** The request once more at another version of a tool: one click sends it. */
import { useState } from 'preact/hooks';
import type { AvailableTool } from '../../api_types.ts';
import { call } from '../api/client.ts';
import { useAsked, useWork } from '../api/use_call.ts';
import { Await, Wrong } from '../parts/states.tsx';
import { withAnyToken } from '../parts/with_token.tsx';
import { changed, go } from '../router.ts';
import type { Facts } from '../worker/protocol.ts';
import { ADDRESS, bodyOf, isRedacted, queryOf, runs } from './form.ts';
import { send } from './run.tsx';

interface OthersProps {
  query: URLSearchParams;
  tools: readonly AvailableTool[];
  bearer: string;
}

function Others({ query, tools, bearer }: OthersProps) {
  const { busy, failure, start } = useWork();
  const url = query.get(ADDRESS) ?? '';
  const again = (tool: string, version: string): Promise<void> =>
    start(`${tool} ${version}`, async () => {
      const other = changed(query, { [`${tool}.version`]: version });
      // What is not on record must be entered first.
      const run = isRedacted(url) ? null : await send('POST /v1/probe/file', bodyOf(url, other, tools), bearer);
      go('/playground', changed(other, { run }));
    });
  const others = tools
    .filter((tool) => tool.selectable && runs(query, tool))
    .flatMap(({ tool, latest, versions }) =>
      versions
        .filter(({ version }) => version !== (query.get(`${tool}.version`) ?? latest))
        .map(({ version }) => [tool, version] as const),
    );
  return (
    <>
      {others.length === 0 ? (
        <p>No tool of it has another version here.</p>
      ) : (
        <p class="actions">
          {others.map(([tool, version]) => (
            <button
              key={`${tool} ${version}`}
              type="button"
              class="small"
              disabled={busy !== null}
              onClick={() => void again(tool, version)}
            >
              {tool} {version}
            </button>
          ))}
        </p>
      )}
      <Wrong failure={failure} />
    </>
  );
}

function Versions({ facts }: { facts: Facts }) {
  const asked = useAsked('versions', (signal) =>
    withAnyToken(async (bearer) => ({ bearer, ...(await call('GET /v1/versions', { bearer, signal })) })),
  );
  return (
    <Await asked={asked} what="the tool versions">
      {({ tools, bearer }) => <Others query={queryOf(facts)} tools={tools} bearer={bearer} />}
    </Await>
  );
}

export function Again({ facts }: { facts: Facts }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="menu-of" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="button small">Again at another version</summary>
      <div>{open && <Versions facts={facts} />}</div>
    </details>
  );
}
