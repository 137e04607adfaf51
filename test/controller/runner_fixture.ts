/** Runners, pods and heartbeats as tests of the leader's view begin with them. */
import { type Heartbeat, RUNNER_PROTOCOL } from '../../src/platform/bus/messages.ts';
import { podOf } from '../../src/platform/bus/runner_id.ts';
import { newRunner, type WatchedPod, type Runner } from '../../src/service/controller/pools/runners.ts';

export const facts = (podUid: string, more: Partial<WatchedPod> = {}): WatchedPod => ({
  podUid,
  life: 0,
  tenant: undefined,
  version: undefined,
  ageMs: 0,
  pod: `pod-${podUid}`,
  pool: 'short',
  generation: 'g1',
  deleting: false,
  ended: false,
  userNamespace: false,
  node: 'node-0',
  ...more,
});

/** `uid`: of the runner. */
export const beat = (uid: string, more: Partial<Heartbeat> = {}): Heartbeat => ({
  protocol: RUNNER_PROTOCOL,
  pod: `pod-${podOf(uid)}`,
  uid,
  namespace: 'r',
  pool: 'short',
  generation: 'g1',
  phase: 'idle',
  epoch: 0,
  jobsDone: 0,
  ageMs: 0,
  idleMs: 0,
  ...more,
});

let serial = 0;
/** Another one each time. At this moment its pod was seen, and its agent was ready. */
export function idleRunner(at: number, more: Partial<Runner> = {}): Runner {
  const uid = `u${++serial}`;
  return {
    ...newRunner(facts(uid, { pod: `p${serial}`, generation: 'g2', version: '1' }), at),
    phase: 'idle',
    readyAt: at,
    protocol: RUNNER_PROTOCOL,
    seenAt: at,
    ...more,
  };
}
