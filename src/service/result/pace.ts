/**
 * Limits the share of a core that one account may use on an API replica. A streamed result is inflated twice and
 * scanned once: without a limit, two tokens within their rate limits use both cores of a small node, and all probes
 * wait. Before a caller is authenticated, the address is charged instead.
 */
import { pause } from '../../base/retry.ts';

/** Share of a core, over time. */
const SHARE = 0.2;
/** Burst of an account after a quiet period: a result of 50 MB is read at full speed. */
const BURST_MS = 3_000;
/** Shorter pauses cost more than they save. */
const LEAST_PAUSE_MS = 10;
/** Number of payers from which those with a full burst are forgotten. */
const MOST = 1_000;

/** Reports how long a core was busy. Undefined: continue at once. */
export type Pace = (busyMs: number) => Promise<void> | undefined;

/** Who is charged: the id of an account, or the address of a caller who is not authenticated. */
export type Payer = number | string;
export interface PaceOf {
  (payer: Payer): Pace;
  /** How long this payer would have to wait now, in milliseconds. */
  debtOf(payer: Payer): number;
}

export interface PaceOptions {
  share?: number;
  burstMs?: number;
  now?: () => number;
  wait?: (ms: number) => Promise<void>;
}

/** The pace of a payer, shared by all of its requests. */
export function makePaces({
  share = SHARE,
  burstMs = BURST_MS,
  now = () => performance.now(),
  wait = pause,
}: PaceOptions = {}): PaceOf {
  /** When a payer has its full burst: in the future if it is used up. */
  const fullAt = new Map<Payer, number>();

  const debtOf = (payer: Payer): number => Math.max(0, (fullAt.get(payer) ?? -Infinity) - now() - burstMs / share);
  const paceOf =
    (payer: Payer): Pace =>
    (busyMs) => {
      const at = now();
      if (fullAt.size > MOST) for (const [one, since] of fullAt) if (since <= at) fullAt.delete(one);
      fullAt.set(payer, Math.max(fullAt.get(payer) ?? at, at) + busyMs / share);
      const debtMs = debtOf(payer);
      return debtMs < LEAST_PAUSE_MS ? undefined : wait(debtMs);
    };
  return Object.assign(paceOf, { debtOf });
}
