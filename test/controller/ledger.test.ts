import assert from 'node:assert/strict';
import { Ledger, MOST_PASSING, type Entry, type SlotLimits } from '../../src/service/controller/leader/ledger.ts';

/** Each token is an account of its own. */
const entry = (key: string, token: number, pool = 'short'): Entry => ({ key, token, account: token, pool });
const slots = (token: number): SlotLimits => ({ token, account: Number.POSITIVE_INFINITY });
const any = () => true;
const drain = (ledger: Ledger<Entry>, pool = 'short', most = 1000): string[] => {
  const out: string[] = [];
  while (out.length < most) {
    const next = ledger.take(pool, any);
    if (!next) break;
    out.push(next.key);
  }
  return out;
};

describe('ledger', () => {
  it('runs the jobs of a token first in, first out', () => {
    const ledger = new Ledger<Entry>();
    for (const key of ['a', 'b', 'c']) ledger.enqueue(entry(key, 1), slots(10));
    assert.deepEqual(drain(ledger), ['a', 'b', 'c']);
  });

  it('takes turns between tokens, regardless of the length of their queues', () => {
    const ledger = new Ledger<Entry>();
    for (const key of ['a1', 'a2', 'a3', 'a4']) ledger.enqueue(entry(key, 1), slots(10));
    ledger.enqueue(entry('b1', 2), slots(10));
    ledger.enqueue(entry('c1', 3), slots(10));
    ledger.enqueue(entry('b2', 2), slots(10));
    assert.deepEqual(drain(ledger), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('never lets a token hold more than its limit, over all pools', () => {
    const ledger = new Ledger<Entry>();
    for (let i = 0; i < 6; i++) ledger.enqueue(entry(`s${i}`, 1), slots(3));
    for (let i = 0; i < 6; i++) ledger.enqueue(entry(`l${i}`, 1, 'long'), slots(3));
    assert.equal(drain(ledger).length + drain(ledger, 'long').length, 3);
    ledger.remove('s0');
    assert.deepEqual(drain(ledger, 'long'), ['l0']);
    assert.equal(ledger.token(1).held, 3);
  });

  it('skips a token at its limit and a queue head that no runner fits', () => {
    const ledger = new Ledger<Entry>();
    ledger.enqueue(entry('full', 1), slots(0));
    ledger.enqueue(entry('unfit', 2), slots(10));
    ledger.enqueue(entry('good', 3), slots(10));
    assert.equal(ledger.take('short', ({ key }) => key !== 'unfit')?.key, 'good');
    assert.equal(
      ledger.take('short', ({ key }) => key !== 'unfit'),
      undefined,
    );
    assert.equal(ledger.take('short', any)?.key, 'unfit');
  });

  it('a long validation at the head does not delay a probe', () => {
    const ledger = new Ledger<Entry>();
    ledger.enqueue(entry('validate', 1, 'long'), slots(10));
    ledger.enqueue(entry('probe', 1), slots(10));
    assert.deepEqual(drain(ledger), ['probe']);
    assert.equal(ledger.isWaiting('validate'), true);
  });

  it('removes a waiting or running job, and never holds a job twice', () => {
    const ledger = new Ledger<Entry>();
    ledger.enqueue(entry('a', 1), slots(2));
    ledger.enqueue(entry('a', 1), slots(2));
    ledger.enqueue(entry('b', 1), slots(2));
    ledger.remove('a');
    ledger.remove('a');
    assert.equal(ledger.waiting, 1);
    assert.deepEqual(drain(ledger), ['b']);
    ledger.enqueue(entry('b', 1), slots(2));
    assert.equal(ledger.waiting, 0);
    ledger.remove('b');
    ledger.remove('b');
    assert.equal(ledger.held, 0);
    assert.equal(ledger.token(1).held, 0);
  });

  it('counts the jobs that a new leader finds running, even above a lowered limit', () => {
    const ledger = new Ledger<Entry>();
    for (let i = 0; i < 4; i++) ledger.hold(entry(`r${i}`, 1), slots(2));
    ledger.enqueue(entry('w', 1), slots(2));
    assert.equal(ledger.take('short', any), undefined);
    for (const key of ['r0', 'r1']) ledger.remove(key);
    assert.equal(ledger.take('short', any), undefined);
    ledger.remove('r2');
    assert.equal(ledger.take('short', any)?.key, 'w');
  });

  it('keeps its invariants under 4,000 random operations', () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    const ledger = new Ledger<Entry>();
    const limits = [1, 2, 3, 10];
    const waiting = new Map<string, number>();
    const held = new Map<string, number>();
    const order = new Map<number, string[]>();
    for (let i = 0; i < 4_000; i++) {
      const token = random(4);
      const key = `j${i}`;
      switch (random(4)) {
        case 0:
        case 1:
          ledger.enqueue(entry(key, token), slots(limits[token]!));
          waiting.set(key, token);
          order.set(token, [...(order.get(token) ?? []), key]);
          break;
        case 2: {
          const next = ledger.take('short', any);
          if (next) {
            assert.equal(order.get(next.token)?.shift(), next.key, 'first in, first out');
            waiting.delete(next.key);
            held.set(next.key, next.token);
            const count = [...held.values()].filter((other) => other === next.token).length;
            assert.ok(count <= limits[next.token]!, 'above the limit');
          } else {
            for (const [, other] of waiting)
              assert.ok(
                [...held.values()].filter((t) => t === other).length >= limits[other]!,
                'refused although there was room',
              );
          }
          break;
        }
        default: {
          const pool = random(2) === 0 ? waiting : held;
          const victim = [...pool.keys()][random(Math.max(1, pool.size))];
          if (!victim) break;
          const owner = pool.get(victim)!;
          ledger.remove(victim);
          pool.delete(victim);
          order.set(
            owner,
            (order.get(owner) ?? []).filter((other) => other !== victim),
          );
        }
      }
      assert.equal(ledger.waiting, waiting.size);
      assert.equal(ledger.held, held.size);
    }
  });

  it('nextUp: of each token as many jobs as it has slots left, and none of another pool', () => {
    const ledger = new Ledger<Entry>();
    for (let i = 0; i < 1000; i++) ledger.enqueue(entry(`a${i}`, 1), slots(3));
    for (const key of ['b0', 'b1']) ledger.enqueue(entry(key, 2), slots(10));
    ledger.enqueue(entry('long', 2, 'long'), slots(10));
    ledger.take('short', any);
    ledger.remove('a1');
    assert.deepEqual([...ledger.nextUp('short')].map(({ key }) => key).sort(), ['a2', 'a3', 'b0', 'b1']);
    drain(ledger);
    assert.deepEqual([...ledger.nextUp('short')], []);
  });
});

describe('ledger: jobs in the background', () => {
  const behind = (key: string, token: number, pool = 'short'): Entry => ({
    ...entry(key, token, pool),
    background: true,
  });
  const of = (jobs: Entry[]): Ledger<Entry> => {
    const ledger = new Ledger<Entry>();
    for (const job of jobs) ledger.enqueue(job, slots(100));
    return ledger;
  };
  const some = (count: number, make: (n: number) => Entry): Entry[] => Array.from({ length: count }, (_, n) => make(n));

  for (const [what, jobs, order] of [
    ['come after those of other accounts', [behind('b', 1), entry('a', 2)], ['a', 'b']],
    ['come after those of their own token', [behind('b', 1), entry('a', 1)], ['a', 'b']],
    ['take turns between accounts', [behind('b1', 1), behind('b2', 1), behind('c1', 2)], ['b1', 'c1', 'b2']],
    ['wait for no job of another pool', [entry('a', 2, 'long'), behind('b', 1)], ['b']],
  ] as const)
    it(what, () => assert.deepEqual(drain(of([...jobs])), order));

  it('have a turn after some that passed them, again and again', () => {
    const ledger = of([...some(5, (n) => behind(`b${n}`, 1)), ...some(50, (n) => entry(`a${n}`, 2 + (n % 7)))]);
    const order = drain(ledger, 'short', 3 * (MOST_PASSING + 1));
    const turns = order.flatMap((key, at) => (key.startsWith('b') ? [at] : []));
    assert.deepEqual(
      turns,
      [1, 2, 3].map((n) => n * (MOST_PASSING + 1) - 1),
    );
  });

  it('gain no turn from jobs that ran while they were not there', () => {
    const ledger = of(some(50, (n) => entry(`a${n}`, 2)));
    drain(ledger, 'short', 3 * MOST_PASSING);
    ledger.enqueue(behind('b', 1), slots(100));
    assert.equal(drain(ledger, 'short', MOST_PASSING).includes('b'), false);
  });

  it('run where no runner fits the others', () =>
    assert.equal(of([entry('a', 2), behind('b', 1)]).take('short', ({ key }) => key === 'b')?.key, 'b'));

  it('hold slots of their token, as all do', () => {
    const ledger = new Ledger<Entry>();
    for (const job of [behind('b1', 1), behind('b2', 1), entry('a1', 1), entry('a2', 1)]) ledger.enqueue(job, slots(3));
    assert.deepEqual(
      [...ledger.nextUp('short')].map(({ key }) => key),
      ['a1', 'a2', 'b1'],
    );
    assert.equal(ledger.waitingIn('short'), 4);
    assert.deepEqual(drain(ledger), ['a1', 'a2', 'b1']);
    ledger.remove('a1');
    assert.deepEqual(drain(ledger), ['b2']);
  });

  it('are not created as admitted while others wait', () => {
    const ledger = of([entry('a', 2)]);
    const { key: _, ...next } = behind('b', 1);
    assert.equal(ledger.wouldRun(next, slots(9)), false);
    assert.equal(ledger.wouldRun({ ...next, background: false }, slots(9)), true);
    drain(ledger);
    assert.equal(ledger.wouldRun(next, slots(9)), true);
  });

  it('are contenders for a runner to one another only', () => {
    const ledger = of([entry('a', 2), behind('b', 1)]);
    const heads = (background: boolean) => [...ledger.heads('short', background)].map(({ key }) => key).toSorted();
    assert.deepEqual([heads(true), heads(false)], [['a', 'b'], ['a']]);
  });
});
