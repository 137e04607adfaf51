import type { Cause } from '../base/causes.ts';

/** Errors of a source. `message` may be shown to the caller; `detail` is only for the log. */
export type SourceErrorCode =
  | 'source-invalid' // the address is invalid
  | 'source-scheme' // the scheme is not supported
  | 'source-too-long'
  | 'refused' // this installation does not connect to the address
  | 'origin-unreachable' // name, connection, TLS, or a 4xx or 5xx response
  | 'too-large' // the declared size exceeds the limit
  | 'cut'; // the read ended early: limit, broken transfer, the file changed

/** Detailed reason for `origin-unreachable` and `cut`: the code that callers see, except for the first three. */
export type FailureReason =
  /** The host's own status. */
  | 'status'
  /** Another tool may accept it. */
  | 'certificate'
  /** The job has ended. */
  | 'ended'
  | Extract<
      Cause,
      | 'dns'
      | 'connect'
      | 'tls'
      | 'redirects'
      | 'head'
      | 'protocol'
      | 'closed'
      | 'stalled'
      | 'offline'
      | 'changed'
      | 'limit'
      | 'upload-lost'
      | 'complex'
      | 'slow'
    >;

export interface SourceErrorOptions {
  reason?: FailureReason | undefined;
  status?: number;
  detail?: string | undefined;
  cause?: unknown;
}

export class SourceError extends Error {
  readonly code: SourceErrorCode;
  readonly reason: FailureReason | undefined;
  /** The origin's HTTP status, if that is the failure. */
  readonly status: number | undefined;
  readonly detail: string | undefined;

  constructor(code: SourceErrorCode, message: string, options: SourceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SourceError';
    this.code = code;
    this.reason = options.reason;
    this.status = options.status;
    this.detail = options.detail;
  }
}

type Details = Omit<SourceErrorOptions, 'reason'>;

export const unreachable = (reason: FailureReason, message: string, details: Details = {}): SourceError =>
  new SourceError('origin-unreachable', message, { ...details, reason });

export const cut = (reason: FailureReason, message: string, details: Details = {}): SourceError =>
  new SourceError('cut', message, { ...details, reason });

export const isSourceError = (value: unknown): value is SourceError => value instanceof SourceError;

/**
 * Whether the proxy ended the read for a reason of its own: the tool only sees a broken connection, so its result must
 * report this reason.
 */
export const isDecisive = ({ reason }: { reason?: FailureReason | undefined }): boolean =>
  reason === 'complex' || reason === 'slow';

/** Whether a part of a file may be asked for again. */
export function worthAnotherTry(error: unknown): boolean {
  if (!(error instanceof SourceError)) return true;
  if (error.code === 'origin-unreachable')
    return PASSING.some((reason) => reason === error.reason) || (error.status ?? 0) >= 500 || error.status === 429;
  return error.code === 'cut' && (error.reason === 'protocol' || error.reason === 'closed');
}

const PASSING: readonly FailureReason[] = ['connect', 'closed', 'stalled'];

/** What a failure means for the request. */
export const OUTCOMES = {
  // An invalid or unsupported address is the caller's error, like a refused one.
  'source-invalid': 'source-forbidden',
  'source-scheme': 'source-forbidden',
  'source-too-long': 'source-forbidden',
  refused: 'source-forbidden',
  'origin-unreachable': 'origin-unreachable',
  'too-large': 'source-too-large',
  cut: 'source-cut',
} as const satisfies Record<SourceErrorCode, Cause>;

/** The code under which callers see a failure. */
export function causeOf({ code, reason, status }: Pick<SourceError, 'code' | 'reason' | 'status'>): Cause {
  if (reason === 'status') return `http-${status ?? 502}`;
  if (reason === 'certificate') return 'tls';
  return reason === undefined || reason === 'ended' || code === 'too-large' ? OUTCOMES[code] : reason;
}
