import assert from 'node:assert/strict';
import { TooManyAttempts } from '../../src/service/accounts/attempts.ts';
import { makePasswords } from '../../src/service/accounts/accounts.ts';

describe('passwords', function () {
  this.timeout(30_000);

  it('a check without a stored hash costs as much as with one', async () => {
    const passwords = makePasswords();
    const hash = await passwords.hash('a good password');
    // The cost of the first check of either kind is excluded.
    await passwords.verify('x', null);
    const costOf = async (kept: string | null): Promise<number> => {
      const before = process.cpuUsage();
      for (let count = 0; count < 5; count++) assert.equal(await passwords.verify('a bad password', kept), false);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const [known, unknown] = [await costOf(hash), await costOf(null)];
    assert.ok(unknown > known / 4, `${unknown} µs of work for an unknown one, ${known} µs for a known one`);
  });

  it('only the correct password is accepted, and none without a stored hash', async () => {
    const passwords = makePasswords();
    const hash = await passwords.hash('a good password');
    assert.deepEqual(
      [
        await passwords.verify('a good password', hash),
        await passwords.verify('another', hash),
        await passwords.verify('a password that nobody has', null),
      ],
      [true, false, false],
    );
  });

  it('too many checks at once are refused with a time to retry', async () => {
    const passwords = makePasswords();
    const all = await Promise.allSettled(Array.from({ length: 210 }, () => passwords.verify('x', 'no hash')));
    const refused = all.filter((one) => one.status === 'rejected' && one.reason instanceof TooManyAttempts).length;
    assert.equal(refused, 8);
  });
});
