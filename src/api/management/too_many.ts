/** Too many attempts, or too many passwords at once: later. */
import { TooManyAttempts } from '../../accounts/attempts.ts';
import { BusyError } from '../../accounts/passwords.ts';
import type { Handler } from '../context.ts';
import { GatewayError } from '../errors.ts';

const later = (ms: number): GatewayError =>
  new GatewayError(429, 'too-many-attempts', 'too many attempts; try again later', { headers: { 'Retry-After': String(Math.max(1, Math.ceil(ms / 1000))) } });

export const tooMany: Handler = async function tooMany(_ctx, next) {
  try {
    await next();
  } catch (error) {
    if (error instanceof TooManyAttempts) throw later(error.retryAfterMs);
    if (error instanceof BusyError) throw later(1_000);
    throw error;
  }
};
