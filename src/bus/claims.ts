/**
 * Whether a message may be what its subject says. NATS ties a subject to whoever may publish there, and a reply subject
 * to nobody: with one of its choice a sender makes JetStream, or whoever answers it, speak where it may not speak
 * itself. So a message is taken by its form and for the pod that its subject names, never for what it says of itself.
 */
import type { Cancel, Go, Heartbeat, Prepare } from './messages.ts';
import { SUBJECT } from './messages.ts';

const PHASES: readonly unknown[] = [
  'idle',
  'prepared',
  'running',
  'publishing',
  'draining',
] satisfies Heartbeat['phase'][];
/** What a pod may write into our log and memory with each beat. */
const LONGEST = 512;

const isName = (value: unknown): value is string => typeof value === 'string' && value.length <= LONGEST;
const isCount = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value) && value >= 0;
const optional = (value: unknown, check: (value: unknown) => boolean): boolean => value === undefined || check(value);
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const isWalls = (value: unknown): boolean =>
  isObject(value) && Object.keys(value).length <= 16 && Object.values(value).every((up) => typeof up === 'boolean');

/** A heartbeat in the pod's own name. */
export function isBeatOf(subject: string, beat: unknown): beat is Heartbeat {
  return (
    isObject(beat) &&
    isName(beat['uid']) &&
    subject === SUBJECT.heartbeat(beat['uid']) &&
    PHASES.includes(beat['phase']) &&
    isName(beat['pool']) &&
    isName(beat['generation']) &&
    ['protocol', 'epoch', 'jobsDone', 'ageMs', 'idleMs'].every((key) => isCount(beat[key])) &&
    optional(beat['tenant'], isName) &&
    optional(beat['job'], isName) &&
    optional(beat['attempt'], isCount) &&
    optional(beat['walls'], isWalls)
  );
}

const isOrder = (order: unknown): order is Record<string, unknown> =>
  isObject(order) &&
  isName(order['job']) &&
  isCount(order['epoch']) &&
  isCount(order['attempt']) &&
  optional(order['requestId'], isName);

export const isCancel = (order: unknown): order is Cancel => isOrder(order);
export const isPrepare = (order: unknown): order is Prepare =>
  isOrder(order) && isName(order['tenant']) && isObject(order['assignment']);
export const isGo = (order: unknown): order is Go => isPrepare(order) && isCount((order as Partial<Go>).remainingMs);
