/** Converts every error to a response. */
import { STATUS_CODES } from 'node:http';
import { ApiError, inside, notFound } from '../errors.ts';
import { TooManyAttempts } from '../../accounts/attempts.ts';
import { BusyError } from '../../accounts/passwords.ts';
import { BusError } from '../../../platform/bus/errors.ts';
import { isKubeError } from '../../../platform/kube/errors.ts';
import { type Logger, requestFields } from '../../../base/log.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import type { Metrics } from '../api_metrics.ts';
import type { Handler } from './request_context.ts';
import { closeIfUnread } from './http_server.ts';
import { isManagement } from './endpoint_access.ts';

// The error body of the management endpoints.

export function errorBody(error: Pick<ApiError, 'status' | 'number' | 'message' | 'field'>, requestId: string) {
  const context =
    error.status === 500 ? { 'request-id': requestId } : error.field === undefined ? {} : { field: error.field };
  return {
    code: error.number,
    context,
    error: error.message,
    status: STATUS_CODES[error.status] ?? '',
  };
}

/** A failover of Postgres or of the API server takes a few seconds. */
const RETRY_AFTER_S = 5;

const BUS_AWAY: readonly BusError['code'][] = ['no-responders', 'timeout', 'disconnected', 'no-stream'];

/** The dependency that was unreachable, after all retries. */
function away(error: unknown): 'postgres' | 'kubernetes' | 'nats' | undefined {
  if (isStoreError(error, 'unreachable', 'timeout')) return 'postgres';
  if (isKubeError(error, 'unreachable', 'timeout', 'unavailable', 'too-many-requests', 'broken-stream'))
    return 'kubernetes';
  return error instanceof BusError && BUS_AWAY.includes(error.code) ? 'nats' : undefined;
}

/** Koa and its parts (http-errors) mark errors of the caller by status and `expose`. */
function frameworkError(error: unknown): ApiError | null {
  const { status, expose } = error as { status?: unknown; expose?: unknown };
  if (
    !(error instanceof Error) ||
    typeof expose !== 'boolean' ||
    typeof status !== 'number' ||
    status < 400 ||
    status > 499
  )
    return null;
  const phrase = STATUS_CODES[status]?.toLowerCase() ?? 'the request cannot be answered';
  return new ApiError('bad-request', {
    status,
    text: expose && error.message !== '' ? error.message : phrase,
    detail: error.message,
  });
}

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof TooManyAttempts)
    return new ApiError('too-many-attempts', { retryAfterS: error.retryAfterMs / 1000 });
  if (error instanceof BusyError) return new ApiError('too-many-attempts', { retryAfterS: 1 });
  const message = error instanceof Error ? error.message : String(error);
  const reason = away(error);
  if (reason) return new ApiError('unavailable', { retryAfterS: RETRY_AFTER_S, detail: message, cause: error, reason });
  return frameworkError(error) ?? inside(message, error);
}

function write(log: Logger, error: ApiError, id: string): void {
  const { code, status, toolCode, detail } = error;
  const line = { ...requestFields({ id }), code: toolCode ?? code, status, detail };
  if (error.code === 'overloaded') log.debug(line, 'request refused');
  else if (error.status === 503) log.warn({ ...line, err: error.cause }, 'request failed');
  else if (error.status >= 500) log.error({ ...line, err: error.cause ?? error }, 'request failed');
  else log.debug(line, 'request refused');
}

export const errorHandler = (log: Logger, metrics: Pick<Metrics, 'failed'>): Handler =>
  async function handleError(ctx, next) {
    try {
      await next();
      if (ctx.status === 404 && ctx.body === undefined) throw notFound();
    } catch (thrown) {
      const error = apiErrorOf(thrown);
      ctx.state.code = error.code;
      ctx.status = error.status;
      ctx.set(error.headers);
      closeIfUnread(ctx.req, ctx.res);
      const { message, toolCode } = error;
      ctx.body = isManagement(ctx.path)
        ? errorBody(error, ctx.state.requestId)
        : { error: message, ...(toolCode === undefined ? {} : { code: toolCode }) };
      if (error.status >= 500) metrics.failed(error.reason);
      write(log, error, ctx.state.requestId);
    }
  };
