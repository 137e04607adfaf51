import { setTimeout as sleep } from 'node:timers/promises';
import { SLOWNESS } from '../patience.ts';
import { ClusterError } from './cluster_error.ts';

export interface Wait {
  what: string;
  timeoutMs: number;
  everyMs?: number;
}

/**
 * Repeats `ask` until it returns something other than undefined or false. An error of `ask` counts as "not yet" and is
 * reported at the timeout, except for a ClusterError, which is final.
 */
export async function until<T>(
  wait: Wait,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const longestMs = SLOWNESS * wait.timeoutMs;
  const end = performance.now() + longestMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
      last = undefined;
    } catch (error) {
      if (error instanceof ClusterError && error.code !== 'COMMAND_FAILED') throw error;
      last = error;
    }
    if (performance.now() >= end) {
      const why = last instanceof Error ? `: ${last.message}` : '';
      throw new ClusterError('TIMED_OUT', `${wait.what}: not within ${longestMs / 1000} s${why}`);
    }
    await sleep(wait.everyMs ?? 100);
  }
}
