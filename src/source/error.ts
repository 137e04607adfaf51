/** What can be wrong with a source. `message` may be shown to the caller; `detail` is for our own log alone. */
export type SourceErrorCode =
  | 'source-invalid' // the address cannot be read
  | 'source-scheme' // a kind of address that is not offered
  | 'source-too-long'
  | 'refused' // an address that this installation does not connect to
  | 'origin-unreachable' // name, connection, TLS, or an answer of 4xx or 5xx
  | 'too-large' // the declared size is over the limit
  | 'cut'; // the read ended early: limit, broken transfer, the file changed

/** Where `origin-unreachable` and `cut` come from, finer than the code. */
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
  /** More work than a playlist may make. */
  | 'complex'
  /** Fewer bytes in a minute than the installation asks for. */
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
  /** The origin's HTTP status, where that is what failed. */
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
 * What ends a read for a reason of ours: the tool sees a broken connection only, so this is what its result has to say.
 */
export const isDecisive = ({ reason }: { reason?: FailureReason | undefined }): boolean =>
  reason === 'complex' || reason === 'slow';
