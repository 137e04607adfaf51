/** Errors of a source. `message` may be shown to the caller; `detail` is only for the log. */
export type SourceErrorCode =
  | 'source-invalid' // the address is invalid
  | 'source-scheme' // the scheme is not supported
  | 'source-too-long'
  | 'refused' // this installation does not connect to the address
  | 'origin-unreachable' // name, connection, TLS, or a 4xx or 5xx response
  | 'too-large' // the declared size exceeds the limit
  | 'cut'; // the read ended early: limit, broken transfer, the file changed

/** Detailed reason for `origin-unreachable` and `cut`. */
export type FailureReason =
  | 'dns'
  | 'connect'
  | 'tls'
  | 'certificate'
  | 'status'
  | 'redirects'
  | 'timeout'
  | 'protocol'
  | 'changed'
  | 'limit'
  | 'closed'
  /** The server that held the uploaded file is gone. */
  | 'upload-lost'
  /** The playlist needs more work than allowed. */
  | 'complex'
  /** Fewer bytes in a minute than the installation requires. */
  | 'slow';

export interface SourceErrorOptions {
  reason?: FailureReason;
  status?: number;
  detail?: string;
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
    return (
      error.reason === 'connect' || error.reason === 'timeout' || (error.status ?? 0) >= 500 || error.status === 429
    );
  return error.code === 'cut' && error.reason === 'protocol';
}
