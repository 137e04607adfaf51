/** The records in Postgres, and the input and output of each call. The tables are defined in migrations/. */
import type { Kind, Reason } from '../kube/probe_job.ts';
import type { Limits } from '../../base/limits.ts';
import type { Facets } from '../../media/policy/facets.ts';
import type { Outcome } from '../../media/policy/types.ts';
import type { ToolName } from '../../media/tools/table.ts';
import type { SourceException } from '../../base/source_settings.ts';

/** State of a request in the log: `open` until its one end is written. */
export type RequestState = 'open' | 'success' | 'with-errors' | 'error';

/** Per calendar month in UTC. An absent key is unlimited. */
export interface MonthlyLimits {
  'request-count'?: number;
  'processing-time'?: number;
  'data-processed'?: number;
  /** Seconds of media that content checks decode. */
  'decoded-seconds'?: number;
}
/**
 * Scope: the token alone, a user with everyone below, or the whole account. Quotas are independent: none extends
 * another.
 */
export interface Quota {
  scope: 'token' | 'user' | 'account';
  /** For the scope `user`. Absent: the token's own user, alone. */
  user?: number;
  limits: MonthlyLimits;
}

export interface TokenRecord {
  id: number;
  userId: number;
  rootUserId: number;
  name: string;
  role: 'root' | 'admin' | 'user' | 'sub';
  /** Also suspended if an account above is. */
  userStatus: 'anonymous' | 'pending' | 'active' | 'suspended';
  permissions: string[];
  expiresAt: Date | null;
  limits: Limits;
  /** Empty: no quota applies. */
  quotas: Quota[];
  /** Private addresses that this token may reach. */
  allow: SourceException[];
}

/** State of a rate limit after a call, for RateLimit headers. */
export interface Rate {
  limit: number;
  remaining: number;
  resetMs: number;
}

export interface OpenInput {
  /** UUIDv7: its time is the submission time by the store's clock. */
  id: string;
  submittedAt: Date;
  tokenId: number;
  userId: number;
  kind: Kind;
  /** Redacted address, for the log and statistics. */
  display: string;
  scheme: string;
  /** Request options without the source, for the log. */
  request: unknown;
  tools: { name: ToolName; version: string }[];
  queueTimeoutMs: number;
  timeoutMs: number;
  /** The API replica that waits for the end. */
  waiter: string | null;
  webhookUrl: string | null;
  idempotency: { key: string; bodySha256: Buffer } | null;
  requestsPerMinute: number;
  /** The quotas to enforce, if there are any. */
  quotas?: { of: readonly Quota[]; rootUserId: number };
}
export type Opened =
  | { outcome: 'opened'; rate: Rate }
  | { outcome: 'rate-limited'; rate: Rate; retryAfterMs: number }
  /** The same key and body were sent before. */
  | { outcome: 'repeated'; rate: Rate; id: string }
  | { outcome: 'idempotency-conflict'; rate: Rate }
  | { outcome: 'over-quota'; rate: Rate; exceeded: keyof MonthlyLimits };

export interface ToolEnd {
  name: ToolName;
  version: string;
  success: boolean;
  /** Why it failed (src/base/causes.ts). */
  code?: string;
  /** Of the first: what became of the tags of the object (TAGGED), or why they were not written. */
  tagged?: string;
  /** Of the first: what the file is. */
  facets?: Facets;
  durationMs: number;
  usageMs: number;
}

export const TAGGED = 'written';

/** The one end of a request. Written only while the row is open. */
export interface CloseInput {
  id: string;
  submittedAt: Date;
  state: Exclude<RequestState, 'open'>;
  status: number;
  reason: Reason;
  /** Public text of an end without a body. */
  error: string | null;
  attempt: number;
  startedAt: Date | null;
  tools: ToolEnd[];
  /** If a report was requested: its outcome, and the usage beyond that of the tools. */
  report?: { success: boolean; usageMs: number } | undefined;
  timeline?: { usageMs: number } | undefined;
  /** The verdict of the policy that the request names, if there is one. */
  policy?: Outcome | undefined;
  /** Of tools that gave no result. */
  usedMs?: number | undefined;
  ioBytes: number;
  /** Seconds of media that content checks decoded. */
  decodedSeconds?: number | undefined;
  /** ResultBody as JSON, zstd-compressed, exactly as the runner sent it. */
  body: Buffer | null;
  /** Size of the inflated body, if known. */
  inflatedBytes?: number | undefined;
  /** Of the file that was read, if it is known: the result may answer later requests. */
  identity?: string | undefined;
}
