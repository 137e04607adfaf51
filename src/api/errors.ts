/**
 * The one error of the API: a status, a stable code, a text for the caller, and a detail for the log alone.
 * The text may name what the caller sent; the detail may say what went wrong inside. They never mix.
 */
export interface GatewayErrorOptions {
  /** For the log. Never a source, a token or a body. */
  detail?: string;
  headers?: Record<string, string>;
  cause?: unknown;
  /** The one that is wrong. */
  field?: string;
}

export class GatewayError extends Error {
  readonly status: number;
  readonly code: string;
  readonly detail: string | undefined;
  readonly headers: Record<string, string>;
  readonly field: string | undefined;

  constructor(status: number, code: string, text: string, options: GatewayErrorOptions = {}) {
    super(text, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GatewayError';
    this.status = status;
    this.code = code;
    this.detail = options.detail;
    this.headers = options.headers ?? {};
    this.field = options.field;
  }
}

export const invalid = (field: string, text: string): GatewayError =>
  new GatewayError(400, 'invalid-field', `${field}: ${text}`, { field });
export const unreadable = (text: string, options?: GatewayErrorOptions): GatewayError =>
  new GatewayError(400, 'unreadable-body', `body: ${text}`, options);
export const unauthorized = (code: 'no-credential' | 'bad-credential', text: string): GatewayError =>
  new GatewayError(401, code, text, { headers: { 'WWW-Authenticate': 'Bearer' } });
export const forbidden = (code: 'no-permission' | 'account-inactive', text: string): GatewayError =>
  new GatewayError(403, code, text);
export const notFound = (): GatewayError => new GatewayError(404, 'not-found', 'there is nothing here');
export const tooManyAttempts = (retryAfterMs: number): GatewayError =>
  new GatewayError(429, 'too-many-attempts', 'too many attempts; try again later', {
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) },
  });
export const rateLimited = (retryAfterMs: number): GatewayError =>
  new GatewayError(429, 'rate-limited', 'too many requests: this token is over its rate', {
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) },
  });
export const inside = (detail: string, cause?: unknown): GatewayError =>
  new GatewayError(500, 'internal', 'something went wrong on our side', { detail, cause });
/** What the service needs is away, or used up: nothing is wrong with the request. */
export const unavailable = (
  text: string,
  retryAfterS: number,
  options: Pick<GatewayErrorOptions, 'detail' | 'cause'> = {},
): GatewayError =>
  new GatewayError(503, 'unavailable', text, { ...options, headers: { 'Retry-After': String(retryAfterS) } });
