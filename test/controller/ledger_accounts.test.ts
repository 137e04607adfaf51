/** Accounts in the ledger: their limit, and turns between accounts before turns between tokens. */
import assert from 'node:assert/strict';
import { Ledger, type Entry, type SlotLimits } from '../../src/service/controller/leader/ledger.ts';

const entry = (key: string, token: number, account: number, pool = 'short'): Entry => ({ key, token, account, pool });
const any = () => true;
const drain = (ledger: Ledger<Entry>, pool = 'short'): string[] => {
  const out: string[] = [];
  for (let next = ledger.take(pool, any); next; next = ledger.take(pool, any)) out.push(next.key);
  return out;
};
const WIDE: SlotLimits = { token: 100, account: 100 };

describe('ledger: accounts', () => {
  it('takes turns between accounts, regardless of the number of their tokens', () => {
    const ledger = new Ledger<Entry>();
    for (let i = 0; i < 6; i++) ledger.enqueue(entry(`a${i}`, 10 + i, 1), WIDE);
    for (let i = 0; i < 3; i++) ledger.enqueue(entry(`b${i}`, 20, 2), WIDE);
    assert.deepEqual(drain(ledger), ['a0', 'b0', 'a1', 'b1', 'a2', 'b2', 'a3', 'a4', 'a5']);
  });

  it('takes turns between the tokens of an account, and runs each first in, first out', () => {
    const ledger = new Ledger<Entry>();
    for (const key of ['a1', 'a2', 'a3']) ledger.enqueue(entry(key, 1, 9), WIDE);
    for (const key of ['b1', 'b2']) ledger.enqueue(entry(key, 2, 9), WIDE);
    assert.deepEqual(drain(ledger), ['a1', 'b1', 'a2', 'b2', 'a3']);
  });

  it('no account runs more than its limit, over all tokens and pools', () => {
    const ledger = new Ledger<Entry>();
    const limits = { token: 2, account: 3 };
    for (let i = 0; i < 4; i++) {
      ledger.enqueue(entry(`s${i}`, i, 1), limits);
      ledger.enqueue(entry(`l${i}`, i, 1, 'long'), limits);
    }
    assert.deepEqual([...drain(ledger), ...drain(ledger, 'long')], ['s0', 's1', 's2']);
    ledger.remove('s1');
    assert.deepEqual(drain(ledger, 'long'), ['l0']);
    assert.equal(ledger.account(1).held, 3);
  });

  it('takes turns between the pools of an account, the last used one last', () => {
    const ledger = new Ledger<Entry>();
    const pools = ['a', 'b', 'c'];
    for (const pool of pools)
      for (let i = 0; i < 2; i++) ledger.enqueue(entry(`${pool}${i}`, 1, 1, pool), { token: 1, account: 1 });
    const order: string[] = [];
    for (let i = 0; i < 6; i++) {
      const taken = ledger
        .poolsByTurn(1, pools)
        .map((pool) => ledger.take(pool, any))
        .find((one) => one !== undefined)!;
      order.push(taken.key);
      ledger.remove(taken.key);
    }
    assert.deepEqual(order, ['a0', 'b0', 'c0', 'a1', 'b1', 'c1']);
    assert.deepEqual(ledger.poolsByTurn(9, pools), pools, 'of an account without jobs: as they stand');
  });

  it('an account at its limit does not delay another, and has its turn when a slot is free', () => {
    const ledger = new Ledger<Entry>();
    for (let i = 0; i < 3; i++) ledger.enqueue(entry(`a${i}`, i, 1), { token: 5, account: 1 });
    ledger.enqueue(entry('b', 9, 2), WIDE);
    assert.deepEqual(drain(ledger), ['a0', 'b']);
    ledger.remove('a0');
    assert.deepEqual(drain(ledger), ['a1']);
  });

  it('an account without a limit is limited by its tokens alone', () => {
    const ledger = new Ledger<Entry>();
    for (let i = 0; i < 6; i++)
      ledger.enqueue(entry(`a${i}`, i % 2, 1), { token: 2, account: Number.POSITIVE_INFINITY });
    assert.equal(drain(ledger).length, 4);
  });

  it('a raised limit admits waiting jobs, and a lowered one takes no slot away', () => {
    const ledger = new Ledger<Entry>();
    for (let i = 0; i < 4; i++) ledger.enqueue(entry(`a${i}`, i, 1), { token: 5, account: 1 });
    assert.deepEqual(drain(ledger), ['a0']);
    ledger.setLimits(0, { token: 5, account: 3 });
    assert.deepEqual(drain(ledger), ['a1', 'a2']);
    ledger.setLimits(0, { token: 5, account: 2 });
    ledger.remove('a0');
    assert.deepEqual(drain(ledger), []);
    ledger.remove('a1');
    assert.deepEqual(drain(ledger), ['a3']);
  });

  it('a running job counts for its token and account before their limits are known', () => {
    const ledger = new Ledger<Entry>();
    ledger.hold(entry('r0', 1, 7));
    ledger.hold(entry('r1', 2, 7));
    ledger.hold(entry('r1', 2, 7), { token: 1, account: 2 });
    ledger.enqueue(entry('same token', 1, 7), { token: 1, account: 9 });
    ledger.enqueue(entry('same account', 3, 7), { token: 1, account: 2 });
    assert.deepEqual(
      [drain(ledger), ledger.token(1).held, ledger.token(2).held, ledger.account(7).held],
      [[], 1, 1, 2],
    );
    ledger.remove('r0');
    assert.equal(drain(ledger).length, 1);
  });

  it('nextUp: of each account as many jobs as it has slots left, in turns between its tokens', () => {
    const ledger = new Ledger<Entry>();
    for (let i = 0; i < 4; i++) {
      ledger.enqueue(entry(`a${i}`, 1, 1), { token: 3, account: 3 });
      ledger.enqueue(entry(`b${i}`, 2, 1), { token: 3, account: 3 });
    }
    ledger.enqueue(entry('c', 3, 2), WIDE);
    assert.deepEqual([...ledger.nextUp('short')].map(({ key }) => key).toSorted(), ['a0', 'a1', 'b0', 'c']);
  });

  it('wouldRun: false above the limit of the account, and behind other jobs of the token', () => {
    const ledger = new Ledger<Entry>();
    const next = { token: 1, account: 1, pool: 'short' };
    assert.equal(ledger.wouldRun(next, { token: 1, account: 1 }), true);
    ledger.hold(entry('r', 2, 1));
    assert.equal(ledger.wouldRun(next, { token: 1, account: 1 }), false);
    ledger.enqueue(entry('w', 1, 1), { token: 5, account: 5 });
    assert.equal(ledger.wouldRun(next, { token: 5, account: 5 }), false);
  });
});

describe('ledger: random operations against a naive model', function () {
  this.timeout(60_000);
  const ACCOUNTS = 4;
  const TOKENS = 12;
  const POOLS = ['short', 'long'];
  for (const first of [1, 7, 23, 99, 1234]) {
    it(`never above a limit, never idle while a job may run, no job skipped for long (seed ${first})`, () => {
      let seed = first;
      const random = (below: number) => ((seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) >>> 12) % below;
      const ledger = new Ledger<Entry>();
      const accountOf = (token: number) => token % ACCOUNTS;
      const tokenLimits = Array.from({ length: TOKENS }, () => 1 + random(4));
      const accountLimits = Array.from({ length: ACCOUNTS }, () => 1 + random(6));
      let waiting: Entry[] = [];
      let held: Entry[] = [];
      /** How many jobs of other tokens were taken in a pool since a token's oldest job there could have run. */
      const passedOver = new Map<string, number>();
      const count = (jobs: Entry[], of: Partial<Entry>) =>
        jobs.filter(
          (job) =>
            (of.token === undefined || job.token === of.token) &&
            (of.account === undefined || job.account === of.account),
        ).length;
      const mayRun = ({ token, account }: Entry) =>
        count(held, { token }) < tokenLimits[token]! && count(held, { account }) < accountLimits[account]!;
      const limitsOf = (token: number) => ({ token: tokenLimits[token]!, account: accountLimits[accountOf(token)]! });
      for (let i = 0; i < 800; i++) {
        const pool = POOLS[random(2)]!;
        const what = random(10);
        if (what < 4) {
          const token = random(TOKENS);
          const job = entry(`j${i}`, token, accountOf(token), pool);
          ledger.enqueue(job, limitsOf(token));
          waiting.push(job);
        } else if (what < 8) {
          const runnable = waiting.filter((job) => job.pool === pool && mayRun(job));
          const next = ledger.take(pool, any);
          assert.equal(
            next === undefined,
            runnable.length === 0,
            'refused although it may run, or let in although none may',
          );
          if (next) {
            assert.ok(mayRun(next), `${next.key}: above a limit`);
            assert.equal(
              next,
              waiting.find((job) => job.pool === pool && job.token === next.token),
              'first in, first out within a token',
            );
            waiting = waiting.filter((job) => job !== next);
            held.push(next);
            const still = new Set(runnable.filter((job) => job.token !== next.token).map(({ token }) => token));
            for (let token = 0; token < TOKENS; token++) {
              const key = `${pool} ${token}`;
              // A token at its limit leaves the rotation and comes back at its end, so its count starts again.
              passedOver.set(
                key,
                still.has(token) && waiting.some((job) => job.token === token && mayRun(job))
                  ? (passedOver.get(key) ?? 0) + 1
                  : 0,
              );
              assert.ok(passedOver.get(key)! <= ACCOUNTS * TOKENS, `token ${token} starves in ${pool}`);
            }
          }
        } else if (what === 8) {
          const jobs = random(3) === 0 ? waiting : held;
          const victim = jobs[random(Math.max(1, jobs.length))];
          if (!victim) continue;
          ledger.remove(victim.key);
          waiting = waiting.filter((job) => job !== victim);
          held = held.filter((job) => job !== victim);
        } else {
          const token = random(TOKENS);
          tokenLimits[token] = 1 + random(4);
          accountLimits[accountOf(token)] = 1 + random(6);
          // As in the leader: sets the limits of every token of the account.
          for (let other = 0; other < TOKENS; other++)
            if (accountOf(other) === accountOf(token)) ledger.setLimits(other, limitsOf(other));
        }
        assert.deepEqual([ledger.waiting, ledger.held], [waiting.length, held.length]);
        for (let account = 0; account < ACCOUNTS; account++) {
          assert.deepEqual(
            [ledger.account(account).held, ledger.account(account).waiting],
            [count(held, { account }), count(waiting, { account })],
          );
        }
      }
    });
  }
});
