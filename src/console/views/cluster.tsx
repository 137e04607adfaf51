/** What the cluster is doing: one sentence, what somebody has to look at, and then every part in a table. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, isFailure } from '../api/client.ts';
import type { ClusterState } from '../../api_types.ts';
import { usePolled, type Polled } from '../api/use_polled.ts';
import { Await } from '../parts/states.tsx';
import { Stranger } from '../parts/stranger.tsx';
import { Time } from '../parts/time.tsx';
import { Faults } from './cluster_faults.tsx';
import { clusterSentence, problemsOf } from './cluster_sentence.ts';
import { Terms } from './cluster_terms.tsx';
import { Pools, Queue, Runners, Tools, type Names } from './cluster_tables.tsx';

/** The snapshot has at most 200 accounts that wait, and some hundred runners. */
const MOST_ASKED = 200;

const accountsOf = ({ queue, runners }: ClusterState): number[] => [
  ...queue.accounts.map(({ account }) => account),
  ...runners.flatMap(({ account }) => (account === null ? [] : [account])),
];

/** Addresses of the accounts in the snapshot, each asked for once; those left over with the next snapshot. */
function useNames(state: ClusterState | undefined): Names {
  const [names, setNames] = useState<Names>(new Map());
  const asked = useRef(new Set<number>());
  useEffect(() => {
    const id = [...new Set(state ? accountsOf(state) : [])].filter((one) => !asked.current.has(one));
    if (id.length === 0) return;
    const some = id.slice(0, MOST_ASKED);
    for (const one of some) asked.current.add(one);
    call('GET user', { query: { id: some, pagination: { page: 1, limit: MOST_ASKED } } }).then(
      ({ users }) =>
        setNames((before) => new Map([...before, ...users.map(({ id: own, email }) => [own, email] as const)])),
      (error: unknown) => {
        for (const one of some) asked.current.delete(one);
        if (!isFailure(error)) throw error;
      },
    );
  }, [state]);
  return names;
}

/** By whole seconds: tenths would run beside the figures without a pause. */
function Age({ since }: { since: number }) {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    setNow(performance.now());
    const timer = setInterval(() => setNow(performance.now()), 1_000);
    return () => clearInterval(timer);
  }, [since]);
  return <span class="amount">{Math.max(0, Math.round((now - since) / 1_000))} s</span>;
}

interface ShownProps {
  state: ClusterState;
  polled: Pick<Polled<ClusterState>, 'at' | 'paused' | 'pause'>;
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
          {paused ? 'Paused.' : 'Renewed every 2 s.'} <Age since={at - state['age-ms']} /> old. Leader{' '}
          <Stranger text={leader.pod} /> since <Time iso={leader.since} />, epoch {leader.epoch},{' '}
          <Stranger text={leader.release} />.
        </span>
      </p>
      <Pools state={state} />
      <Queue state={state} names={names} />
      <Runners state={state} names={names} />
      <Tools state={state} />
      <Faults state={state} />
      <Terms state={state} />
    </>
  );
}

export function Cluster() {
  const polled = usePolled('GET cluster');
  const names = useNames(polled.asked.data);
  return (
    <Await asked={polled.asked} what="the leader's report">
      {(state) => <Shown state={state} polled={polled} names={names} />}
    </Await>
  );
}
