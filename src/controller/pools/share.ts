/**
 * How many runners of a pool one account may hold, whatever its tokens, sub-users and tenants. Pure.
 *
 * An account below its share takes what is free. Above it, it takes a further runner only while no account that holds
 * fewer waits, and never one of the reserve: the room that is left for untouched runners, from which an account without
 * a runner starts at once.
 */
import type { ProbePoolSpec } from '../../kube/resources.ts';

type Size = Pick<ProbePoolSpec, 'minReady' | 'maxPods' | 'maxPodsPerTenant' | 'reuse'>;

export interface Holding {
  /** Runners that the account holds. */
  held: number;
  /** Runners that any account holds. */
  bound: number;
  /** The fewest runners that another waiting account holds; undefined: no other account waits. */
  fewestOfOthers: number | undefined;
}

export const shareOf = ({ maxPods, maxPodsPerTenant }: Size): number =>
  Math.max(1, maxPodsPerTenant ?? Math.floor(maxPods / 2));

/**
 * At most half of the pool: with `minReady` equal to `maxPods` an account would else get one runner. None under the
 * scope `any`, where an idle runner is open to every account.
 */
export const reserveOf = ({ minReady, maxPods, reuse }: Size): number =>
  reuse?.scope === 'any' ? 0 : Math.min(minReady, Math.floor(maxPods / 2));

/** Whether the account may hold one runner more. */
export function mayTake(size: Size, { held, bound, fewestOfOthers }: Holding): boolean {
  if (held === 0) return true;
  if (size.maxPods - (bound + 1) < reserveOf(size)) return false;
  return held < shareOf(size) || fewestOfOthers === undefined || fewestOfOthers >= held;
}
