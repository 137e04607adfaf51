/**
 * Password checks at a constant cost, whether or not there is a hash to check against, and with bounded concurrency.
 */
import { hashPassword, verifyPassword } from '../../platform/store/password.ts';
import { makeTurns } from '../../base/turns.ts';
import { TooManyAttempts } from './attempts.ts';

/** Each check takes 19 MiB and one of libuv's four threads: more at once would starve everything else. */
const AT_ONCE = 2;
const WAITING = 200;

export function makePasswords() {
  const turns = makeTurns(AT_ONCE);
  let dummy: Promise<string> | undefined;

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (turns.waiting() >= WAITING) throw new TooManyAttempts(1_000);
    return turns.run(work);
  }

  return {
    hash: (password: string): Promise<string> => inTurn(() => hashPassword(password)),
    /** Null: there is no hash; the check takes as long. */
    verify: (password: string, hash: string | null): Promise<boolean> =>
      inTurn(async () => {
        dummy ??= hashPassword('a password that nobody has');
        const matches = await verifyPassword(password, hash ?? (await dummy));
        return matches && hash !== null;
      }),
  };
}
