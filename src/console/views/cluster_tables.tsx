/** Pools, queue, runners and tools of the cluster, each a table. */
import type { ComponentChildren } from 'preact';
import type { ClusterAccount, ClusterPool, ClusterRunner, ClusterState, ClusterTool } from '../../api_types.ts';
import {
  amountColumn,
  countColumn,
  NOTHING,
  statusColumn,
  strangerColumn,
  timeColumn,
  Table,
  type Column,
  type TableProps,
} from '../parts/table.tsx';
import { count, milliseconds, several } from '../parts/figures.ts';
import type { Names } from '../parts/names.ts';
import { Status, Stranger } from '../parts/values.tsx';
import { hrefOf } from '../router.ts';

export function Part({ title, leftOut, children }: { title: string; leftOut: number; children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
      {leftOut > 0 && <p class="unit">{several(leftOut, 'more row')} did not fit.</p>}
    </section>
  );
}

interface TablePartProps<Row> extends Pick<TableProps<Row>, 'columns' | 'rows' | 'keyOf'> {
  title: string;
  leftOut?: number;
  /** Said where there are no rows. */
  none?: string;
}

/** A table under a heading of the same name. */
export function TablePart<Row>({ title, leftOut = 0, none, ...table }: TablePartProps<Row>) {
  return (
    <Part title={title} leftOut={leftOut}>
      {none !== undefined && table.rows.length === 0 ? <p>{none}</p> : <Table caption={title} {...table} />}
    </Part>
  );
}

const wallsOf = ({ isolation }: ClusterPool): string =>
  isolation.map(({ wall, status, required }) => `${wall}: ${status}${required ? ' (required)' : ''}`).join('; ');

const stateOf = ({ condition, short }: ClusterPool): string =>
  condition?.status === 'True' ? (short === undefined ? 'serving' : 'short') : 'not serving';

const POOLS: readonly Column<ClusterPool>[] = [
  strangerColumn('Pool', ({ name }) => name),
  {
    ...statusColumn('State', stateOf, { why: ({ short }) => short }),
    text: ({ condition, short }) => `${condition?.reason ?? ''} ${short ?? ''}`.trim(),
  },
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
  {
    title: 'Ended in this term',
    show: ({ ended }) =>
      ended.length === 0 ? NOTHING : ended.map(({ why, count: pods }) => `${why} ${count(pods)}`).join(', '),
    text: ({ ended }) => ended.map(({ why, count: pods }) => `${why} ${pods}`).join(', '),
  },
];

function Account({ id, names }: { id: number; names: Names }) {
  const name = names.get(id);
  return (
    <a href={hrefOf(`/all-users/${id}`)}>
      {id}
      {name !== undefined && (
        <>
          {' '}
          <Stranger text={name} most={40} />
        </>
      )}
    </a>
  );
}

const accountColumn = (names: Names): Column<{ account?: number }> => ({
  title: 'Account',
  show: ({ account }) => (account === undefined ? NOTHING : <Account id={account} names={names} />),
  text: ({ account }) => String(account ?? ''),
});

const queueColumns = (names: Names): readonly Column<ClusterAccount>[] => [
  accountColumn(names),
  countColumn('Waiting', ({ waiting }) => waiting),
  {
    title: 'Running',
    show: ({ running, limit }) => (
      <>
        {count(running)}
        {limit !== undefined && <span class="unit"> of {count(limit)}</span>}
        {limit !== undefined && running >= limit && <span class="near"> (at its limit)</span>}
      </>
    ),
    text: ({ running }) => String(running),
    right: true,
  },
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
  strangerColumn('Architectures', ({ architectures }) => architectures.join(', ') || undefined),
];

interface ClusterTablesProps {
  state: ClusterState;
  names: Names;
}

export function ClusterTables({ state, names }: ClusterTablesProps) {
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
        none="No account has a job."
      />
      <TablePart
        title="Runners"
        columns={runnerColumns(names)}
        rows={runners}
        keyOf={({ pod }) => pod}
        leftOut={leftOut.runners}
        none="There are no runners."
      />
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
