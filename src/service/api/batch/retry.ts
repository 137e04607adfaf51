/** What becomes of an item whose request has ended: its end, another try, or a stop of the whole batch. */
import type { Cause } from '../../../base/causes.ts';
import type { Reason } from '../../../platform/kube/probe_job.ts';
import type { EndedItem } from '../../../platform/store/batch_items.ts';
import type { StopReason } from './states.ts';

/** `stop`: the item waits for its batch to go on, whatever tries it has had. */
export type Verdict = { to: 'end' } | { to: 'waiting'; afterMs: number; stop?: StopReason };

/** The installation's or a queue's fault, with the status where the reason alone does not say so. */
const TEMPORARY_REASONS: Partial<Record<Reason, 'any' | number>> = {
  QueueTimeout: 'any',
  QueueFull: 'any',
  RateLimited: 'any',
  RunnerLost: 'any',
  InternalError: 'any',
  // With 400 it is a version that does not exist.
  ToolUnavailable: 500,
  // By the sweep, of a request whose job was never created. A caller's is 499.
  Cancelled: 500,
};
/** The origin may do better in a while. */
const TEMPORARY_CODES: readonly Cause[] = [
  'dns',
  'connect',
  'closed',
  'stalled',
  'offline',
  'timeout-origin',
  'changed',
  'http-408',
  'http-429',
];
const OF_SERVER = /^http-5\d\d$/;

const STOPPING: Partial<Record<Reason, StopReason>> = {
  QuotaExceeded: 'QuotaExceeded',
  TokenInactive: 'TokenInactive',
};

type End = Pick<EndedItem, 'state' | 'reason' | 'code' | 'status' | 'attempt'>;

function isTemporary({ state, reason, code, status }: End): boolean {
  // With errors it has a result.
  if (state !== 'error') return false;
  if (code !== null && (TEMPORARY_CODES.some((one) => one === code) || OF_SERVER.test(code))) return true;
  const asked = TEMPORARY_REASONS[reason];
  return asked === 'any' || asked === status;
}

const FIRST_MS = 5_000;
const LONGEST_MS = 300_000;
const JITTER = 0.5;

/** After this number of tries. */
const pauseAfter = (tries: number, random: () => number): number =>
  Math.round(Math.min(LONGEST_MS, FIRST_MS * 4 ** (tries - 1)) * (1 - JITTER * random()));

/** `tries`: what the batch allows. `goesOn`: it is not being cancelled. */
export function verdictOf(
  end: End,
  { tries, goesOn }: { tries: number; goesOn: boolean },
  random: () => number = Math.random,
): Verdict {
  if (!goesOn) return { to: 'end' };
  const stop = STOPPING[end.reason];
  if (stop) return { to: 'waiting', afterMs: 0, stop };
  if (end.attempt < tries && isTemporary(end)) return { to: 'waiting', afterMs: pauseAfter(end.attempt, random) };
  return { to: 'end' };
}
