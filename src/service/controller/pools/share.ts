/**
 * Decides which jobs share runner pods, and how many runners of a pool one account may hold, over all its tokens,
 * sub-users and tenants. Pure.
 *
 * An account below its share takes any free runner. Above it, it takes a further one only while no account that holds
 * fewer waits. An account that holds a runner never takes one of the reserve: the room left for untouched runners, from
 * which an account without a runner starts at once.
 */
import type { ProbePoolSpec, ReuseScope } from '../../../platform/kube/probe_pool.ts';

/** The tenant by the pool's reuse scope. A source with credentials gets a pod of its own. */
export function tenantOf(
  scope: ReuseScope,
  job: { id: string; token: number; account: number; credentials: boolean },
): string {
  if (job.credentials) return `x:${job.id}`;
  switch (scope) {
    case 'job':
      return `j:${job.id}`;
    case 'token':
      return `t:${job.token}`;
    case 'account':
      return `a:${job.account}`;
    case 'any':
      return 'any';
  }
}

/** The account, if the tenant contains it. */
export const accountIn = (tenant: string | undefined): number | undefined => {
  const match = /^a:(\d+)$/.exec(tenant ?? '');
  return match ? Number(match[1]) : undefined;
};

/** Whether pods of this tenant run a single job. */
export const isForOneJob = (tenant: string | undefined): boolean => tenant !== undefined && /^[xj]:/.test(tenant);

/** Whether pods of this tenant run further jobs, of a single token or account. */
export const isLasting = (tenant: string): boolean => /^[at]:\d+$/.test(tenant);

/** Whether a job of this tenant had a source with credentials, or its token is not known any more. */
export const hadCredentials = (tenant: string): boolean => tenant.startsWith('x:');

type Size = Pick<ProbePoolSpec, 'minReady' | 'maxPods' | 'maxPodsPerTenant' | 'reuse'> &
  Partial<Pick<ProbePoolSpec, 'serves'>>;

/** There is nobody to share it with. */
const isForOneAccount = ({ serves }: Size): boolean => serves?.accounts?.length === 1;

export interface Holding {
  /** Runners held by the account. */
  held: number;
  /** Runners held by any account. */
  bound: number;
  /** The fewest runners held by another waiting account; undefined if no other account waits. */
  fewestOfOthers: number | undefined;
  /** Ready untouched runners, if one is about to be taken. */
  untouched?: number | undefined;
}

export const shareOf = (size: Size): number =>
  Math.max(1, size.maxPodsPerTenant ?? (isForOneAccount(size) ? size.maxPods : Math.floor(size.maxPods / 2)));

/**
 * At most half of the pool: with `minReady` equal to `maxPods` an account would otherwise get one runner. None with the
 * scope `any`, where idle runners are open to every account, nor in the pool of one account.
 */
export const reserveOf = (size: Size): number =>
  size.reuse?.scope === 'any' || isForOneAccount(size) ? 0 : Math.min(size.minReady, Math.floor(size.maxPods / 2));

/** The last untouched runner is kept for an account without one, because a pod takes a second to start. */
const LAST = 1;

/** Whether the account may hold one more runner. */
export function mayTake(size: Size, { held, bound, fewestOfOthers, untouched = Infinity }: Holding): boolean {
  if (held === 0) return true;
  const reserve = reserveOf(size);
  if (size.maxPods - (bound + 1) < reserve || (reserve > 0 && untouched <= LAST)) return false;
  return held < shareOf(size) || fewestOfOthers === undefined || fewestOfOthers >= held;
}
