import type { Entry, Ledger } from '../leader/ledger.ts';
import type { SnapshotView } from './build.ts';

/** Who waits and who holds a slot, read from the ledger as it is now. */
export const queueOf = <E extends Entry & { submittedAt: Date }>(ledger: Ledger<E>): SnapshotView['queue'] => ({
  waiting: ledger.waiting,
  running: ledger.held,
  waitingIn: (pool) => ledger.waitingIn(pool),
  accounts: ledger.accounts(),
  fronts: ledger.fronts(),
});
