/** Bounds and defaults used by several parts. Times are in milliseconds. */

/** Maximum time of an analysis, and of one tool. */
export const MAX_TIMEOUT_MS = 650_000;
/** Default time-out of an analysis. */
export const TIMEOUT_MS = 65_000;
/** Default time-out of a tool. */
export const TOOL_TIMEOUT_MS = 60_000;
/** Runs of a comparison at a time: two outputs of 64 MB were measured at 355 MB of the agent's 640. */
export const COMPARED_AT_ONCE = 2;
/** Maximum and default queue time-out. */
export const MAX_QUEUE_MS = 60_000;
/** Requests of a chunk: a ProbeJob for several items of a batch. */
export const MOST_OF_CHUNK = 100;
/** How old a cached result may be at most, in seconds. */
export const MOST_CACHE_AGE_S = 30 * 86_400;

/**
 * Policy quota of one account. The latest `revisions` of each policy are kept; `documents` counts saved and inline
 * policies.
 */
export const MOST_POLICIES = { policies: 100, revisions: 50, documents: 6_000, bytes: 64 * 1024 * 1024 };
/** Quota of the installation's shared policies. */
export const MOST_SHARED = { policies: 1_000, revisions: 50, documents: 60_000, bytes: 1024 * 1024 * 1024 };

/** Waivers of one account that are in force. */
export const MOST_WAIVERS = 1_000;

/** Places of one account in a queue of this length: no account can fill it alone. */
export const queueShare = (maxQueued: number): number => Math.max(1, Math.floor(maxQueued / 2));

/** Effective limits of a token. */
export interface Limits {
  requestsPerMinute: number;
  concurrency: number;
  queueTimeoutMs: number;
  fileBytes: number;
  /** Limit of its whole account. Null: unlimited. */
  accountConcurrency: number | null;
  /** Of its whole account, at each replica of the API. */
  accountRequestsPerMinute: number;
  /** Of cached results, for requests that say nothing of it. 0: none. */
  cacheMaxAgeS: number;
}

/**
 * Limits of users without their own. `accountConcurrency`: 0 means unlimited, null four times the root user's
 * concurrency.
 */
export type DefaultLimits = Omit<Limits, 'accountRequestsPerMinute' | 'cacheMaxAgeS'>;
export const DEFAULT_LIMITS: DefaultLimits = {
  requestsPerMinute: 100,
  concurrency: 10,
  queueTimeoutMs: MAX_QUEUE_MS,
  fileBytes: 10_000_000_000,
  accountConcurrency: null,
};
