/**
 * Which tools keep runners from coming up. The kubelet pulls each image volume before it makes the container, and says
 * in the container's waiting state which image it cannot pull: `Back-off pulling image "…"`, `Container image "…" is
 * not present …`. A mount that fails in the container runtime names no image: of that, nothing is concluded.
 */
import { isAvailable, isDegraded } from '../../kube/conditions.ts';
import type { Pod } from '../../kube/kinds.ts';
import type { ProbeTool } from '../../kube/probe_tool.ts';
import type { Runner, Runners } from './runners.ts';
import { PULL_REASONS } from '../catalog/verdict.ts';

/** A registry that is restarted answers again by then; a runner that never comes up is ended only after 90 s. */
export const STUCK_PATIENCE_MS = 30_000;

/** What the kubelet says of an image that it cannot pull; undefined for a pod that waits for something else. */
const pullTrouble = (pod: Pod): string | undefined =>
  pod.status?.containerStatuses
    ?.map(({ state }) => state?.waiting)
    .find((waiting) => PULL_REASONS.has(waiting?.reason ?? ''))?.message;

export interface StuckTools {
  seen(pod: Pod, uid: string, at: number): void;
  gone(uid: string): void;
  /** Tools whose images runners have been waiting for, with the kubelet's words. */
  find(tools: Iterable<ProbeTool>, at: number): { name: string; message: string }[];
}

export function stuckTools(runners: Pick<Runners, 'all' | 'get'>): StuckTools {
  /** By the pod's uid. */
  const waiting = new Map<string, { since: number; message: string }>();

  /** A runner of the same make that came up meanwhile had the image: its node is in trouble, and not the tool. */
  const cameUpElsewhere = ({ generation }: Runner, since: number): boolean =>
    [...runners.all()].some(
      (other) => other.generation === generation && other.readyAt !== undefined && other.readyAt >= since,
    );

  return {
    seen(pod, uid, at) {
      const message = pullTrouble(pod);
      if (message === undefined) waiting.delete(uid);
      else waiting.set(uid, { since: waiting.get(uid)?.since ?? at, message });
    },
    gone: (uid) => void waiting.delete(uid),
    find(tools, at) {
      const long = [...waiting].flatMap(([uid, { since, message }]) => {
        const runner = runners.get(uid);
        return runner && !runner.deleting && at - since >= STUCK_PATIENCE_MS && !cameUpElsewhere(runner, since)
          ? [message]
          : [];
      });
      if (long.length === 0) return [];
      return [...tools].flatMap((tool) => {
        if (!isAvailable(tool) || isDegraded(tool)) return [];
        const message = long.find((text) => text.includes(JSON.stringify(tool.spec.image)));
        return message === undefined ? [] : [{ name: tool.metadata.name, message }];
      });
    },
  };
}
