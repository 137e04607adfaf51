/** What the driver does next with a source. */
import type { DrivenSource, OpenBatch } from '../../../platform/store/sources.ts';

/** One that waits for a try of an item does not hold up the next. */
const MOST_BUNDLES = 2;

/**
 * By account: when its last turn began. Fewer accounts work at once than may have sources that are slow, so one that
 * has had a turn comes after those that wait for theirs.
 */
export const inTurn = <T extends Pick<DrivenSource, 'rootUserId'>>(
  sources: readonly T[],
  turns: ReadonlyMap<number | null, number>,
): T[] => {
  const of = ({ rootUserId }: T): number => turns.get(rootUserId) ?? 0;
  return sources.toSorted((a, b) => of(a) - of(b));
};

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
