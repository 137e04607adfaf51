/** What the driver does next with a source. */
import type { DrivenSource, OpenBatch } from '../../../platform/store/sources.ts';

/** One that waits for a try of an item does not hold up the next. */
const MOST_BUNDLES = 2;

export type Step =
  | { do: 'drop' | 'list' | 'bundle' | 'stop' | 'wait' }
  /** `with`: the listing. */
  | { do: 'end-listing' | 'give-up-listing'; with: OpenBatch };

type Facts = Pick<DrivenSource, 'state' | 'rootUserId' | 'listDue' | 'bundleDue' | 'open'>;

/** `mayProbe`: its token is active and may. */
export function stepOf({ state, rootUserId, listDue, bundleDue, open }: Facts, mayProbe: boolean): Step {
  if (state === 'deleting' || rootUserId === null) return { do: 'drop' };
  const listing = open.find(({ lists }) => lists);
  if (listing?.state === 'ended') return { do: 'end-listing', with: listing };
  // The schedule is the other try.
  if (listing?.state === 'stopped') return { do: 'give-up-listing', with: listing };
  const mayList = listDue && listing === undefined;
  const mayBundle = bundleDue && open.filter(({ lists }) => !lists).length < MOST_BUNDLES;
  if (state !== 'running' || !(mayList || mayBundle)) return { do: 'wait' };
  if (!mayProbe) return { do: 'stop' };
  return { do: mayList ? 'list' : 'bundle' };
}
