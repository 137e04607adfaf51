/**
 * All errors of the API: a status, the number for management callers, a stable code, a text for the caller, and a
 * detail that is only logged. The text may name what the caller sent, the detail may name internals; they are never
 * mixed.
 */
import { REFUSED_ADDRESS } from '../../source/failures.ts';
import type { MonthlyLimits } from '../../platform/store/records.ts';
import { INTERNAL, TEXTS, UNAVAILABLE } from '../result/texts.ts';

interface ErrorKind {
  status: number;
  /** For management callers: of the status, if it is not given. */
  number?: number;
  text: string;
  /** If a throw names no other time. */
  retryAfterS?: number;
}

export const numberOf = ({ status, number = status * 100 }: ErrorKind): number => number;

/** Codes share a number if callers cannot act on the difference. A throw may replace the text. */
export const ERRORS = {
  'invalid-field': { status: 400, text: 'a field is not valid' },
  'unreadable-input': { status: 400, text: 'the input cannot be read' },
  'invalid-source': { status: 400, text: 'url: is not a source' },
  'address-refused': { status: 400, text: REFUSED_ADDRESS },
  'idempotency-key': { status: 400, text: 'Idempotency-Key: must be 1 to 255 visible ASCII characters' },
  'idempotency-conflict': { status: 400, text: 'Idempotency-Key: was used with another body' },
  'bad-request': { status: 400, text: 'the request is not valid' },
  'sso-failed': { status: 400, text: 'the sign-in was not completed; start again' },
  'no-credential': { status: 401, text: 'authentication required' },
  'bad-credential': { status: 401, number: 40101, text: 'the credential is not valid or has expired' },
  'no-permission': { status: 403, text: 'a permission is required' },
  'beyond-caller': { status: 403, text: 'permissions: you cannot grant what you do not have' },
  'own-account': { status: 403, text: 'you cannot change your own permissions' },
  'not-yours': { status: 403, text: 'you cannot change this user' },
  'sign-up-closed': { status: 403, text: 'sign-up is closed; ask an administrator for an account' },
  'no-mail': { status: 403, text: 'no mail is configured; ask an administrator for a new password' },
  'passwords-off': { status: 403, text: 'sign-in with a password is switched off here; use single sign-on' },
  /** Of a person whom the issuer has named. */
  'sso-refused': { status: 403, text: 'single sign-on gives you no access' },
  'jwt-chain': { status: 403, text: 'the chain of JWTs is too long' },
  'foreign-site': { status: 403, text: 'cross-site request with a cookie refused' },
  'account-inactive': { status: 403, number: 40301, text: 'the account is not active' },
  quota: { status: 403, number: 40302, text: 'the monthly quota is used up' },
  'not-found': { status: 404, text: 'not found' },
  'method-not-allowed': { status: 405, text: 'method not allowed' },
  'ended-already': { status: 409, text: 'the request has ended' },
  'not-ended': { status: 409, text: 'the request has not ended; cancel it first' },
  'email-taken': { status: 409, text: 'email: cannot be used for a new account' },
  /** The text says what it is in. */
  'batch-state': { status: 409, text: 'the batch is in another state' },
  'source-state': { status: 409, text: 'the source is in another state' },
  'too-many-sources': { status: 409, text: 'the account has reached its limit of sources; delete one' },
  'too-many-batches': {
    status: 409,
    text: 'the account has reached its limit of batches that have not ended; wait for one to end, or cancel one',
  },
  'too-many-items': {
    status: 409,
    text: 'the account has reached its limit of items of batches that have not ended; wait until some have',
  },
  'too-many-users': { status: 409, text: 'the account has reached its limit of sub-users' },
  'too-many-tokens': { status: 409, text: 'the account has reached its limit of API tokens' },
  'too-many-policies': { status: 409, text: 'the account has reached its limit of policies' },
  'too-many-waivers': { status: 409, text: 'the account has reached its limit of live waivers; revoke some' },
  'too-many-links': { status: 409, text: 'the account has reached its limit of links to reports' },
  'no-room-for-policy': {
    status: 409,
    text: 'the account has reached its limit of policy documents; save inline policies and send their names',
  },
  'default-token': { status: 409, text: 'the default token cannot be revoked: jobs made with kubectl run on it' },
  'rate-limited': { status: 429, text: 'rate limit exceeded; try again later' },
  'too-many-attempts': { status: 429, text: 'too many attempts; try again later' },
  'queue-full': { status: 429, text: TEXTS.QueueFull },
  'hung-up': { status: 499, text: 'the caller disconnected' },
  internal: { status: 500, text: INTERNAL },
  'tool-unavailable': { status: 500, text: 'no version of the tool is ready in this cluster' },
  /** The next call comes to another replica. */
  draining: { status: 503, text: 'this server is shutting down; try again', retryAfterS: 1 },
  /** The end of a request, with its recorded status and text. */
  ended: { status: 500, text: INTERNAL },
  overloaded: {
    status: 503,
    text: 'this server is overloaded; try again in a few seconds, with fewer calls at once',
    retryAfterS: 5,
  },
  /** A failover of Postgres or of the API server takes a few seconds. */
  unavailable: { status: 503, text: UNAVAILABLE, retryAfterS: 5 },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

interface ApiErrorOptions {
  text?: string | undefined;
  /** For codes without a fixed status: an end, an error of Koa. */
  status?: number;
  field?: string;
  /** Why the source cannot be read: the code of the tool's error, or what it would be (src/base/causes.ts). */
  toolCode?: string | undefined;
  retryAfterS?: number | undefined;
  headers?: Record<string, string>;
  /** What the metric of failures counts a 5xx as, from a fixed set; the code if not given. */
  reason?: string;
  /** Only for the log. Never a source, a token or a body. */
  detail?: string;
  cause?: unknown;
}

export class ApiError extends Error {
  readonly status: number;
  readonly number: number;
  readonly code: ErrorCode;
  readonly reason: string;
  readonly detail: string | undefined;
  readonly headers: Record<string, string>;
  readonly field: string | undefined;
  readonly toolCode: string | undefined;

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    const kind: ErrorKind = ERRORS[code];
    const { text = kind.text, status = kind.status, field, headers = {}, detail, cause } = options;
    const { retryAfterS = kind.retryAfterS } = options;
    super(text, cause === undefined ? undefined : { cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = status;
    this.number = numberOf(status === kind.status ? kind : { status, text });
    this.reason = options.reason ?? code;
    this.detail = detail;
    this.field = field;
    this.toolCode = options.toolCode;
    this.headers = {
      ...(status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
      ...(retryAfterS === undefined ? {} : { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterS))) }),
      ...headers,
    };
  }
}

export const invalid = (field: string, text: string): ApiError =>
  new ApiError('invalid-field', { text: `${field}: ${text}`, field });
export const unreadable = (text: string, options?: ApiErrorOptions): ApiError =>
  new ApiError('unreadable-input', { ...options, text: `body: ${text}` });
const USED_UP: Record<keyof MonthlyLimits, string> = {
  'request-count': 'number of requests',
  'processing-time': 'processing time',
  'data-processed': 'amount of data',
  'decoded-seconds': 'seconds decoded by content checks',
};
export const overQuota = (exceeded: keyof MonthlyLimits): ApiError =>
  new ApiError('quota', {
    text: `the monthly quota is used up: ${USED_UP[exceeded]}; it resets on the first day of the month, UTC`,
  });
export const notFound = (): ApiError => new ApiError('not-found');
/** What was looked for, if there is any. */
export function orNotFound<T>(found: T | null | undefined): T {
  if (found === null || found === undefined) throw notFound();
  return found;
}
/** After it was checked: what it makes must not outlive it. */
export const credentialEnded = (): ApiError => new ApiError('bad-credential', { text: 'the credential has ended' });
export const expired = (): ApiError => new ApiError('not-found', { text: 'the result has expired' });
export const inside = (detail: string, cause?: unknown): ApiError => new ApiError('internal', { detail, cause });
