/** Too many attempts, or too many passwords at once: later. */
import { TooManyAttempts } from '../../accounts/attempts.ts';
import { BusyError } from '../../accounts/passwords.ts';
import type { Handler } from './context.ts';
import { tooManyAttempts } from '../errors.ts';

export const tooMany: Handler = async function tooMany(_ctx, next) {
  try {
    await next();
  } catch (error) {
    if (error instanceof TooManyAttempts) throw tooManyAttempts(error.retryAfterMs);
    if (error instanceof BusyError) throw tooManyAttempts(1_000);
    throw error;
  }
};
