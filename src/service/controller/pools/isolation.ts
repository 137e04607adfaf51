/** The walls around the runners of a pool, as reported by their agents. Pure. */
import type { Pod } from '../../../platform/kube/client.ts';
import type { Walls } from '../../../platform/bus/messages.ts';
import { WALLS, type ProbePoolSpec, type Wall } from '../../../platform/kube/probe_pool.ts';
import type { Condition } from '../../../platform/kube/resource.ts';

export type Shown = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

const SAYS: Record<Wall, { up: string; down: string }> = {
  UserNamespace: { up: 'run in a user namespace', down: 'run without a user namespace' },
  SyscallFilter: {
    up: 'filter the system calls of tools and watch their connections',
    down: 'cannot filter the system calls of tools and watch their connections',
  },
  NetworkEnforced: {
    up: 'cannot reach the API server: NetworkPolicy is enforced',
    down: 'can reach the API server: NetworkPolicy is not enforced',
  },
};

export const requiredWalls = ({ isolation }: ProbePoolSpec): readonly Wall[] => isolation?.require ?? [];

/** Required walls that a runner lacks or has not reported. */
export const lackedWalls = (spec: ProbePoolSpec, walls: Walls | undefined): Wall[] =>
  requiredWalls(spec).filter((wall) => walls?.[wall] !== true);

/** A pool has a wall if every runner has it. */
export function wallConditions(reports: readonly (Walls | undefined)[]): Shown[] {
  return WALLS.map((type) => {
    const known = reports.map((walls) => walls?.[type]).filter((up) => up !== undefined);
    const down = known.filter((up) => !up).length;
    if (down > 0)
      return {
        type,
        status: 'False',
        reason: 'Missing',
        message: `${down} of ${known.length} runners ${SAYS[type].down}`,
      };
    if (known.length > 0)
      return { type, status: 'True', reason: 'Reported', message: `${known.length} runners ${SAYS[type].up}` };
    return { type, status: 'Unknown', reason: 'NotReported', message: 'no runner has reported it yet' };
  });
}

/** Matches messages of kubelets and runtimes on nodes without user namespaces. No message of a slow pull matches. */
const NO_USER_NAMESPACE = /user ?namespace|userns|hostusers|idmap|id-?mapped mount|newuidmap|\/proc\/\d+\/[ug]id_map/i;

export const isWithoutUserNamespaces = (message: string | undefined): boolean => NO_USER_NAMESPACE.test(message ?? '');

/** The reason that the runtime gives a container which it could not start. No container sets its own. */
const NOT_STARTED = 'StartError';

/**
 * What kubelet or runtime say of a pod that cannot start for that. On kernels before 6.3 a memory volume cannot be
 * mapped, and the container fails at once. What a container wrote before its end is not read.
 */
export const saidWithoutUserNamespaces = ({ status }: Pick<Pod, 'status'>): string | undefined =>
  status?.containerStatuses
    ?.flatMap(({ state: { waiting, terminated } = {} }) => [
      waiting?.message,
      terminated?.reason === NOT_STARTED ? terminated.message : undefined,
    ])
    .find(isWithoutUserNamespaces);
