/**
 * Refuses new work while the event loop is late, first that of those who use most of it. What has begun goes on, and so
 * do health and reads.
 */
import { Tally } from '../../../base/tally.ts';
import type { PaceOf, Payer } from '../../result/pace.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { payerOf, type Handler } from './request_context.ts';

const SAMPLE_MS = 100;
const LATE_MS = 250;
const VERY_LATE_MS = 1_000;

/**
 * By how much timers are late. The smaller of two samples counts: one long turn, such as a collection of garbage, is
 * over before anything could be refused, and a loop that stays late has more work than it can do.
 */
export function watchLoop() {
  let expectedAt = performance.now() + SAMPLE_MS;
  let [before, last] = [0, 0];
  const timer = setInterval(() => {
    const now = performance.now();
    [before, last] = [last, now - expectedAt];
    expectedAt = now + SAMPLE_MS;
  }, SAMPLE_MS);
  timer.unref();
  return { lateMs: (): number => Math.min(before, last), stop: (): void => clearInterval(timer) };
}

export interface Load {
  lateMs: number;
  /** What the payer has used beyond its share of a core. */
  debtMs: number;
  /** Calls of the payer that have begun and not ended. */
  open: number;
  /** Of all payers with open calls. */
  averageOpen: number;
}

/** Pure. What makes this server refuse the payer; undefined: nothing. */
export function refusedBy({ lateMs, debtMs, open, averageOpen }: Load): 'account' | 'replica' | undefined {
  if (lateMs > VERY_LATE_MS) return 'replica';
  return lateMs > LATE_MS && (debtMs > 0 || open > averageOpen) ? 'account' : undefined;
}

export function makeOverload(paceOf: PaceOf, onRefused: (by: 'account' | 'replica') => void, loop = watchLoop()) {
  const calls = new Tally<Payer>();

  return {
    /** Throws, or counts a call; the returned function ends it. */
    begin(payer: Payer): () => void {
      const open = calls.of(payer);
      const averageOpen = calls.size === 0 ? 0 : calls.total / calls.size;
      const by = refusedBy({ lateMs: loop.lateMs(), debtMs: paceOf.debtOf(payer), open, averageOpen });
      if (by !== undefined) {
        onRefused(by);
        throw new ApiError('overloaded');
      }
      calls.add(payer);
      return () => calls.add(payer, -1);
    },
    stop: loop.stop,
  };
}

/** Before the body is read. */
export const refuseOverload = ({ overload, accounts }: Pick<Deps, 'overload' | 'accounts'>): Handler =>
  function refuseWhileOverloaded(ctx, next) {
    ctx.res.once('close', overload.begin(payerOf(ctx, accounts.settings.trustedHops)));
    return next();
  };
