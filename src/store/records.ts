/** What Postgres keeps: the records, and what each call takes and gives. The tables are in migrations/. */
import type { Kind, Reason } from '../kube/probe_job.ts';
import type { Limits } from '../limits.ts';
import type { Outcome } from '../policy/types.ts';
import type { ToolName } from '../tools/table.ts';
import type { SourceException } from '../source_exception.ts';

/** How a request stands in the log. `open` until its one end is written. */
export type RequestState = 'open' | 'success' | 'with-errors' | 'error';

/** In a calendar month of UTC. What is left out has no bound. */
export interface MonthlyLimits {
  'request-count'?: number;
  'processing-time'?: number;
  'data-processed'?: number;
}
/**
 * Of the token alone, of a user with everyone below, or of the whole account. Each holds for itself: none widens
 * another.
 */
export interface Quota {
  scope: 'token' | 'user' | 'account';
  /** Of the scope `user`; absent: the token's own user, alone. */
  user?: number;
  limits: MonthlyLimits;
}

export interface TokenRecord {
  id: number;
  userId: number;
  rootUserId: number;
  name: string;
  role: 'root' | 'admin' | 'user' | 'sub';
  /** Suspended, too, where an account above is. */
  userStatus: 'anonymous' | 'pending' | 'active' | 'suspended';
  permissions: string[];
  expiresAt: Date | null;
  limits: Limits;
  /** None: nothing is counted against one. */
  quotas: Quota[];
  /** Places this token may reach although they are private. */
  allow: SourceException[];
}

/** State of a rate limit after a call, for RateLimit headers. */
export interface Rate {
  limit: number;
  remaining: number;
  resetMs: number;
}

export interface OpenInput {
  /** UUIDv7: its time is the submission time, by the store's clock. */
  id: string;
  submittedAt: Date;
  tokenId: number;
  userId: number;
  kind: Kind;
  /** Redacted address, for log and statistics. */
  display: string;
  scheme: string;
  /** Request options without the source, for the log. */
  request: unknown;
  tools: { name: ToolName; version: string }[];
  queueTimeoutMs: number;
  timeoutMs: number;
  /** API replica that waits for the end. */
  waiter: string | null;
  webhookUrl: string | null;
  idempotency: { key: string; bodySha256: Buffer } | null;
  requestsPerMinute: number;
  /** Where there are some: what they hold for. */
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
  durationMs: number;
  usageMs: number;
}

/** The one end of a request. Written only if the row is open. */
export interface CloseInput {
  id: string;
  submittedAt: Date;
  state: Exclude<RequestState, 'open'>;
  status: number;
  reason: Reason;
  /** Public text where there is no body. */
  error: string | null;
  attempt: number;
  startedAt: Date | null;
  tools: ToolEnd[];
  /** Where one was asked for; its usage is what ran for it beside the tools. */
  report?: { success: boolean; usageMs: number } | undefined;
  /** Of the policy that the request names, where there is a verdict. */
  policy?: Outcome | undefined;
  ioBytes: number;
  /** ResultBody as JSON, zstd, exactly as the runner sent it. */
  body: Buffer | null;
  /** What that inflates to, where it is known. */
  inflatedBytes?: number | undefined;
}
export interface CloseResult {
  closed: boolean;
  waiter: string | null;
  queueTimeMs: number;
}

export interface RequestRecord {
  id: string;
  submittedAt: Date;
  tokenId: number;
  userId: number;
  kind: Kind;
  display: string;
  state: RequestState;
  status: number | null;
  reason: Reason | null;
  error: string | null;
  queueTimeMs: number | null;
  request: unknown;
  hasBody: boolean;
  /** What the body inflates to; null: it was recorded by a version that did not say. */
  inflatedBytes: number | null;
  ioBytes: number;
  endedAt: Date | null;
  /** Null: no policy was asked for, or the request has not ended. */
  policyOutcome: Outcome | null;
}

/** A row that is still open, for the sweeper and for a new leader. */
export interface OpenRow {
  id: string;
  submittedAt: Date;
  tokenId: number;
  queueTimeoutMs: number;
  timeoutMs: number;
  waiter: string | null;
}
