/** What the cluster is doing: one sentence, what somebody has to look at, and then every part in a table. */
import { useMemo } from 'preact/hooks';
import type {
  ClusterEvent,
  ClusterState,
  ClusterTerm,
  ClusterAccount,
  ClusterPool,
  ClusterRunner,
  ClusterTool,
} from '../../api_types.ts';
import {
  amountColumn,
  countColumn,
  strangerColumn,
  timeColumn,
  type Column,
  Sums,
  Table,
  statusColumn,
  type TableProps,
} from '../parts/table.tsx';
import { count, joined, milliseconds, said, several } from '../parts/figures.ts';
import { Status, Stranger, Elapsed, Time } from '../parts/values.tsx';
import { usePolled } from '../api/use_call.ts';
import { Await } from '../parts/states.tsx';
import { type Names, useUserNames } from '../parts/names.ts';
import type { ComponentChildren } from 'preact';
import { hrefOf } from '../router.ts';

// The state of the cluster in one sentence, and what somebody has to look at. Pure.

function clusterSentence(state: ClusterState): string {
  const { pools, queue, 'tools-ready': ready, 'tools-total': total, 'left-out': leftOut } = state;
  const sum = (of: (pool: (typeof pools)[number]) => number): number => pools.reduce((all, pool) => all + of(pool), 0);
  const figures = [
    [sum(({ busy }) => busy), 'busy'],
    [sum((pool) => pool.ready), 'idle'],
    [sum(({ starting }) => starting), 'starting'],
    [sum(({ ending }) => ending), 'ending'],
  ] as const;
  const all = figures.reduce((runners, [figure]) => runners + figure, 0);
  const parts = figures.filter(([figure]) => figure > 0).map(([figure, what]) => `${count(figure)} ${what}`);
  const runners = `${several(all, 'runner')}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`;
  const waiting =
    queue.waiting === 0
      ? 'no job waits'
      : `${several(queue.waiting, 'job')} ${queue.waiting === 1 ? 'waits' : 'wait'}` +
        (queue['oldest-wait-ms'] === undefined ? '' : `, oldest ${said(milliseconds(queue['oldest-wait-ms']))}`);
  const tools =
    total === 0
      ? 'no tool versions'
      : ready === total
        ? `all ${count(total)} tool versions ready`
        : `${count(ready)} of ${count(total)} tool versions ready`;
  return `${several(pools.length + leftOut.pools, 'pool')}, ${runners}; ${waiting}; ${tools}.`;
}

/** An upgrade changes the leader once or twice. */
const MANY_CHANGES = 3;
const HOUR_MS = 3_600_000;

function changesOf({ at, terms }: ClusterState): number {
  const since = Date.parse(at) - HOUR_MS;
  // The first of all is no change.
  return terms.filter(({ epoch, since: began }) => epoch > 1 && Date.parse(began) > since).length;
}

function problemsOf(state: ClusterState) {
  const { pools, faults, 'tools-ready': ready, 'tools-total': total } = state;
  const changes = changesOf(state);
  return [
    ...faults.dependencies
      .filter(({ up }) => !up)
      .map(({ name }) => ({ what: name, why: 'does not answer the leader' })),
    ...(changes >= MANY_CHANGES ? [{ what: 'Leader', why: `changed ${count(changes)} times within an hour` }] : []),
    ...pools.flatMap(({ name, short }) => (short === undefined ? [] : [{ what: `Pool ${name}`, why: short }])),
    ...pools.flatMap(({ name, isolation }) =>
      isolation
        .filter(({ required, status }) => required && status !== 'True')
        .map(({ wall, message }) => ({ what: `Pool ${name}, ${wall}`, why: message })),
    ),
    ...(ready < total
      ? [{ what: 'Tools', why: `${count(total - ready)} of ${several(total, 'version')} cannot be used now` }]
      : []),
  ];
}

// What went wrong lately, as the leader has seen it in its term.

const EVENTS: readonly Column<ClusterEvent>[] = [
  timeColumn('Last at', ({ at }) => at),
  strangerColumn('Of', ({ kind, object }) => `${kind} ${object}`, { most: 80 }),
  { title: 'Reason', text: ({ reason }) => reason },
  strangerColumn('Message', ({ message }) => message, { most: 200 }),
  countColumn('Times', ({ count: times }) => times),
];

function Faults({ state: { faults, 'left-out': leftOut } }: { state: ClusterState }) {
  const dependencies = faults.dependencies.map(({ name, up, since }) => {
    const shown = (
      <>
        <Status of={up ? 'up' : 'down'} />
        {since !== undefined && (
          <div class="help">
            since <Time iso={since} />
          </div>
        )}
      </>
    );
    return [name, shown] as const;
  });
  return (
    <Part title="Faults in this term" leftOut={leftOut.events}>
      <Sums
        sums={[
          ['Attempts lost', count(faults['attempts-lost'])],
          ['Jobs lost', count(faults['jobs-lost'])],
          ['Proofs failed', count(faults['proofs-failed'])],
          ...dependencies,
        ]}
      />
      <Table
        caption="Events"
        columns={EVENTS}
        rows={faults.events}
        keyOf={({ kind, object, reason, message }) => `${kind} ${object} ${reason} ${message}`}
      >
        <p>No Events.</p>
      </Table>
    </Part>
  );
}

// Who led the cluster: the last terms, kept by the Lease.

interface Term extends ClusterTerm {
  /** When the next one began; absent: it leads now. */
  until: string | undefined;
}

const lasted = ({ since, until }: Term): number | undefined =>
  until === undefined ? undefined : Math.max(0, Date.parse(until) - Date.parse(since));

const COLUMNS: readonly Column<Term>[] = [
  timeColumn('Since', ({ since }) => since),
  strangerColumn('Leader', ({ pod }) => pod),
  { title: 'Epoch', text: ({ epoch }) => String(epoch), right: true },
  amountColumn('Until the next', lasted, milliseconds, { none: <span class="unit">leads now</span> }),
];

function Terms({ state: { terms } }: { state: ClusterState }) {
  if (terms.length === 0) return null;
  const rows = terms.map((term, index): Term => ({ ...term, until: terms[index - 1]?.since }));
  return <TablePart title="Leaders" columns={COLUMNS} rows={rows} keyOf={({ epoch }) => epoch} />;
}

const accountsOf = ({ queue, runners }: ClusterState): number[] => [
  ...queue.accounts.map(({ account }) => account),
  ...runners.flatMap(({ account }) => (account === undefined ? [] : [account])),
];

interface ShownProps {
  state: ClusterState;
  polled: Omit<ReturnType<typeof usePolled<'GET cluster'>>, 'asked'>;
  names: Names;
}

function Shown({ state, polled, names }: ShownProps) {
  const { at, paused, pause } = polled;
  const problems = problemsOf(state);
  const { leader } = state;
  return (
    <>
      <p class="lead">{clusterSentence(state)}</p>
      {state.stale && (
        <div class="notice busy" role="alert">
          <h2>This snapshot is out of date</h2>
          <p>The cluster has no leader, or the leader cannot be reached. A new one begins within 7 s.</p>
        </div>
      )}
      {problems.length > 0 && (
        <section class="notice problems" aria-label="To look at">
          <h2>To look at</h2>
          <ul>
            {problems.map(({ what, why }) => (
              <li key={`${what} ${why}`}>
                <strong>{what}</strong>: <Stranger text={why} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <p class="actions">
        <button type="button" class="small" aria-pressed={paused} onClick={() => pause(!paused)}>
          Pause
        </button>
        <span class="unit">
          {paused ? 'Paused.' : 'Renewed every 2 s.'} <Elapsed since={at - state['age-ms']} whole /> old. Leader{' '}
          <Stranger text={leader.pod} /> since <Time iso={leader.since} />, epoch {leader.epoch},{' '}
          <Stranger text={leader.release} />.
        </span>
      </p>
      <ClusterTables state={state} names={names} />
      <Faults state={state} />
      <Terms state={state} />
    </>
  );
}

export function Cluster() {
  const { asked, ...polled } = usePolled('GET cluster');
  const { data } = asked;
  const names = useUserNames(data ? accountsOf(data) : []);
  // Drawn once for each answer, and not when the next one is asked for.
  const shown = useMemo(
    () => data && <Shown state={data} polled={polled} names={names} />,
    [data, polled.paused, names],
  );
  return (
    <Await asked={asked} what="the leader's report">
      {() => shown}
    </Await>
  );
}

// Pools, queue, runners and tools of the cluster, each a table.

function Part({ title, leftOut, children }: { title: string; leftOut: number; children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
      {leftOut > 0 && <p class="unit">{several(leftOut, 'more row')} did not fit.</p>}
    </section>
  );
}

interface TablePartProps<Row> extends Omit<TableProps<Row>, 'caption'> {
  title: string;
  leftOut?: number;
}

/** A table under a heading of the same name. */
const TablePart = <Row,>({ title, leftOut = 0, ...table }: TablePartProps<Row>) => (
  <Part title={title} leftOut={leftOut}>
    <Table caption={title} {...table} />
  </Part>
);

const wallsOf = ({ isolation }: ClusterPool): string =>
  isolation.map(({ wall, status, required }) => `${wall}: ${status}${required ? ' (required)' : ''}`).join('; ');

const stateOf = ({ condition, short }: ClusterPool): string =>
  condition?.status === 'True' ? (short === undefined ? 'serving' : 'short') : 'not serving';

const POOLS: readonly Column<ClusterPool>[] = [
  strangerColumn('Pool', ({ name }) => name),
  statusColumn('State', stateOf, { why: ({ short }) => short }),
  countColumn('Waiting', ({ waiting }) => waiting),
  countColumn('Busy', ({ busy }) => busy),
  countColumn('Ready', ({ ready }) => ready),
  countColumn('Untouched', ({ untouched }) => untouched),
  countColumn('Starting', ({ starting }) => starting),
  countColumn('Ending', ({ ending }) => ending),
  countColumn('At most', ({ max }) => max),
  {
    title: 'Isolation',
    show: ({ isolation }) => (
      <ul class="also">
        {isolation.map(({ wall, status, required, message }) => (
          <li key={wall} title={message}>
            <Status of={status === 'True' ? 'up' : status === 'False' ? 'down' : 'unknown'} /> {wall}
            {required && <span class="mark">required</span>}
          </li>
        ))}
      </ul>
    ),
    text: wallsOf,
  },
  strangerColumn('Ended in this term', ({ ended }) =>
    ended.map(({ why, count: pods }) => `${why} ${count(pods)}`).join(', '),
  ),
];

const accountColumn = (names: Names): Column<{ account?: number }> =>
  strangerColumn('Account', ({ account: id }) => (id ? joined(' ', [String(id), names.get(id)]) : undefined), {
    most: 60,
    to: ({ account: id }) => (id ? hrefOf(`/all-users/${id}`) : undefined),
  });

const queueColumns = (names: Names): readonly Column<ClusterAccount>[] => [
  accountColumn(names),
  countColumn('Waiting', ({ waiting }) => waiting),
  strangerColumn('Running', ({ running, limit }) => joined(' of ', [count(running), limit && count(limit)]), {
    mark: ({ running, limit }) => limit !== undefined && running >= limit && 'at its limit',
    right: true,
  }),
  amountColumn('Oldest wait', (row) => row['oldest-wait-ms'], milliseconds),
];

const runnerColumns = (names: Names): readonly Column<ClusterRunner>[] => [
  strangerColumn('Runner', ({ pod }) => pod),
  strangerColumn('Pool', ({ pool }) => pool),
  strangerColumn('Node', ({ node }) => node),
  statusColumn('State', ({ state }) => state),
  strangerColumn('Phase', ({ phase }) => phase),
  timeColumn('Since', ({ since }) => since),
  accountColumn(names),
  strangerColumn('Job', ({ job }) => job, {
    most: 40,
    to: ({ job, 'request-id': request }) =>
      job === undefined || request === undefined ? undefined : hrefOf(`/requests/${encodeURIComponent(request)}`),
  }),
  countColumn('Jobs done', (runner) => runner['jobs-done']),
];

const TOOLS: readonly Column<ClusterTool>[] = [
  strangerColumn('Tool', ({ tool, version }) => `${tool} ${version}`, { mark: ({ latest }) => latest && 'latest' }),
  statusColumn('State', ({ state }) => state, { why: ({ why }) => why }),
  timeColumn('Since', ({ since }) => since),
  strangerColumn('Reports itself as', ({ reported }) => reported, { most: 80 }),
  amountColumn('Starts in', (row) => row['startup-ms'], milliseconds),
  strangerColumn('Architectures', ({ architectures }) => architectures.join(', ')),
];

function ClusterTables({ state, names }: { state: ClusterState; names: Names }) {
  const { pools, queue, runners, tools, 'left-out': leftOut } = state;
  return (
    <>
      <TablePart title="Pools" columns={POOLS} rows={pools} keyOf={({ name }) => name} leftOut={leftOut.pools} />
      <TablePart
        title="Queue by account"
        columns={queueColumns(names)}
        rows={queue.accounts}
        keyOf={({ account }) => account}
        leftOut={leftOut.accounts}
      >
        <p>No account has a job.</p>
      </TablePart>
      <TablePart
        title="Runners"
        columns={runnerColumns(names)}
        rows={runners}
        keyOf={({ pod }) => pod}
        leftOut={leftOut.runners}
      >
        <p>There are no runners.</p>
      </TablePart>
      <TablePart
        title="Tools"
        columns={TOOLS}
        rows={tools}
        keyOf={({ tool, version }) => `${tool} ${version}`}
        leftOut={leftOut.tools}
      />
    </>
  );
}
