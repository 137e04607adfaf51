import assert from 'node:assert/strict';
import { hostRoom, Turns, type Contender } from '../../../src/service/api/batch/turns.ts';

const FAST = 1_000_000;
const batch = (id: string, change: Partial<Contender> = {}): Contender => ({
  id,
  account: 1,
  token: 1,
  running: 0,
  tokenRuns: change.running ?? 0,
  accountRuns: change.running ?? 0,
  concurrency: 100,
  perMinute: FAST,
  accountPerMinute: FAST,
  tokenMost: 100,
  accountMost: 100,
  most: Infinity,
  ...change,
});
const countOf = (turns: Turns, batches: Contender[], room: number, now = 0): Record<string, number> =>
  Object.fromEntries(turns.next(batches, room, now).map(({ id, count }) => [id, count]));

describe('batch: whose turn it is', function () {
  this.timeout(20_000);
  it('accounts share the room, whatever the number of their batches', () => {
    const batches = [batch('a'), batch('b'), batch('c'), batch('other', { account: 2, token: 2 })];
    const { other, ...own } = countOf(new Turns(), batches, 6);
    assert.deepEqual([other, Object.values(own)], [3, [1, 1, 1]]);
  });

  it('what runs counts: the one that runs less comes first', () =>
    assert.deepEqual(countOf(new Turns(), [batch('a', { running: 3 }), batch('b', { account: 2 })], 4), {
      a: 1,
      b: 3,
    }));

  it('what runs of batches that may begin nothing counts for their token and account', () => {
    const stopped = { tokenMost: 3, accountMost: 3, tokenRuns: 2 };
    assert.deepEqual(countOf(new Turns(), [batch('a', stopped)], 9), { a: 1 });
    assert.deepEqual(countOf(new Turns(), [batch('a', { ...stopped, accountRuns: 3 })], 9), {});
  });

  for (const [what, change] of [
    ['its concurrency', { concurrency: 2 }],
    ['that of its token', { tokenMost: 2 }],
    ['that of its account', { accountMost: 2 }],
    ['its budget', { most: 2 }],
    ['its rate', { perMinute: 60 }],
    ['that of its account', { accountPerMinute: 60 }],
  ] as const)
    it(`never more than ${what}`, () => assert.deepEqual(countOf(new Turns(), [batch('a', change)], 50), { a: 2 }));

  it('of equals, the one that was served longest ago comes first', () => {
    const turns = new Turns();
    const all = ['a', 'b', 'c'].map((id, index) => batch(id, { account: index }));
    const order = Array.from({ length: 6 }, (_, now) => {
      const [turn] = turns.next(all, 1, now);
      turns.opened(
        all.find(({ id }) => id === turn!.id)!,
        now,
      );
      return turn!.id;
    });
    assert.deepEqual(order, ['a', 'b', 'c', 'a', 'b', 'c']);
  });

  it('a pause ends by its time, or when the batch is awakened', () => {
    const turns = new Turns();
    turns.pauseBatch('a', 100);
    turns.pauseAccount(2, 50);
    const all = [batch('a'), batch('b', { account: 2 })];
    assert.deepEqual(countOf(turns, all, 9, 49), {});
    assert.deepEqual(Object.keys(countOf(turns, all, 9, 50)), ['b']);
    turns.awaken('a');
    assert.deepEqual(Object.keys(countOf(turns, all, 9, 50)), ['a', 'b']);
  });

  it('a random run: no limit is exceeded, rates are kept, and no account starves', () => {
    let seed = 7;
    const random = (most: number): number => (seed = (seed * 48_271) % 2_147_483_647) % most;
    const turns = new Turns();
    const all = Array.from({ length: 30 }, (_, index) =>
      batch(`b${index}`, {
        account: index % 7,
        token: index % 11,
        concurrency: 1 + random(5),
        perMinute: 30 + random(600),
        accountPerMinute: 600,
        tokenMost: 6,
        accountMost: 8,
      }),
    );
    const room = 20;
    const opened = new Map<string, number>();
    const running = (of: (one: Contender) => boolean): number =>
      all.filter(of).reduce((sum, one) => sum + one.running, 0);
    const minutes = 2;
    for (let now = 0; now < minutes * 60_000; now += 100) {
      for (const one of all) {
        one.tokenRuns = running(({ token }) => token === one.token);
        one.accountRuns = running(({ account }) => account === one.account);
      }
      for (const { id, count } of turns.next(all, room - running(() => true), now)) {
        const one = all.find((each) => each.id === id)!;
        for (let n = 0; n < count; n++) turns.opened(one, now);
        one.running += count;
        opened.set(id, (opened.get(id) ?? 0) + count);
      }
      for (const one of all) {
        assert.ok(one.running <= one.concurrency);
        assert.ok(running(({ account }) => account === one.account) <= one.accountMost);
        assert.ok(running(({ token }) => token === one.token) <= one.tokenMost);
        if (one.running > 0 && random(3) === 0) one.running -= 1;
      }
      assert.ok(running(() => true) <= room);
    }
    for (const one of all) {
      const count = opened.get(one.id) ?? 0;
      assert.ok(count > 0 && count <= one.perMinute * (minutes + 0.1) + 1, `${one.id}: ${count}`);
    }
  });
});

describe('batch: how many items of a host', () => {
  const at = (id: string, account: number, host: bigint) => ({ batch: id, account, token: account, host });
  const running = [at('a', 1, 5n), at('a', 1, 5n), at('b', 1, 5n), at('b', 1, 6n), at('c', 2, 7n), at('c', 2, 7n)];

  it('its own and those of its account count, and not those of others', () => {
    const { full, left } = hostRoom(running, { id: 'a', account: 1, perHost: 2 }, 4);
    assert.deepEqual([full, left(5n), left(6n), left(7n), left(8n)], [[5n], 0, 2, 2, 2]);
  });

  it('the limit of the account holds over its batches', () =>
    assert.deepEqual(hostRoom(running, { id: 'd', account: 1, perHost: 8 }, 3).full, [5n]));
});
