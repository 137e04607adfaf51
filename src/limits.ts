/** Bounds and defaults that more than one part needs. Times are in milliseconds. */

/** The longest analysis, and the longest run of one tool. */
export const MAX_TIMEOUT_MS = 650_000;
/** An analysis whose caller names no time. */
export const TIMEOUT_MS = 65_000;
/** A tool whose caller names no time. */
export const TOOL_TIMEOUT_MS = 60_000;
/** The longest wait in the queue, and that of a request that names none. */
export const MAX_QUEUE_MS = 60_000;

/** Policies of one account. Of each policy the latest revisions are kept; documents are saved and inline policies. */
export const MOST_POLICIES = { policies: 100, revisions: 50, documents: 6_000, bytes: 64 * 1024 * 1024 };
/** Shared policies of the installation. */
export const MOST_SHARED = { policies: 1_000, revisions: 50, documents: 60_000, bytes: 1024 * 1024 * 1024 };

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
