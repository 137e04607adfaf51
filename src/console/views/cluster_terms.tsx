/** Who led the cluster: the last terms, kept by the Lease. */
import type { ClusterState, ClusterTerm } from '../../api_types.ts';
import { milliseconds } from '../parts/figures.ts';
import { Stranger } from '../parts/stranger.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Amount, Time } from '../parts/time.tsx';

interface Row extends ClusterTerm {
  /** When the next one began; null: it leads now. */
  until: string | null;
}

const lasted = ({ since, until }: Row): number | null =>
  until === null ? null : Math.max(0, Date.parse(until) - Date.parse(since));

const COLUMNS: readonly Column<Row>[] = [
  { title: 'Since', show: ({ since }) => <Time iso={since} />, text: ({ since }) => since },
  { title: 'Leader', show: ({ pod }) => <Stranger text={pod} />, text: ({ pod }) => pod },
  { title: 'Epoch', show: ({ epoch }) => epoch, text: ({ epoch }) => String(epoch), right: true },
  {
    title: 'Until the next',
    show: (row) => {
      const ms = lasted(row);
      return ms === null ? <span class="unit">leads now</span> : <Amount {...milliseconds(ms)} />;
    },
    text: (row) => String(lasted(row) ?? ''),
    right: true,
  },
];

export function Terms({ state: { terms } }: { state: ClusterState }) {
  if (terms.length === 0) return null;
  const rows = terms.map((term, index): Row => ({ ...term, until: terms[index - 1]?.since ?? null }));
  return (
    <section>
      <h2>Leaders</h2>
      <Table caption="Leaders" columns={COLUMNS} rows={rows} keyOf={({ epoch }) => epoch} />
    </section>
  );
}
