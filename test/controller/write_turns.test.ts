/** Calls for the status of ProbeJobs: how many run at once, and who is next. */
import assert from 'node:assert/strict';
import { WriteTurns } from '../../src/service/controller/leader/job_status.ts';
import { KubeError } from '../../src/platform/kube/client.ts';

interface Held {
  answer: () => void;
  fail: (code: ConstructorParameters<typeof KubeError>[0]) => void;
}

describe('turns of status writes', () => {
  let turns: WriteTurns;
  let begun: { name: string; held: Held }[];

  beforeEach(() => {
    turns = new WriteTurns();
    begun = [];
  });

  const call = (name: string, later = false, account = 1): Promise<unknown> =>
    turns.run(
      () => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        begun.push({ name, held: { answer: resolve, fail: (code) => reject(new KubeError(code, name)) } });
        return promise;
      },
      { account, later },
    );
  const calls = (count: number, name = 'call', later = false, account = 1): Promise<unknown>[] =>
    Array.from({ length: count }, (_, at) => call(`${name}-${at}`, later, account).catch(() => {}));
  /** Ends the calls that run now, and waits until those that follow have begun. */
  async function end(how: (held: Held) => void, among = begun.length): Promise<void> {
    for (const { held } of begun.splice(0, among)) how(held);
    await new Promise(setImmediate);
  }

  it('a queue that ends together does not run together', async () => {
    void calls(50_000);
    assert.equal(begun.length, 32);
    assert.equal(turns.waiting, 49_968);
    await end(({ answer }) => answer());
    assert.ok(begun.length >= 32 && begun.length <= 34, `${begun.length} run`);
  });

  it('every call runs, whatever becomes of the others', async () => {
    const all = calls(1_000);
    let at = 0;
    while (begun.length > 0)
      await end(({ answer, fail }) => (at++ % 3 === 0 ? fail('conflict') : at % 7 === 0 ? fail('timeout') : answer()));
    await Promise.all(all);
    assert.deepEqual([at, turns.running, turns.waiting], [1_000, 0, 0]);
  });

  it('calls that time out together halve the bound once', async () => {
    void calls(1_000);
    await end(({ fail }) => fail('timeout'));
    assert.deepEqual([turns.bound, begun.length], [16, 16]);
    await end(({ fail }) => fail('timeout'));
    assert.deepEqual([turns.bound, begun.length], [8, 8]);
  });

  it('one call is always let through', async () => {
    void calls(1_000);
    for (let round = 0; round < 10; round++) await end(({ fail }) => fail('timeout'));
    assert.deepEqual([turns.bound, begun.length], [1, 1]);
  });

  it('answers raise the bound to that of one connection', async () => {
    void calls(20_000);
    await end(({ fail }) => fail('timeout'));
    let rounds = 0;
    for (; turns.bound < 100; rounds++) await end(({ answer }) => answer());
    assert.ok(rounds > 60 && rounds < 130, `${rounds} rounds`);
    for (let more = 0; more < 10; more++) await end(({ answer }) => answer());
    assert.equal(begun.length, 100);
  });

  it('a refusal that was answered in time does not lower the bound', async () => {
    void calls(100);
    await end(({ fail }) => fail('conflict'));
    assert.ok(turns.bound >= 32);
  });

  it('calls on which a slot depends go first, and of four turns one is for the others', async () => {
    void calls(32);
    void calls(100, 'later', true);
    void calls(100, 'slot');
    begun.splice(32);
    await end(({ answer }) => answer(), 8);
    const names = begun.slice(24).map(({ name }) => name.split('-')[0]);
    assert.deepEqual(names.slice(0, 8), ['slot', 'slot', 'slot', 'later', 'slot', 'slot', 'slot', 'later']);
  });

  it('calls that can wait take every turn while no other waits', async () => {
    void calls(32);
    void calls(10, 'later', true);
    await end(({ answer }) => answer(), 8);
    assert.ok(begun.slice(24).every(({ name }) => name.startsWith('later')));
    assert.ok(begun.length >= 32);
  });

  for (const later of [false, true])
    it(`an account with one call does not wait behind those of another, later: ${later}`, async () => {
      void calls(400, 'many', later, 1);
      void calls(1, 'one', later, 2);
      begun.splice(32);
      await end(({ answer }) => answer(), 2);
      assert.ok(
        begun.some(({ name }) => name === 'one-0'),
        'it waits behind the calls of another account',
      );
    });

  it('accounts take turns, and the calls of each keep their order', async () => {
    void calls(32);
    for (const account of [1, 2, 3]) void calls(3, `of${account}`, false, account);
    begun.splice(32);
    await end(({ answer }) => answer(), 8);
    const names = begun.slice(24).map(({ name }) => name);
    assert.deepEqual(names.slice(0, 8), 'of1-0 of2-0 of3-0 of1-1 of2-1 of3-1 of1-2 of2-2'.split(' '));
  });
});
