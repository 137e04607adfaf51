/** What a policy says of the last results on record, before it is saved. */
import { byOutcome } from '../answer/policy.tsx';
import { call } from '../api/client.ts';
import type { Answer } from '../../api_calls.ts';
import { asToken } from '../api/gateway.ts';
import { KINDS, type PolicyEvaluation } from '../../api_types.ts';
import { statusColumn, strangerColumn, Table, type Column } from '../parts/table.tsx';
import { several } from '../parts/figures.ts';
import { Empty } from '../parts/states.tsx';
import { Stranger } from '../parts/values.tsx';
import { hrefOf } from '../router.ts';

const LAST = 50;
const DAYS_MS = 30 * 86_400_000;

type LogRow = Answer<'GET media/log'>['log'][number];
export type Judged = PolicyEvaluation['results'][number] & { row: LogRow };

interface TryOn {
  name: string;
  text: string;
  bearer: string;
  userId: number;
}

export async function tryOn({ name, text, bearer, userId }: TryOn): Promise<Judged[]> {
  const { log } = await call('GET media/log', {
    query: {
      send: { from: new Date(Date.now() - DAYS_MS).toISOString() },
      'user-id': [userId],
      // A comparison has no report to judge.
      type: KINDS.filter((kind) => kind !== 'compare'),
      status: ['success', 'with-errors'],
      pagination: { page: 1, limit: LAST },
    },
  });
  // Without results the policy is still read, and what is wrong with it is said.
  const ids = log.length > 0 ? log.map(({ id }) => id) : ['00000000-0000-7000-8000-000000000000'];
  const { results } = await asToken(
    call('POST /v1/policy/:name/evaluate', {
      params: { name: name.replace('shared/', '') },
      body: { request_ids: ids, policy: text },
      bearer,
    }),
  );
  const rows = new Map(log.map((row) => [row.id, row]));
  return results.flatMap((result) => {
    const row = rows.get(result.request_id);
    return row ? [{ ...result, row }] : [];
  });
}

const TOLD = 3;

function Rules({ judged: { policy } }: { judged: Judged }) {
  const found = policy.rules.filter(({ outcome }) => outcome !== 'pass' && outcome !== 'not-applicable');
  return (
    <>
      {found.slice(0, TOLD).map(({ name, message }) => (
        <div key={name}>
          <Stranger text={name} most={60} />: <Stranger text={message} most={160} />
        </div>
      ))}
      {found.length > TOLD && <span class="unit">and {several(found.length - TOLD, 'further rule')}</span>}
    </>
  );
}

const COLUMNS: readonly Column<Judged>[] = [
  statusColumn('Outcome', ({ policy }) => policy.outcome),
  strangerColumn('Address', ({ row: { id, url } }) => (url === '' ? id : url), {
    most: 80,
    to: ({ row }) => hrefOf(`/requests/${row.id}`),
  }),
  {
    title: 'Rules that do not pass',
    show: (judged) => <Rules judged={judged} />,
    text: ({ policy }) => policy.rules.map(({ name, outcome }) => `${name}: ${outcome}`).join('; '),
  },
];

export function Tried({ judged }: { judged: readonly Judged[] }) {
  if (judged.length === 0)
    return (
      <Empty title="There is no result to try it on">
        <p>The policy can be read. Results of the last 30 days are judged here once there are some.</p>
      </Empty>
    );
  const groups = byOutcome(judged, ({ policy }) => policy.outcome);
  const rows = groups.flatMap(([, some]) => some);
  return (
    <section>
      <h2>On the last {several(judged.length, 'result')}</h2>
      <p role="status">{groups.map(([outcome, some]) => `${some.length} ${outcome}`).join(', ')}</p>
      <Table caption="Results" columns={COLUMNS} rows={rows} keyOf={({ request_id: id }) => id} />
    </section>
  );
}
