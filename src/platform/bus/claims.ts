/**
 * Validates messages against their subject. NATS restricts who may publish on a subject, but not the reply subject.
 * With a chosen reply subject a sender could make JetStream, or another responder, publish where the sender may not. So
 * a message is accepted by its form and for the pod named in its subject, and never by its own claims.
 */
import type { Cancel, Go, Heartbeat, Prepare, Renew, RunnerUse } from './messages.ts';
import { SUBJECT } from './messages.ts';
import { RUNNER_PHASES } from './runner_phase.ts';

/** Bounds what a pod can add to logs and memory with each heartbeat. */
const LONGEST = 512;

const isName = (value: unknown): value is string => typeof value === 'string' && value.length <= LONGEST;
const isCount = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value) && value >= 0;
const optional = (value: unknown, check: (value: unknown) => boolean): boolean => value === undefined || check(value);
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const isWalls = (value: unknown): boolean =>
  isObject(value) && Object.keys(value).length <= 16 && Object.values(value).every((up) => typeof up === 'boolean');

/** Whether this is a valid heartbeat sent by the pod that it names. */
export function isBeatOf(subject: string, beat: unknown): beat is Heartbeat {
  return (
    isObject(beat) &&
    isName(beat['uid']) &&
    subject === SUBJECT.heartbeat(beat['uid']) &&
    RUNNER_PHASES.some((phase) => phase === beat['phase']) &&
    isName(beat['pool']) &&
    isName(beat['generation']) &&
    ['protocol', 'epoch', 'jobsDone', 'ageMs', 'idleMs'].every((key) => isCount(beat[key])) &&
    optional(beat['tenant'], isName) &&
    optional(beat['job'], isName) &&
    optional(beat['attempt'], isCount) &&
    optional(beat['progress'], (percent) => isWhole(percent, 100)) &&
    optional(beat['walls'], isWalls) &&
    optional(beat['cores'], isCount)
  );
}

const isOrder = (order: unknown): order is Record<string, unknown> =>
  isObject(order) &&
  isName(order['job']) &&
  isCount(order['epoch']) &&
  isCount(order['attempt']) &&
  optional(order['requestId'], isName);

const MOST_BYTES = 1e15;
const MOST_MS = 86_400_000;
const MOST_DECODED_S = 1e9;
const isWhole = (value: unknown, most: number): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most;
/** A runner may say less than the truth, but nothing that cannot be recorded. */
export const isUse = (used: unknown): used is RunnerUse =>
  isObject(used) &&
  isWhole(used['bytes'], MOST_BYTES) &&
  isWhole(used['ms'], MOST_MS) &&
  optional(used['decodedSeconds'], (seconds) => isWhole(seconds, MOST_DECODED_S));

export const isRenew = (order: unknown): order is Renew => isObject(order) && isCount(order['epoch']);
export const isCancel = (order: unknown): order is Cancel => isOrder(order);
export const isPrepare = (order: unknown): order is Prepare =>
  isOrder(order) && isName(order['tenant']) && isObject(order['assignment']);
export const isGo = (order: unknown): order is Go => isPrepare(order) && isCount((order as Partial<Go>).remainingMs);
