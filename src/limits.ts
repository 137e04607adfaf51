/** Bounds and defaults that more than one part needs. Times are in milliseconds. */

/** The longest analysis, and the longest run of one tool. */
export const MAX_TIMEOUT_MS = 650_000;
/** An analysis whose caller names no time. */
export const TIMEOUT_MS = 65_000;
/** A tool whose caller names no time. */
export const TOOL_TIMEOUT_MS = 60_000;
/** The longest wait in the queue, and that of a request that names none. */
export const MAX_QUEUE_MS = 60_000;

/** Of a token, as they are in force. */
export interface Limits {
  requestsPerMinute: number;
  concurrency: number;
  queueTimeoutMs: number;
  fileBytes: number;
  /** Of its whole account. Null: none. */
  accountConcurrency: number | null;
}

/** Of whom nothing was given. Its `accountConcurrency`: 0 is none, null four times the root user's concurrency. */
export type DefaultLimits = Limits;
export const DEFAULT_LIMITS: DefaultLimits = {
  requestsPerMinute: 100,
  concurrency: 10,
  queueTimeoutMs: MAX_QUEUE_MS,
  fileBytes: 10_000_000_000,
  accountConcurrency: null,
};
