/**
 * Who shares runner pods with whom, and how many runners of a pool one account may hold, whatever its tokens, sub-users
 * and tenants. Pure.
 *
 * An account below its share takes what is free. Above it, it takes a further runner only while no account that holds
 * fewer waits, and never one of the reserve: the room that is left for untouched runners, from which an account without
 * a runner starts at once.
 */
import type { ProbePoolSpec, ReuseScope } from '../../kube/probe_pool.ts';

/** Tenants by the pool's reuse scope; a source with credentials gets a pod of its own. */
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

/** The account, where the tenant names it. */
export const accountIn = (tenant: string | undefined): number | undefined => {
  const match = /^a:(\d+)$/.exec(tenant ?? '');
  return match ? Number(match[1]) : undefined;
};

/** A pod of such a tenant runs no second job. */
export const isForOneJob = (tenant: string | undefined): boolean => tenant !== undefined && /^[xj]:/.test(tenant);

type Size = Pick<ProbePoolSpec, 'minReady' | 'maxPods' | 'maxPodsPerTenant' | 'reuse'>;

export interface Holding {
  /** Runners that the account holds. */
  held: number;
  /** Runners that any account holds. */
  bound: number;
  /** The fewest runners that another waiting account holds; undefined: no other account waits. */
  fewestOfOthers: number | undefined;
  /** Untouched runners that are ready, where one is to be taken now. */
  untouched?: number | undefined;
}

export const shareOf = ({ maxPods, maxPodsPerTenant }: Size): number =>
  Math.max(1, maxPodsPerTenant ?? Math.floor(maxPods / 2));

/**
 * At most half of the pool: with `minReady` equal to `maxPods` an account would else get one runner. None under the
 * scope `any`, where an idle runner is open to every account.
 */
export const reserveOf = ({ minReady, maxPods, reuse }: Size): number =>
  reuse?.scope === 'any' ? 0 : Math.min(minReady, Math.floor(maxPods / 2));

/** The last untouched runner is for an account without one: a pod takes a second to start. */
const LAST = 1;

/** Whether the account may hold one runner more. */
export function mayTake(size: Size, { held, bound, fewestOfOthers, untouched = Infinity }: Holding): boolean {
  if (held === 0) return true;
  const reserve = reserveOf(size);
  if (size.maxPods - (bound + 1) < reserve || (reserve > 0 && untouched <= LAST)) return false;
  return held < shareOf(size) || fewestOfOthers === undefined || fewestOfOthers >= held;
}
