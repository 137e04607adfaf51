import assert from 'node:assert/strict';
import {
  END_PAUSE_MS,
  HEARD_MS,
  MAX_GROWING,
  MAX_STARTING,
  START_HOPE_MS,
  UNFIT_MS,
  planPool,
  type Demand,
  type PoolView,
} from '../../src/service/controller/pools/plan.ts';
import { RUNNER_PROTOCOL } from '../../src/platform/bus/messages.ts';
import type { Runner } from '../../src/service/controller/pools/runners.ts';
import { tenantOf } from '../../src/service/controller/pools/share.ts';
import { idleRunner } from './runner_fixture.ts';

const runner = (more: Partial<Runner> = {}): Runner => idleRunner(0, { scheduledAt: more.createdAt ?? 0, ...more });
const many = (count: number, more: Partial<Runner> = {}) => Array.from({ length: count }, () => runner(more));
const busy = { phase: 'running', task: { job: 'j', attempt: 1, doneBefore: 0, reserved: false } } as const;
const none: Demand = { waiting: [], drainPerSecond: 0 };
/** Jobs by tenant. A tenant `x:…@a` belongs to the account `a`; any other is an account of its own. */
const waiting = (jobs: Record<string, number>, waitMs = 0, drainPerSecond = 0): Demand => ({
  waiting: Object.entries(jobs).map(([tenant, count]) => ({
    tenant,
    account: tenant.split('@')[1] ?? tenant,
    jobs: count,
    waitMs,
  })),
  drainPerSecond,
});
const spec = {
  serves: { kinds: ['file' as const] },
  minReady: 2,
  maxPods: 5,
  reuse: { scope: 'account' as const, maxJobs: 10, maxAgeSeconds: 100, idleSeconds: 10 },
};

const plan = (runners: Runner[], demand = none, more: Partial<PoolView> = {}) => {
  const { create, end } = planPool({
    spec,
    generation: 'g2',
    runners,
    unseen: 0,
    demand,
    holdBack: false,
    now: 1000,
    ...more,
  });
  return { create, end: end.map(({ why }) => why), ended: end.map(({ runner: { tenant } }) => tenant) };
};

describe('pool plan', () => {
  it('fills an empty pool to its minimum', () => assert.equal(plan([]).create, 2));
  it('counts pods that the watch has not shown yet, and does not create them twice', () =>
    assert.equal(plan([], none, { unseen: 2 }).create, 0));
  it('counts starting runners', () => assert.equal(plan(many(2, { phase: 'starting' })).create, 0));
  it('does not count a bound runner as ready', () => assert.equal(plan(many(2, { tenant: 'a' })).create, 2));
  it('grows with demand, up to its maximum', () => {
    assert.equal(plan(many(2), waiting({ a: 3 })).create, 3);
    assert.equal(plan(many(4, busy), waiting({ a: 30 })).create, 1);
  });
  it('starts no more runners at once than a node can start', () => {
    assert.equal(plan([], waiting({ a: 50 }), { spec: { ...spec, maxPods: 100 } }).create, MAX_STARTING);
    assert.equal(plan([], waiting({ a: 50 }, 0, 5), { spec: { ...spec, maxPods: 100 } }).create, 15);
  });
  for (const [nodes, isGrowing, starts] of [
    [1, false, MAX_STARTING],
    [3, false, MAX_STARTING],
    [20, false, 40],
    [1, true, MAX_GROWING],
    [20, true, 20],
  ] as const)
    it(`runners on ${nodes} nodes: ${starts} start at once${isGrowing ? ' for accounts with runners' : ''}`, () => {
      const held = Array.from({ length: 40 }, (_, index) =>
        runner({ tenant: 'a', ...busy, node: `node-${index % nodes}` }),
      );
      const large = { spec: { ...spec, maxPods: 1_000 } };
      assert.equal(plan(held, waiting(isGrowing ? { a: 500 } : { a: 500, b: 1 }), large).create, starts);
    });
  it('starts few at once for accounts with runners, unless another account waits or many are bound', () => {
    const held = [runner({ tenant: 'a', ...busy })];
    const large = { spec: { ...spec, maxPods: 100 } };
    assert.equal(plan(held, waiting({ a: 50 }), large).create, MAX_GROWING);
    assert.equal(plan(held, waiting({ a: 50, b: 1 }), large).create, MAX_STARTING);
    assert.equal(plan(held, waiting({ a: 50 }, 0, 3), large).create, 9);
    const others = [...held, runner({ tenant: 'b' })];
    assert.equal(plan(others, waiting({ a: 50 }, 0, 3), large).create, MAX_GROWING, 'b pays for starts of a');
    assert.equal(plan(others, waiting({ a: 50, c: 1 }, 0, 3), large).create, 9);
    assert.equal(plan(held, none, { spec: { ...large.spec, minReady: 10 } }).create, MAX_STARTING);
  });

  describe('minReady 0', () => {
    const zero = { spec: { ...spec, minReady: 0 } };
    for (const [title, runners, demand, create, end] of [
      ['creates nothing without demand', [], none, 0, []],
      ['creates a runner for the first job', [], waiting({ a: 1 }), 1, []],
      [
        'creates none beside one that starts',
        many(1, { phase: 'starting', createdAt: 99_000 }),
        waiting({ a: 1 }),
        0,
        [],
      ],
      ['keeps none beside one at work', [runner({ tenant: 'a', ...busy })], none, 0, []],
      ['keeps a bound one for its idle time', [runner({ tenant: 'a', idleSince: 95_000 })], none, 0, []],
      ['ends a bound one after it', [runner({ tenant: 'a', createdAt: 50_000 })], none, 0, ['idle']],
      ['ends an unused one after a minute', [runner({ createdAt: 50_000 })], none, 0, ['surplus']],
    ] as const)
      it(title, () => {
        const result = plan([...runners], demand, { ...zero, now: 100_000 });
        assert.deepEqual([result.create, result.end], [create, end]);
      });
  });

  it('waits for a pod without a node instead of creating further ones', () => {
    const pending = many(2, { phase: 'starting', scheduledAt: undefined });
    assert.equal(plan(pending, waiting({ a: 2 }), { spec: { ...spec, minReady: 0 }, now: 300_000 }).create, 0);
    assert.equal(plan(pending, waiting({ a: 3 }), { spec: { ...spec, minReady: 0 }, now: 300_000 }).create, 1);
    const slow = many(2, { phase: 'starting', scheduledAt: 300_000 - START_HOPE_MS });
    const elsewhere = runner({ ...busy, tenant: 'b', node: 'node-1' });
    const more = { spec: { ...spec, minReady: 0 }, now: 300_000 };
    assert.equal(plan([...slow, elsewhere], waiting({ a: 2 }), more).create, 2);
    assert.equal(plan(slow, waiting({ a: 2 }), more).create, 1, 'they are slow on every node');
  });
  for (const [rounds, slow, create] of [
    [0, 0, MAX_STARTING],
    [1, 0, 3],
    [2, 0, 1],
    [9, 0, 1],
    [0, 2, 1],
    [0, 3, 0],
    [1, 1, 0],
  ] as const)
    it(`after ${rounds} failed rounds of starts, with ${slow} slow pods on every node, ${create} start`, () => {
      const more = { spec: { ...spec, maxPods: 100 }, failedStarts: { rounds, at: 0 }, now: 50_000 };
      assert.equal(plan(many(slow, { phase: 'starting' }), waiting({ a: 50 }), more).create, create);
    });

  it('stops creating while the quota is exceeded', () =>
    assert.equal(plan([], waiting({ a: 3 }), { holdBack: true }).create, 0));

  for (const [idleMs, end] of [
    [899_000, []],
    [901_000, ['idle']],
  ] as const)
    it(`a pool without \`reuse\` has the defaults of its resource: ${idleMs} ms idle`, () => {
      const { reuse: _, ...others } = spec;
      assert.deepEqual(plan([...many(2), runner({ tenant: 'a' })], none, { spec: others, now: idleMs }).end, end);
    });
  it('ends runners that are idle too long, too old or used up, and never a busy one', () => {
    assert.deepEqual(plan([...many(2), runner({ tenant: 'a' })], none, { now: 10_001 }).end, ['idle']);
    assert.deepEqual(plan(many(2), none, { now: 100_001 }).end, ['age', 'age']);
    assert.deepEqual(plan([...many(2), runner({ tenant: 'x:1' }), runner({ tenant: 'j:1' })]).end, [
      'used-up',
      'used-up',
    ]);
    assert.deepEqual(
      plan([...many(2), runner({ ...busy, tenant: 'x:1', jobsDone: 100 })], none, { now: 500_000 }).end.includes(
        'used-up',
      ),
      false,
    );
  });

  it('a runner of another protocol finishes its job and is replaced', () => {
    const other = { protocol: RUNNER_PROTOCOL - 1, generation: 'g1' };
    assert.deepEqual(plan(many(2, { ...other, ...busy, tenant: 'a' })), { create: 2, end: [], ended: [] });
    const idle = [runner(other), runner({ ...other, tenant: 'a' })];
    assert.deepEqual(plan(idle), {
      create: 2,
      end: ['old-generation', 'old-generation'],
      ended: [undefined, 'a'],
    });
  });

  it('a draining runner ends when its job is done and is replaced', () => {
    const drains = { phase: 'draining', tenant: 'a' } as const;
    assert.deepEqual(plan([...many(2), runner(drains)]).end, ['drained']);
    assert.deepEqual(plan([...many(2), runner({ ...drains, task: busy.task })]).end, []);
    assert.deepEqual(plan([...many(2), runner({ ...drains, deleting: true })]).end, []);
    const full = plan([...many(4, { ...busy, tenant: 'b' }), runner(drains)], waiting({ a: 1 }));
    assert.deepEqual([full.end, full.create], [['drained'], 1]);
  });
  it('an idle runner of the account with the most makes room for the reserve of a full pool', () => {
    const idle = (tenant: string) => runner({ tenant });
    for (const [title, runners, ended] of [
      ['no untouched one', [...many(3, { tenant: 'a' }), idle('b'), idle('c')], ['a', 'a']],
      ['one untouched', [...many(3, { tenant: 'a' }), idle('b'), runner()], ['a']],
      ['two untouched', [...many(3, { tenant: 'a' }), runner(), runner()], []],
      ['each account has one', ['a', 'b', 'c', 'd', 'e'].map(idle), []],
      ['used a second ago', [...many(3, { tenant: 'a', idleSince: 4_000 }), idle('b'), idle('c')], []],
      ['at work', [...many(3, { ...busy, tenant: 'a' }), idle('b'), idle('c')], []],
      ['room for two', many(3, { tenant: 'a' }), []],
    ] as const) {
      const result = plan([...runners], none, { now: 5_000 });
      assert.deepEqual(result.ended, ended, title);
    }
  });
  it('a tenant whose only runner is draining counts as a tenant without one', () => {
    const all = [
      runner({ phase: 'draining', tenant: 'a', task: busy.task }),
      ...many(3, { ...busy, tenant: 'b' }),
      runner({ tenant: 'b' }),
    ];
    const result = plan(all, waiting({ a: 1 }));
    assert.deepEqual([result.end, result.ended, result.create], [['evicted'], ['b'], 1]);
  });

  it('evicts the longest idle bound runner when a new tenant waits and the pool is full', () => {
    const all = [
      ...many(3, { ...busy, tenant: 'a' }),
      runner({ tenant: 'b', idleSince: 5 }),
      runner({ tenant: 'c', idleSince: 3 }),
    ];
    const result = plan(all, waiting({ d: 1 }));
    assert.deepEqual([result.end, result.ended, result.create], [['evicted'], ['c'], 1]);
  });
  it('does not wait for a starting pod past the time that a start takes', () => {
    const all = (createdAt: number) => [
      ...many(3, { ...busy, tenant: 'a', createdAt }),
      runner({ tenant: 'b', idleSince: 59_000, createdAt }),
      runner({ phase: 'starting', createdAt }),
    ];
    assert.deepEqual(plan(all(55_000), waiting({ d: 1 }), { now: 60_000 }).end, []);
    const result = plan(all(55_000 - START_HOPE_MS), waiting({ d: 1 }), { now: 60_000 });
    assert.deepEqual([result.end, result.ended, result.create], [['evicted'], ['b'], 1]);
  });
  it('evicts none while there is room or an untouched runner', () => {
    assert.deepEqual(plan([...many(3, { ...busy, tenant: 'a' }), runner({ tenant: 'b' })], waiting({ d: 1 })).end, []);
    assert.deepEqual(
      plan([...many(3, { ...busy, tenant: 'a' }), runner({ tenant: 'b' }), runner()], waiting({ d: 1 })).end,
      [],
    );
  });
  it('ends an idle runner that has lacked a required wall for a while', () => {
    const lacksWall = () => true;
    assert.deepEqual(
      plan(many(2), none, {
        now: UNFIT_MS,
        lacksWall,
        spec: { ...spec, reuse: { ...spec.reuse, maxAgeSeconds: 3600 } },
      }).end,
      [],
    );
    assert.deepEqual(
      plan(many(2), none, {
        now: UNFIT_MS + 1,
        lacksWall,
        spec: { ...spec, reuse: { ...spec.reuse, maxAgeSeconds: 3600 } },
      }).end,
      ['isolation', 'isolation'],
    );
  });
  it('a tenant with waiting jobs gives up a runner only after the fair wait', () => {
    const all = [...many(4, { ...busy, tenant: 'a' }), runner({ tenant: 'a' })];
    assert.deepEqual(plan(all, waiting({ a: 9, b: 1 }, 500)).end, []);
    assert.deepEqual(plan(all, waiting({ a: 9, b: 1 }, 1500)).end, ['evicted']);
  });
  it('a long wait of a tenant with runners does not give one to a new tenant', () => {
    const all = [...many(4, { ...busy, tenant: 'a' }), runner({ tenant: 'a' })];
    const [a, b] = [
      { tenant: 'a', account: 'a', jobs: 9, waitMs: 60_000 },
      { tenant: 'b', account: 'b', jobs: 1, waitMs: 10 },
    ];
    assert.deepEqual(plan(all, { ...none, waiting: [a, b] }).end, []);
    assert.deepEqual(plan(all, { ...none, waiting: [a, { ...b, waitMs: 1_500 }] }).end, ['evicted']);
  });

  describe('shares of accounts', () => {
    const large = { ...spec, minReady: 2, maxPods: 10 };
    const own = (account: number, count: number, more: Partial<Runner> = {}) =>
      many(count, { tenant: `a:${account}`, account, ...more });
    const one = (job: number, account: number, more: Partial<Runner> = {}) =>
      runner({ tenant: `x:${job}`, account, ...busy, ...more });
    const wants = (...jobs: [tenant: string, account: number, jobs: number][]): Demand => ({
      ...none,
      waiting: jobs.map(([tenant, account, count]) => ({ tenant, account, jobs: count, waitMs: 0 })),
    });
    const strange = (account: number, count: number): [string, number, number][] =>
      Array.from({ length: count }, (_, i) => [`x:new${i}`, account, 1]);
    const planned = (runners: Runner[], demand: Demand, more: object = {}) =>
      plan(runners, demand, { spec: large, ...more });

    it('tenants of one job each of an account at its share evict no runner of another account', () => {
      const full = [...Array.from({ length: 5 }, (_, i) => one(i, 1)), ...own(2, 1), ...own(3, 4)];
      assert.deepEqual(planned(full, wants(...strange(1, 8))).ended, []);
    });
    it('an account at its share has its own idle runners recycled', () => {
      const full = [...Array.from({ length: 4 }, (_, i) => one(i, 1)), ...own(1, 1, { idleSince: 900 }), ...own(2, 5)];
      assert.deepEqual(planned(full, wants(...strange(1, 8))).ended, ['a:1']);
    });
    it('an account below its share takes a runner from the account with the most', () => {
      const full = [...own(1, 2, { idleSince: 1 }), ...own(2, 6, { idleSince: 900 }), ...own(3, 2, busy)];
      assert.deepEqual(planned(full, wants(['a:4', 4, 1])).ended, ['a:2']);
    });
    it('the queue of an account at its share creates no runners while another account waits', () => {
      const half = [...own(1, 5, busy), ...many(2)];
      assert.equal(planned(half, wants(['a:1', 1, 50], ['a:2', 2, 1])).create, 1);
    });
    it('the queue of one account leaves room for untouched runners', () => {
      assert.equal(planned([...own(1, 8, busy), ...many(2)], wants(['a:1', 1, 50])).create, 0);
      assert.equal(planned([...own(1, 7, busy), ...many(2)], wants(['a:1', 1, 50])).create, 1);
    });
    describe('an account below its share, in a pool full of idle runners of others', () => {
      const full = (idleSince: number) => [
        ...own(1, 1, busy),
        ...own(2, 4, { idleSince }),
        ...own(3, 3, { idleSince }),
      ];
      const waited = (waitMs: number, jobs = 5): Demand => ({
        ...none,
        waiting: [{ tenant: 'a:1', account: 1, jobs, waitMs }],
      });
      it('gets some of them after the fair wait', () => {
        assert.deepEqual(planned([...full(900), ...many(2)], waited(900)).ended, []);
        assert.deepEqual(planned([...full(900), ...many(2)], waited(1_100)).ended, ['a:2', 'a:2']);
        assert.deepEqual(planned([...full(900), ...many(2)], waited(1_100, 1)).ended, ['a:2']);
      });
      it('gets a runner for each that was ended', () => {
        const after = [...own(1, 1, busy), ...own(2, 2, { idleSince: 900 }), ...own(3, 3, { idleSince: 900 })];
        assert.deepEqual(planned([...after, ...many(2)], waited(2_000)), { create: 2, end: [], ended: [] });
      });
      it('gets any that its holder has not used for five seconds', () => {
        const single = [2, 3, 4, 5, 6, 7, 8].flatMap((account) => own(account, 1, { idleSince: 900 }));
        const even = [...own(1, 1, busy), ...single, ...many(2)];
        assert.deepEqual(planned(even, waited(2_000), { now: 5_900 }).ended, []);
        assert.deepEqual(planned(even, waited(2_000), { now: 5_901 }).ended, ['a:2', 'a:3']);
      });
      it('gets none of an account that would hold fewer than it, or that waits, too', () => {
        const even = [...own(1, 3, busy), ...own(2, 4, { idleSince: 900 }), ...own(3, 1, busy), ...many(2)];
        assert.deepEqual(planned(even, waited(2_000)).ended, []);
        const both = waited(2_000);
        const demand = { ...both, waiting: [...both.waiting, { tenant: 'a:2', account: 2, jobs: 1, waitMs: 2_000 }] };
        assert.deepEqual(planned([...own(1, 1, busy), ...own(2, 7, { idleSince: 900 }), ...many(2)], demand).ended, []);
      });
    });
    it('an account at the reserve gets a runner of another account while it is below its share', () => {
      const bound = [...own(1, 2, busy), ...own(2, 6, { idleSince: 900 }), ...many(2)];
      assert.deepEqual(planned(bound, wants(['t:9', 1, 1])).ended, ['a:2']);
    });
  });

  it('rolls to a new generation with surge: old runners end when new ones are ready', () => {
    const old = many(2, { generation: 'g1' });
    assert.deepEqual(plan(old), { create: 2, end: [], ended: [] });
    assert.deepEqual(plan([...old, ...many(1)]).end, ['old-generation']);
    assert.deepEqual(plan([...old, ...many(2)]).end, ['old-generation', 'old-generation']);
    assert.deepEqual(plan([...many(2), runner({ ...busy, generation: 'g1' })]).end, []);
    const starts = [...many(2), runner({ phase: 'starting', generation: 'g1', createdAt: 1000 })];
    assert.deepEqual(
      plan(starts, none, { now: 1000 + HEARD_MS }).end,
      [],
      'a new leader has not heard of it yet: it may be at work',
    );
    assert.deepEqual(plan(starts, none, { now: 1001 + HEARD_MS }).end, ['old-generation']);
  });

  it('rolls a full pool: the longest idle old runner makes room for the first new one', () => {
    const old = { generation: 'g1', idleSince: 995 };
    const full = [...many(3, { ...old, tenant: 'a' }), runner({ ...old, tenant: 'b', idleSince: 994 }), runner(old)];
    assert.deepEqual(plan(full), { create: 1, end: ['old-generation'], ended: ['b'] });
    const starting = [...full.slice(0, 4), runner({ phase: 'starting', createdAt: 999 })];
    assert.deepEqual(plan(starting), { create: 0, end: [], ended: [] }, 'one at a time');
    assert.deepEqual(plan(many(5, { ...busy, generation: 'g1' })), { create: 0, end: [], ended: [] });
    assert.deepEqual(plan(many(5, { tenant: 'a', idleSince: 995 })).end, [], 'a full pool of the current generation');
  });

  it('shrinks to a lowered maximum, and after a burst', () => {
    assert.deepEqual(plan(many(7), none).end, ['shrunk', 'shrunk']);
    const nodes = ['n1', 'n2', 'n3', 'n4'].map((node) => runner({ node }));
    assert.deepEqual(plan(nodes, none, { now: 61_000 }).end, ['surplus', 'surplus']);
    assert.equal(plan(nodes, none, { now: 61_000 }).create, 0);
  });
  const on = (node: string) => runner({ node, createdAt: 50_000 });
  const unused = [on('n1'), on('n1'), on('n1'), on('n2')];
  for (const [title, tenant, endedOn, end] of [
    ['surplus, one on each node', undefined, [], ['surplus', 'surplus']],
    ['idle, one on each node', 'a', [], ['idle', 'idle']],
    ['none on a node within the pause', 'a', [['n1', 111_000 - END_PAUSE_MS + 1]], ['idle']],
    ['another one after the pause', 'a', [['n1', 111_000 - END_PAUSE_MS]], ['idle', 'idle']],
  ] as const)
    it(`ends runners that nobody uses in turn: ${title}`, () => {
      const runners = unused.map((one) => ({ ...one, tenant }));
      const more = { spec: { ...spec, minReady: 0 }, now: 111_000, endedOn: new Map(endedOn) };
      assert.deepEqual(plan(runners, none, more).end, end);
    });
  it('a place that another tenant wants is free at once, even within the pause', () => {
    const full = unused.map((one) => ({ ...one, tenant: 'a' }));
    const more = { spec: { ...spec, minReady: 0, maxPods: 4 }, now: 111_000 };
    const endedOn = new Map(['n1', 'n2'].map((node) => [node, 110_999]));
    assert.deepEqual(plan(full, waiting({ b: 1 }), { ...more, endedOn }).end, ['evicted']);
  });
  it('a pool with maxPods 0 creates and keeps none', () => {
    assert.deepEqual(plan(many(1), waiting({ a: 1 }), { spec: { ...spec, minReady: 0, maxPods: 0 } }), {
      create: 0,
      end: ['shrunk'],
      ended: [undefined],
    });
  });

  it('never plans more pods than the maximum, for random states', () => {
    let seed = 11;
    const random = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    for (let i = 0; i < 3000; i++) {
      const runners = Array.from({ length: random(12) }, () =>
        runner({
          phase: (['starting', 'idle', 'running', 'draining'] as const)[random(4)]!,
          generation: random(3) ? 'g2' : 'g1',
          deleting: random(6) === 0,
          ...(random(2) ? { tenant: `a:${random(4)}` } : {}),
          idleSince: random(100_000),
          jobsDone: random(12),
          createdAt: random(100_000),
        }),
      );
      const unseen = random(3);
      const maxPods = random(10);
      const { create, end } = planPool({
        spec: { ...spec, maxPods, minReady: random(5) },
        generation: 'g2',
        runners,
        unseen,
        holdBack: random(5) === 0,
        now: 100_000,
        demand: waiting({ 'a:1': random(5), 'a:9': random(5) }, random(3000), random(4)),
      });
      const live = runners.filter(({ deleting }) => !deleting).length + unseen;
      assert.ok(create >= 0);
      assert.ok(create === 0 || live - end.length + create <= maxPods, 'over the maximum');
      assert.equal(new Set(end.map(({ runner: ended }) => ended)).size, end.length, 'one pod ended twice');
      for (const { runner: ended } of end) assert.ok(ended.phase !== 'running' && !ended.deleting, 'ended a busy one');
    }
  });
});

describe('the work of a plan', () => {
  /** How often a plan reads a member of its runners and waiting tenants, of 4 runners for each account. */
  const reads = (accounts: number): number => {
    let count = 0;
    const counted = <T extends object>(object: T): T =>
      new Proxy(object, {
        get(target, key) {
          count++;
          return Reflect.get(target, key) as unknown;
        },
      });
    const runners = Array.from({ length: accounts * 4 }, (_, index) =>
      counted(runner({ ...busy, tenant: `a:${index % accounts}`, account: index % accounts })),
    );
    const tenants = Array.from({ length: accounts }, (_, index) =>
      counted({ tenant: `a:${index + accounts / 2}`, account: index + accounts / 2, jobs: 2, waitMs: 1_500 }),
    );
    const big = { ...spec, maxPods: accounts * 4 };
    plan(runners, { waiting: tenants, drainPerSecond: 9 }, { spec: big });
    return count;
  };

  it('grows with runners and waiting accounts, not with their product', () => {
    const [few, many4] = [reads(50), reads(200)];
    // Sorting the waiting accounts takes a little more than four times as much.
    assert.ok(many4 < few * 6, `${few} reads at 50 accounts, ${many4} at 200`);
  });
});

describe('tenant of a job', () => {
  const job = { id: 'r', token: 3, account: 7, credentials: false };
  for (const [scope, tenant] of [
    ['job', 'j:r'],
    ['token', 't:3'],
    ['account', 'a:7'],
    ['any', 'any'],
  ] as const) {
    it(`scope ${scope} is ${tenant}`, () => assert.equal(tenantOf(scope, job), tenant));
    it(`a source with credentials is a tenant of its own under ${scope}`, () =>
      assert.equal(tenantOf(scope, { ...job, credentials: true }), 'x:r'));
  }
});
