/** The single error type of this folder: failures of the API server or of the connection to it. */
import { CodedError } from '../../base/coded_error.ts';

const BY_STATUS = {
  400: 'bad-request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  405: 'not-allowed',
  409: 'conflict',
  410: 'gone',
  413: 'too-large',
  422: 'invalid',
  429: 'too-many-requests',
  500: 'internal',
  502: 'unavailable',
  503: 'unavailable',
  504: 'timeout',
} as const;

const BY_REASON = {
  AlreadyExists: 'already-exists',
  Expired: 'gone',
  Gone: 'gone',
  Timeout: 'timeout',
  ServerTimeout: 'timeout',
} as const;

export type KubeErrorCode =
  | (typeof BY_STATUS)[keyof typeof BY_STATUS]
  | (typeof BY_REASON)[keyof typeof BY_REASON]
  | 'unreachable'
  | 'aborted'
  | 'broken-stream';

export class KubeError extends CodedError<KubeErrorCode> {
  /** HTTP status; 0 without a response. */
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  /** Fields that a server-side apply may not change, because another manager owns them. */
  readonly fields: readonly string[];

  constructor(
    code: KubeErrorCode,
    message: string,
    options: { status?: number; retryAfterMs?: number | undefined; fields?: readonly string[]; cause?: unknown } = {},
  ) {
    super(code, message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = options.status ?? 0;
    this.retryAfterMs = options.retryAfterMs;
    this.fields = options.fields ?? [];
  }
}

export const isKubeError = (error: unknown, ...codes: KubeErrorCode[]): error is KubeError =>
  error instanceof KubeError && (codes.length === 0 || codes.includes(error.code));

/** From the message of the admission plugin ResourceQuota. */
export const isOverQuota = (error: unknown): error is KubeError =>
  isKubeError(error, 'forbidden') && /quota/i.test(error.message);

/**
 * The API server does not know the kind of a policy's parameter, up to half a minute after its CRD is installed, or has
 * not read the objects of that kind since its start. It refuses every write that the policy applies to until then.
 */
export const isPolicyNotReady = (error: unknown): error is KubeError =>
  isKubeError(error, 'invalid', 'forbidden') &&
  /denied request: failed to configure (policy|binding)/.test(error.message);

/** After these errors a write may or may not have taken effect: read before deciding. */
export const outcomeUnknown = (error: unknown): boolean =>
  isKubeError(error, 'timeout', 'unreachable', 'aborted', 'internal', 'unavailable', 'broken-stream');

/** The used part of meta/v1 Status. */
export interface Status {
  kind?: string;
  status?: string;
  code?: number;
  reason?: string;
  message?: string;
  details?: { retryAfterSeconds?: number; causes?: { reason?: string; field?: string }[] };
}

export function errorOfStatus(
  httpStatus: number,
  status: Status | undefined,
  what: string,
  retryAfterSeconds?: number,
): KubeError {
  const number = status?.code ?? httpStatus;
  const byReason: Record<string, KubeErrorCode> = BY_REASON;
  const byStatus: Record<number, KubeErrorCode> = BY_STATUS;
  const code = byReason[status?.reason ?? ''] ?? byStatus[number] ?? (number >= 500 ? 'internal' : 'bad-request');
  const seconds = status?.details?.retryAfterSeconds ?? retryAfterSeconds;
  return new KubeError(code, `${what}: ${status?.message ?? `HTTP ${number}`}`, {
    status: number,
    retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
    fields:
      status?.details?.causes?.flatMap(({ reason, field }) =>
        reason === 'FieldManagerConflict' && field !== undefined ? [field] : [],
      ) ?? [],
  });
}
