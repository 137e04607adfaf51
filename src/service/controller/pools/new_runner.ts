/** A runner as it is before its first heartbeat. Pure. */
import { makeRunnerId } from '../../../platform/bus/runner_id.ts';
import type { PodFacts, Runner } from './runners.ts';

/** What a runner keeps of the life before: its pod is as old and as used, and has the same walls. */
export type Kept = Pick<Runner, 'createdAt' | 'jobsDone' | 'walls'>;

export const newRunner = (facts: PodFacts, now: number, kept?: Kept): Runner => ({
  uid: makeRunnerId({ podUid: facts.uid, life: facts.life ?? 0 }),
  podUid: facts.uid,
  life: facts.life ?? 0,
  version: facts.version,
  pod: facts.pod,
  pool: facts.pool,
  generation: facts.generation,
  phase: 'starting',
  tenant: undefined,
  account: undefined,
  task: undefined,
  jobsDone: kept?.jobsDone ?? 0,
  createdAt: kept?.createdAt ?? now,
  // A pod that was renewed has had a node.
  scheduledAt: facts.node === undefined && !facts.life ? undefined : now,
  node: facts.node,
  readyAt: undefined,
  idleSince: now,
  protocol: undefined,
  seenAt: undefined,
  deleting: facts.deleting,
  renewing: false,
  userNamespace: facts.userNamespace ?? false,
  walls: kept?.walls,
  refusals: 0,
  shunnedUntil: 0,
});
