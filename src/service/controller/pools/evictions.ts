/**
 * Keeps others from evicting a runner in the middle of a long job: by a label, which a PodDisruptionBudget of the chart
 * selects, and by the annotations of the two common node autoscalers. They follow what a runner does late and only in
 * pools with long drains, so that a job costs no write: one that ends within HOLD_AFTER_MS causes none, a longer one
 * two. A runner that is evicted before has all the time of its drain.
 */
import { LABEL } from '../../../platform/kube/resource.ts';
import { ANNOTATION } from './pod.ts';
import type { Runner } from './runners.ts';

/** Twice the time between two attempts of `kubectl drain`: between two jobs, one of them succeeds. */
export const HOLD_AFTER_MS = 10_000;
/** Per second. The others follow in the next one. */
export const MAX_WRITES = 20;

export type Seen = Pick<Runner, 'podUid' | 'pod' | 'pool' | 'task' | 'deleting' | 'seenAt'>;
export interface Change {
  /** Of the pod. */
  uid: string;
  pod: string;
  hold: boolean;
}

export function evictions() {
  /** Of each pod that the watch shows, by its uid. */
  const held = new Map<string, boolean>();
  const since = new Map<string, { task: string; at: number }>();
  return {
    /** From the pod watch. */
    seen(uid: string, isHeld: boolean): void {
      held.set(uid, isHeld);
    },
    /** From the answer to a write, which may come after the watch has shown that the pod is gone. */
    written({ uid, hold }: Pick<Change, 'uid' | 'hold'>): void {
      if (held.has(uid)) held.set(uid, hold);
    },
    gone(uid: string): void {
      held.delete(uid);
      since.delete(uid);
    },
    /**
     * The pods whose label is wrong. Expects every runner, once a second. `holdMs`: the longest that one job of a
     * runner may keep it from being evicted; 0 if it may not.
     */
    due(runners: Iterable<Seen>, holdMs: (runner: Seen) => number, at: number): Change[] {
      const changes: Change[] = [];
      for (const runner of runners) {
        const { podUid: uid, pod, task, deleting, seenAt } = runner;
        const wasHeld = held.get(uid) ?? false;
        // A new leader has not heard what it does. A pod that is being deleted was evicted already.
        if (seenAt === undefined || deleting) continue;
        if (!task) since.delete(uid);
        else {
          const name = `${task.job}/${task.attempt}`;
          const known = since.get(uid);
          // Held by the leader before: it is the same job.
          const before = known === undefined && wasHeld ? HOLD_AFTER_MS : 0;
          if (known?.task !== name) since.set(uid, { task: name, at: at - before });
        }
        const age = at - (since.get(uid)?.at ?? at);
        const hold = age >= HOLD_AFTER_MS && age < holdMs(runner);
        if (hold !== wasHeld) changes.push({ uid, pod, hold });
      }
      // Releases first: a drain may wait for them.
      return changes.sort((a, b) => Number(a.hold) - Number(b.hold)).slice(0, MAX_WRITES);
    },
  };
}

export const isHeld = (labels: Record<string, string> | undefined): boolean => labels?.[LABEL.longJob] === 'true';

/** A merge patch; null removes. The uid keeps it from another pod of the same name. */
export const holdPatch = ({ uid, hold }: Pick<Change, 'uid' | 'hold'>) => ({
  metadata: {
    uid,
    labels: { [LABEL.longJob]: hold ? 'true' : null },
    annotations: {
      [ANNOTATION.clusterAutoscaler]: hold ? 'false' : 'true',
      [ANNOTATION.karpenter]: hold ? 'true' : null,
    },
  },
});
