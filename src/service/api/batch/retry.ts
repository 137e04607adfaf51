/** What becomes of an item whose request has ended: its end, another try, or a stop of the whole batch. */
import type { Cause } from '../../../base/causes.ts';
import type { Reason } from '../../../platform/kube/probe_job.ts';
import type { EndedItem } from '../../../platform/store/batch_items.ts';
import type { StopReason } from './states.ts';

/** `isTry`: false if nothing ran. `stop`: the item waits for its batch to go on. */
export type Verdict = { to: 'end' } | { to: 'waiting'; afterMs: number; isTry: boolean; stop?: StopReason };

/** The request never came to run. The deadline of the batch bounds how often that may be. */
const NEVER_RAN: readonly Reason[] = ['QueueTimeout', 'QueueFull', 'RateLimited'];
const AFTER_QUEUE_MS = 60_000;

/** The installation's fault, with the status where the reason alone does not say so. */
const TEMPORARY_REASONS: Partial<Record<Reason, 'any' | number>> = {
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

const jittered = (ms: number, random: () => number): number => Math.round(ms * (1 - JITTER * random()));
/** After this number of tries. */
const pauseAfter = (tries: number): number => Math.min(LONGEST_MS, FIRST_MS * 4 ** (tries - 1));

/** `tries`: what the batch allows. `goesOn`: it is not being cancelled. */
export function verdictOf(
  end: End,
  { tries, goesOn }: { tries: number; goesOn: boolean },
  random: () => number = Math.random,
): Verdict {
  if (!goesOn) return { to: 'end' };
  const stop = STOPPING[end.reason];
  if (stop) return { to: 'waiting', afterMs: 0, isTry: false, stop };
  if (NEVER_RAN.includes(end.reason)) return { to: 'waiting', afterMs: jittered(AFTER_QUEUE_MS, random), isTry: false };
  if (end.attempt < tries && isTemporary(end))
    return { to: 'waiting', afterMs: jittered(pauseAfter(end.attempt), random), isTry: true };
  return { to: 'end' };
}
