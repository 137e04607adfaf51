/** The one place where an error becomes an answer. */
import type { Logger } from '../log.ts';
import { GatewayError, inside } from './errors.ts';
import { errorBody, isManagement } from './management/error_body.ts';
import type { Handler } from './context.ts';

/** Koa and its parts throw errors with a status for what the caller did wrong; anything else is ours. */
function gatewayErrorOf(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return inside(error instanceof Error ? error.message : String(error), error);
}

export const errorHandler = (log: Logger): Handler =>
  async (ctx, next) => {
    try {
      await next();
      if (ctx.status === 404 && ctx.body === undefined) throw new GatewayError(404, 'not-found', 'there is nothing here');
    } catch (thrown) {
      const error = gatewayErrorOf(thrown);
      ctx.status = error.status;
      ctx.set(error.headers);
      ctx.body = isManagement(ctx.path) ? errorBody(error, ctx.state.requestId) : { error: error.message };
      const line = { request: ctx.state.requestId, code: error.code, status: error.status, detail: error.detail };
      if (error.status >= 500) log.error({ ...line, err: error.cause ?? error }, 'request failed');
      else log.debug(line, 'request refused');
    }
  };
