import assert from 'node:assert/strict';
import { BusyError, makePasswords } from '../../src/accounts/passwords.ts';

describe('passwords', function () {
  this.timeout(30_000);

  it('are checked at the cost of a hash where there is none to check against, too', async () => {
    const passwords = makePasswords();
    const hash = await passwords.hash('a good password');
    // What the first of either costs beside it.
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

  it('are right or wrong, and none is right where there is none', async () => {
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

  it('too many at once are told to come later', async () => {
    const passwords = makePasswords();
    const all = await Promise.allSettled(Array.from({ length: 210 }, () => passwords.verify('x', 'no hash')));
    const refused = all.filter((one) => one.status === 'rejected' && one.reason instanceof BusyError).length;
    assert.equal(refused, 8);
  });
});
