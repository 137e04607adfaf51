/**
 * Detects tools whose images keep runners from starting. The kubelet pulls each image volume before it creates the
 * container, and names an image that it cannot pull in the container's waiting state: `Back-off pulling image "…"`,
 * `Container image "…" is not present …`. A mount that fails in the container runtime names no image, so no tool is
 * blamed for it.
 */
import { isAvailable, isDegraded } from '../../../platform/kube/conditions.ts';
import type { Pod } from '../../../platform/kube/kinds.ts';
import type { ProbeTool } from '../../../platform/kube/probe_tool.ts';
import type { Runner, Runners } from './runners.ts';
import { PULL_REASONS } from '../catalog/verdict.ts';

/** Longer than a registry restart. A runner that never starts is ended only after 90 s or more. */
export const STUCK_PATIENCE_MS = 30_000;

/** The kubelet's message about an image that it cannot pull; undefined for a pod that waits for something else. */
const pullTrouble = (pod: Pod): string | undefined =>
  pod.status?.containerStatuses
    ?.map(({ state }) => state?.waiting)
    .find((waiting) => PULL_REASONS.has(waiting?.reason ?? ''))?.message;

export function stuckTools(runners: Pick<Runners, 'all' | 'ofPod'>) {
  /** By pod uid. */
  const waiting = new Map<string, { since: number; message: string }>();

  /** A runner of the same generation that started meanwhile had the image: the fault is the node's, not the tool's. */
  const cameUpElsewhere = ({ generation }: Runner, since: number): boolean =>
    [...runners.all()].some(
      (other) => other.generation === generation && other.readyAt !== undefined && other.readyAt >= since,
    );

  return {
    seen(pod: Pod, uid: string, at: number): void {
      const message = pullTrouble(pod);
      if (message === undefined) waiting.delete(uid);
      else waiting.set(uid, { since: waiting.get(uid)?.since ?? at, message });
    },
    gone: (uid: string): void => void waiting.delete(uid),
    /** Tools whose images runners have been waiting for, with the kubelet's message. */
    find(tools: Iterable<ProbeTool>, at: number): { name: string; message: string }[] {
      const long = [...waiting].flatMap(([uid, { since, message }]) => {
        const runner = runners.ofPod(uid);
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
