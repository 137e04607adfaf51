/** What went wrong lately, as the leader has seen it in its term. */
import type { ClusterEvent, ClusterState } from '../../api_types.ts';
import { count, several } from '../parts/figures.ts';
import { Status } from '../parts/status.tsx';
import { Stranger } from '../parts/stranger.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';

const EVENTS: readonly Column<ClusterEvent>[] = [
  { title: 'Last at', show: ({ at }) => <Time iso={at} />, text: ({ at }) => at },
  {
    title: 'Of',
    show: ({ kind, object }) => (
      <>
        {kind} <Stranger text={object} most={60} />
      </>
    ),
    text: ({ kind, object }) => `${kind} ${object}`,
  },
  { title: 'Reason', show: ({ reason }) => reason, text: ({ reason }) => reason },
  { title: 'Message', show: ({ message }) => <Stranger text={message} most={200} />, text: ({ message }) => message },
  { title: 'Times', show: ({ count: times }) => count(times), text: ({ count: times }) => String(times), right: true },
];

export function Faults({ state }: { state: ClusterState }) {
  const { faults, 'left-out': leftOut } = state;
  const counts = [
    ['Attempts lost', faults['attempts-lost']],
    ['Jobs lost', faults['jobs-lost']],
    ['Proofs failed', faults['proofs-failed']],
  ] as const;
  return (
    <section>
      <h2>Faults in this term</h2>
      <dl class="sums">
        {counts.map(([title, value]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{count(value)}</dd>
          </div>
        ))}
        {faults.dependencies.map(({ name, up, since }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Status of={up ? 'up' : 'down'} />
              {since !== null && (
                <div class="help">
                  since <Time iso={since} />
                </div>
              )}
            </dd>
          </div>
        ))}
      </dl>
      {faults.events.length === 0 ? (
        <p>No Events.</p>
      ) : (
        <Table
          caption="Events"
          columns={EVENTS}
          rows={faults.events}
          keyOf={({ kind, object, reason, message }) => `${kind} ${object} ${reason} ${message}`}
        />
      )}
      {leftOut.events > 0 && <p class="unit">{several(leftOut.events, 'more row')} did not fit.</p>}
    </section>
  );
}
