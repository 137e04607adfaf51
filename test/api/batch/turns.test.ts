import assert from 'node:assert/strict';
import { Chunks } from '../../../src/service/api/batch/chunks.ts';
import { hostRoom, sharedOut, Turns, type Contender } from '../../../src/service/api/batch/turns.ts';

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
  size: 1,
  ...change,
});
const countOf = (turns: Turns, batches: Contender[], room: number, now = 0): Record<string, number> =>
  Object.fromEntries(turns.next(batches, room, now).map(({ id, jobs }) => [id, jobs.length]));

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
        size: 1 + random(30),
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
      for (const { id, jobs } of turns.next(all, room - running(() => true), now)) {
        const one = all.find((each) => each.id === id)!;
        for (const items of jobs) {
          assert.ok(items > 0 && items <= one.size);
          turns.opened(one, now, items);
          opened.set(id, (opened.get(id) ?? 0) + items);
        }
        one.running += jobs.length;
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
  let jobs = 0;
  const at = (id: string, account: number, host: bigint, job = `job ${++jobs}`) => ({
    job,
    batch: id,
    account,
    token: account,
    host,
  });
  const running = [at('a', 1, 5n), at('a', 1, 5n), at('b', 1, 5n), at('b', 1, 6n), at('c', 2, 7n), at('c', 2, 7n)];

  it('its own and those of its account count, and not those of others', () => {
    const { full, left } = hostRoom(running, { id: 'a', account: 1, perHost: 2 }, 4);
    assert.deepEqual([full, left(5n), left(6n), left(7n), left(8n)], [[5n], 0, 2, 2, 2]);
  });

  it('the limit of the account holds over its batches', () =>
    assert.deepEqual(hostRoom(running, { id: 'd', account: 1, perHost: 8 }, 3).full, [5n]));

  it('those of one job are one', () => {
    const chunk = [at('a', 1, 5n, 'chunk'), at('a', 1, 5n, 'chunk'), at('a', 1, 6n, 'chunk')];
    const { full, left } = hostRoom(chunk, { id: 'a', account: 1, perHost: 2 }, 4);
    assert.deepEqual([full, left(5n), left(6n)], [[], 1, 1]);
  });
});

describe('batch: items that share jobs', () => {
  const items = (...hosts: number[]) => hosts.map((host, n) => ({ n, host: BigInt(host), plain: true }));
  const shared = (hosts: number[], sizes: number[], left: number) =>
    sharedOut(items(...hosts), sizes, () => left).map((job) => job.map(({ n }) => n));

  it('fill one after the other', () => assert.deepEqual(shared([1, 2, 3, 4, 5], [2, 2, 2], 1), [[0, 1], [2, 3], [4]]));
  it('a host is in no more of them than it has room for, and as often as there are items in each', () => {
    assert.deepEqual(shared([1, 1, 1, 1, 2], [2, 2, 2], 1), [[0, 1], [4]]);
    assert.deepEqual(shared([1, 1, 1, 1, 2], [2, 2, 2], 2), [[0, 1], [2, 3], [4]]);
  });
  it('an item that must not share a runner has one of its own', () => {
    const some = items(1, 2, 3, 4).map((item) => ({ ...item, plain: item.n > 1 }));
    const jobs = (sizes: number[]) => sharedOut(some, sizes, () => 1).map((job) => job.map(({ n }) => n));
    assert.deepEqual(
      [jobs([9, 9, 9]), jobs([9]), jobs([1, 1, 1, 1])],
      [[[0], [1], [2, 3]], [[0]], [[0], [1], [2], [3]]],
    );
  });
  it('none is left empty', () => assert.deepEqual(shared([1, 1], [1, 1, 1], 0), []));

  it('rates and the budget cut them, and they wait for half of what the rates allow at once', () => {
    const sizes = (change: Partial<Contender>, now = 0, turns = new Turns()) =>
      turns.next([batch('a', { size: 100, concurrency: 2, ...change })], 9, now).flatMap(({ jobs: of }) => of);
    assert.deepEqual(sizes({}), [100, 100]);
    assert.deepEqual(sizes({ most: 130 }), [100, 30]);
    assert.deepEqual(sizes({ perMinute: 600 }), [20]);
    assert.deepEqual(sizes({ accountPerMinute: 300 }), [10]);
    const turns = new Turns();
    const slow = { perMinute: 600 };
    turns.opened(batch('a', slow), 0, 20);
    assert.deepEqual(sizes(slow, 900, turns), []);
    assert.deepEqual(sizes(slow, 1_000, turns), [10]);
  });
});

describe('batch: how many items a chunk has', () => {
  let now = 0;
  const run = (chunks: Chunks, size: number, ended: number): number => {
    const signal = chunks.begun('chunk', 'a', size);
    for (let n = 0; n < ended; n++) chunks.ended('chunk');
    now += 1;
    chunks.keep({ jobs: new Set(['chunk']), batches: new Set(['a']), since: now });
    assert.equal(signal.aborted, false);
    chunks.keep({ jobs: new Set(), batches: new Set(['a']), since: now });
    assert.equal(signal.aborted, true);
    return chunks.sizeOf('a', { waiting: 10_000, atOnce: 4 });
  };
  const made = () => new Chunks(() => now);

  it('begins with one, and doubles up to the most while all of them end', () => {
    const chunks = made();
    assert.equal(chunks.sizeOf('a', { waiting: 10_000, atOnce: 4 }), 1);
    assert.deepEqual([run(chunks, 1, 1), run(chunks, 2, 2), run(chunks, 60, 60), run(chunks, 3, 3)], [2, 4, 100, 100]);
  });
  it('falls to what a chunk came to, and never below one', () => {
    const chunks = made();
    run(chunks, 50, 50);
    assert.deepEqual([run(chunks, 100, 7), run(chunks, 7, 0)], [7, 1]);
  });
  it('is not changed by an item that shares no job', () => {
    const chunks = made();
    const alone = () => run(chunks, 0, 1);
    assert.deepEqual([alone(), run(chunks, 4, 4), alone()], [1, 8, 8]);
  });
  it('shares a small batch out among as many as may run at once', () => {
    const chunks = made();
    run(chunks, 50, 50);
    assert.deepEqual(
      [10, 8, 1].map((waiting) => chunks.sizeOf('a', { waiting, atOnce: 4 })),
      [3, 2, 1],
    );
  });
  it('one that began after the record was read is not over', () => {
    const chunks = made();
    const signal = chunks.begun('chunk', 'a', 2);
    chunks.keep({ jobs: new Set(), batches: new Set(['a']), since: now });
    assert.equal(signal.aborted, false);
  });
  it('what is known of a batch that is over is forgotten', () => {
    const chunks = made();
    run(chunks, 50, 50);
    chunks.keep({ jobs: new Set(), batches: new Set(), since: now });
    assert.equal(chunks.sizeOf('a', { waiting: 10_000, atOnce: 4 }), 1);
  });
});
