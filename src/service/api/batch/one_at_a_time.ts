/** Calls that hold thousands of addresses: an account has one at a time, with a place in the memory budget. */
import type { Want } from '../../result/memory_budget.ts';
import type { Deps } from '../deps.ts';
import { ApiError } from '../errors.ts';
import { noRoom } from '../probe/stored_result.ts';

/** `what`: for the caller who comes while another one is served. */
export function makeOneAtATime(what: string, retryAfterS: number) {
  const busy = new Set<number>();
  return async function alone<T>({ memory }: Pick<Deps, 'memory'>, want: Want, work: () => Promise<T>): Promise<T> {
    const { account } = want;
    if (busy.has(account))
      throw new ApiError('rate-limited', {
        text: `an account has one ${what} at a time; try again when the other one has ended`,
        retryAfterS,
      });
    busy.add(account);
    try {
      using _held = await memory.reserve(want).catch(noRoom('too much is being read; try again later'));
      return await work();
    } finally {
      busy.delete(account);
    }
  };
}
