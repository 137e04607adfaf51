/** Faults of this term for the cluster snapshot: the last Events recorded by the controller, and counts. */
import type { SnapshotDependency, SnapshotEvent } from '../../../platform/bus/cluster_snapshot.ts';
import { PROBE_JOBS, PROBE_TOOLS } from '../../../platform/kube/client.ts';
import { stamp } from '../../../platform/kube/conditions.ts';
import type { EventRecorder } from '../../../platform/kube/events.ts';
import { getOrMake } from '../../../base/get_or_make.ts';
import { printable } from '../../../base/printable.ts';
import { Tally } from '../../../base/tally.ts';
import type { Reason } from '../../../platform/kube/probe_job.ts';

const MOST_EVENTS = 100;
const MOST_TEXT = 512;
/** A pod that ended for one of these reasons has failed; any other has completed its work. */
const FAILED_PODS: ReadonlySet<string> = new Set(['silent', 'never-ready', 'epoch', 'ended', 'flood', 'isolation']);
const LOST: ReadonlySet<Reason> = new Set(['RunnerLost', 'InternalError']);

const NAMES: readonly SnapshotDependency['name'][] = ['postgres', 'nats', 'kubernetes'];

export type Recent = ReturnType<typeof makeRecent>;

/** `now`: clock of Postgres. */
export function makeRecent(now: () => number) {
  /** Ordered by last occurrence. */
  const kept = new Map<string, SnapshotEvent>();
  const endedPods = new Map<string, Tally<string>>();
  const states = new Map<SnapshotDependency['name'], SnapshotDependency>();

  function note(kind: string, object: string, reason: string, message: string): void {
    const text = printable(message, MOST_TEXT);
    const key = JSON.stringify([kind, object, reason, text]);
    const count = (kept.get(key)?.count ?? 0) + 1;
    kept.delete(key);
    kept.set(key, { at: stamp(now()), kind, object: printable(object, 253), reason, message: text, count });
    if (kept.size > MOST_EVENTS) forgetOne();
  }

  /**
   * Of the most frequent kind, so that an account whose jobs all fail cannot displace the events of pools and tools.
   */
  function forgetOne(): void {
    const counts = new Tally<string>();
    for (const { kind } of kept.values()) counts.add(kind);
    const [most] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
    for (const [key, { kind }] of kept)
      if (kind === most) {
        kept.delete(key);
        return;
      }
  }

  function look(name: SnapshotDependency['name'], up: boolean): void {
    const before = states.get(name);
    if (before?.up === up) return;
    // The first check records a state, not a change; but an outage that it finds is recorded as an event.
    const isChange = before !== undefined || !up;
    states.set(name, { name, up, since: isChange ? stamp(now()) : null });
    if (isChange) note('Dependency', name, up ? 'Back' : 'Away', `${name} ${up ? 'answers again' : 'does not answer'}`);
  }

  const recent = {
    attemptsLost: 0,
    jobsLost: 0,
    proofsFailed: 0,
    /** Latest first. */
    events: () => [...kept.values()].toReversed(),
    /** Counts per reason for a pool. */
    ended: (pool: string) => [...(endedPods.get(pool) ?? [])].map(([why, count]) => ({ why, count })),
    /** Wraps a recorder, and keeps a copy of what it records. */
    following: (recorder: EventRecorder): EventRecorder => ({
      record(type, object, event) {
        if (type === PROBE_JOBS && event.reason === 'Retrying') recent.attemptsLost += 1;
        // A degraded tool is proven; its image cannot be pulled.
        if (type === PROBE_TOOLS && event.reason !== 'Degraded') recent.proofsFailed += 1;
        note(type.kind, object.metadata.name, event.reason, event.message);
        recorder.record(type, object, event);
      },
    }),
    jobEnded(reason: Reason): void {
      if (LOST.has(reason)) recent.jobsLost += 1;
    },
    podEnded(pool: string, pod: string, why: string): void {
      getOrMake(endedPods, pool, () => new Tally()).add(why);
      if (FAILED_PODS.has(why)) note('Pod', pod, 'Ended', `runner of pool ${pool} ended: ${why}`);
    },
    /** Records whether each dependency responded just now. */
    looked(up: Record<SnapshotDependency['name'], boolean>): void {
      for (const name of NAMES) look(name, up[name]);
    },
    dependencies: () => [...states.values()],
  };
  return recent;
}
