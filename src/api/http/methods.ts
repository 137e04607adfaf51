/** The first step of every endpoint: which methods it has. HEAD is none of GET here, since a GET may start a probe. */
import { GatewayError } from '../errors.ts';
import type { Handler } from './context.ts';

export const methods =
  (...allowed: string[]): Handler =>
  (ctx, next) => {
    if (allowed.includes(ctx.method)) return next();
    throw new GatewayError(405, 'method-not-allowed', `the methods here are ${allowed.join(' and ')}`, {
      headers: { Allow: allowed.join(', ') },
    });
  };
