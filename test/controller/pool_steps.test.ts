/** The steps of a pool's plan, each alone. */
import assert from 'node:assert/strict';
import * as steps from '../../src/service/controller/pools/plan.ts';
import { Draft, HEARD_MS, Shares, UNFIT_MS, type WhyEnded } from '../../src/service/controller/pools/plan.ts';
import type { Runner } from '../../src/service/controller/pools/runners.ts';
import { idleRunner } from './runner_fixture.ts';

const NOW = 100_000;
/** Idle for a second. */
const runner = (more: Partial<Runner> = {}): Runner => idleRunner(NOW - 1_000, { createdAt: NOW - 1_000, ...more });
const busy = { phase: 'running', task: { job: 'j', attempt: 1, doneBefore: 0, reserved: false } } as const;
const draining = { phase: 'draining', tenant: 'a' } as const;
const old = { generation: 'g1' } as const;
const longAgo = { idleSince: NOW - 61_000, createdAt: NOW - 61_000 } as const;
const minuteOld = { createdAt: NOW - 60_001, podCreatedAt: NOW - 60_001 } as const;
const later = { tenant: 'a', life: 2, jobsBefore: 9, scheduledAt: NOW - 1_000 } as const;

const spec = {
  serves: { kinds: ['file' as const] },
  minReady: 2,
  maxPods: 6,
  reuse: { scope: 'account' as const, maxJobs: 10, maxAgeSeconds: 60, idleSeconds: 10 },
};
type More = Partial<steps.PoolView>;
const draftOf = (runners: Runner[], more: More = {}): Draft =>
  new Draft({
    spec,
    generation: 'g2',
    runners,
    unseen: 0,
    demand: { waiting: [], drainPerSecond: 0 },
    holdBack: false,
    now: NOW,
    ...more,
  });
/** Each tenant is an account of its own, unless it is `tenant@account`. */
const waits = (waitMs: number, jobs: Record<string, number>): More => ({
  demand: {
    waiting: Object.entries(jobs).map(([tenant, count]) => ({
      tenant,
      account: tenant.split('@')[1] ?? tenant,
      jobs: count,
      waitMs,
    })),
    drainPerSecond: 0,
  },
});
const returning = { renewing: true, keepsTenant: true } as const;
/** What a step ends, as `tenant reason`, and what may go on as a new process, as `tenant renewed: reason`. */
const endedBy = (step: (draft: Draft) => void, runners: Runner[], more?: More): string[] => {
  const draft = draftOf(runners, more);
  step(draft);
  return [
    ...draft.end.map(({ runner: { tenant = '-' }, why }) => `${tenant} ${why}`),
    ...draft.worn.map(({ runner: { tenant = '-' }, why }) => `${tenant} renewed: ${why}`),
  ];
};
const onShares = (step: (draft: Draft, shares: Shares) => void) => (draft: Draft) => step(draft, new Shares(draft));
const renewing = { ...spec, reuse: { ...spec.reuse, renew: 'process' as const } };

type Row = readonly [name: string, runners: Runner[], ended: string[], more?: More];
const STEPS: Record<string, { step: (draft: Draft) => void; rows: Row[] }> = {
  endUnusable: {
    step: steps.endUnusable,
    rows: [
      ['a fresh runner stays', [runner(), runner({ tenant: 'a' })], []],
      ['after its only job', [runner({ tenant: 'x:1' }), runner({ tenant: 'j:1' })], ['x:1 used-up', 'j:1 used-up']],
      ['of another protocol', [runner({ protocol: 0 })], ['- old-generation']],
      ['after its last job', [runner({ tenant: 'a', jobsDone: 10 })], ['a renewed: used-up']],
      ['too old', [runner({ ...minuteOld, tenant: 'a' })], ['a renewed: age']],
      ['too old and untouched', [runner(minuteOld)], ['- age']],
      ['too old and unused for too long', [runner({ tenant: 'a', idleSince: 1, ...minuteOld })], ['a idle']],
      ['the jobs and age of lives before do not count', [runner({ ...later, ...minuteOld, jobsDone: 16 })], []],
      ['after the last job of its life', [runner({ ...later, jobsDone: 19 })], ['a renewed: used-up']],
      [
        'after its last job, of an old generation',
        [runner({ ...old, tenant: 'a', jobsDone: 10 }), runner({ ...old, ...minuteOld })],
        ['a used-up', '- age'],
      ],
      ['unused for too long', [runner({ tenant: 'a', idleSince: NOW - 10_001 })], ['a idle']],
      ['untouched for as long: it stays', [runner({ idleSince: NOW - 10_001 })], []],
      ['never a busy one', [runner({ ...busy, tenant: 'a', jobsDone: 10, ...minuteOld })], []],
      ['one that drains and has no job', [runner(draining), runner({ ...draining, task: busy.task })], ['a drained']],
      ['without its wall, not yet', [runner({ createdAt: NOW })], [], { lacksWall: () => true }],
      [
        'without its wall',
        [runner({ createdAt: NOW - UNFIT_MS - 1 })],
        ['- isolation'],
        { lacksWall: () => true, spec: { ...spec, reuse: { ...spec.reuse, maxAgeSeconds: 3_600 } } },
      ],
    ],
  },
  endOldGenerations: {
    step: steps.endOldGenerations,
    rows: [
      ['the last untouched ones stay', [runner(old), runner(old)], []],
      ['as many as the new one replaces', [runner(), runner(old), runner(old)], ['- old-generation']],
      ['one of a tenant, with an untouched one', [runner(), runner({ ...old, tenant: 'a' })], ['a old-generation']],
      ['one of a tenant stays without', [runner({ ...old, tenant: 'a' })], []],
      [
        'one whose agent is not up',
        [runner({ ...old, phase: 'starting', createdAt: NOW - HEARD_MS - 1 })],
        ['- old-generation'],
      ],
    ],
  },
  evictForNewTenants: {
    step: onShares(steps.evictForNewTenants),
    rows: [
      ['nobody waits', [runner({ tenant: 'a' })], []],
      ['there is room', [runner({ tenant: 'a' })], [], waits(0, { b: 1 })],
      ['the pool is full', sixOf('a'), ['a evicted'], waits(0, { b: 1 })],
      [
        'its runner is back in a moment',
        [...sixOf('b', 5), runner({ tenant: 'a', ...returning })],
        [],
        waits(0, { a: 1 }),
      ],
      ['its holder waits too: not yet', sixOf('a'), [], waits(0, { a: 1, b: 1 })],
      ['its holder waits too, after a fair wait', sixOf('a'), ['a evicted'], waits(1_000, { a: 1, b: 1 })],
      [
        'an account at its share loses its own',
        [...sixOf('a', 3), ...sixOf('b', 3)],
        ['a evicted'],
        waits(0, { 'x:1@a': 1 }),
      ],
    ],
  },
  evictForShares: {
    step: onShares(steps.evictForShares),
    rows: [
      ['not at once', [...sixOf('a', 5), busyOf('b')], [], waits(999, { b: 5 })],
      [
        'until who holds most holds one more',
        [...sixOf('a', 5), busyOf('b')],
        ['a evicted', 'a evicted', 'a evicted'],
        waits(1_000, { b: 5 }),
      ],
      ['who holds none takes none', sixOf('a'), [], waits(1_000, { b: 5 })],
    ],
  },
  evictForReserve: {
    step: onShares(steps.evictForReserve),
    rows: [
      ['used a moment ago', sixOf('a'), []],
      ['unused for a while', sixOf('a', 6, NOW - 2_001), ['a evicted', 'a evicted']],
      ['never the last one', ['a', 'b', 'c', 'd', 'e', 'f'].flatMap((one) => sixOf(one, 1, NOW - 2_001)), []],
    ],
  },
  shrink: {
    step: steps.shrink,
    rows: [
      ['a pool at its maximum', sixOf('a'), []],
      ['the longest idle first', [...sixOf('a'), runner({ tenant: 'b', idleSince: 1 })], ['b shrunk']],
      ['no busy one', Array.from({ length: 8 }, () => busyOf('a')), []],
    ],
  },
  endSurplus: {
    step: (draft) => steps.endSurplus(draft, 1),
    rows: [
      ['for less than a minute', [runner(), runner()], []],
      ['for a minute', [runner(longAgo), runner(longAgo)], ['- surplus']],
      ['none of a tenant', [runner({ ...longAgo, tenant: 'a' }), runner()], []],
    ],
  },
  endOldestOfFullPool: {
    step: steps.endOldestOfFullPool,
    rows: [
      ['there is room', [runner({ ...old, tenant: 'a' })], []],
      ['full of the new generation', sixOf('a'), []],
      [
        'full of an old generation',
        [
          ...Array.from({ length: 5 }, () => runner({ ...old, tenant: 'a' })),
          runner({ ...old, tenant: 'b', idleSince: 1 }),
        ],
        ['b old-generation'],
      ],
    ],
  },
};

function sixOf(tenant: string, count = 6, idleSince = NOW - 1_000): Runner[] {
  return Array.from({ length: count }, () => runner({ tenant, idleSince }));
}
function busyOf(tenant: string): Runner {
  return runner({ ...busy, tenant });
}

for (const [name, { step, rows }] of Object.entries(STEPS))
  describe(`pool plan, ${name}`, () => {
    for (const [title, runners, ended, more] of rows)
      it(title, () => assert.deepEqual(endedBy(step, runners, more), ended));
  });

describe('pool plan, podsWanted', () => {
  for (const [title, runners, more, wanted] of [
    ['for each job of the only account, without the reserve', [], waits(0, { a: 30 }), 4],
    ['up to its share where an account with fewer waits', [], waits(0, { a: 30, b: 1 }), 4],
    ['one at least for an account without a runner', sixOf('a'), waits(0, { b: 3 }), 1],
    ['none for an account at its share', sixOf('a', 3), waits(0, { a: 3, b: 1 }), 1],
    ['none for a job whose runner is back in a moment', [runner({ tenant: 'a', ...returning })], waits(0, { a: 1 }), 0],
    ['for the other jobs of its account', [runner({ tenant: 'a', ...returning })], waits(0, { a: 3 }), 2],
    ['for one job less where one is open to all', [runner({ tenant: 'any', ...returning })], waits(0, { a: 2 }), 1],
  ] as const)
    it(title, () => {
      const draft = draftOf([...runners], more);
      assert.equal(steps.podsWanted(draft, new Shares(draft)), wanted);
    });
});

describe('pool plan, mayRenew', () => {
  for (const [title, more, why, may] of [
    ['one that is evicted', {}, 'evicted', true],
    ['one that is too old', {}, 'age', false],
    ['one without a tenant', { tenant: undefined }, 'idle', false],
    ['one that had credentials', { tenant: 'x:1' }, 'used-up', false],
    ['one of an old generation', old, 'idle', false],
    ['one after its last job', { jobsDone: 10 }, 'idle', false],
    ['one whose pod is too old', minuteOld, 'idle', false],
  ] as readonly [string, Partial<Runner>, WhyEnded, boolean][])
    it(`${title}: ${may ? 'yes' : 'no'}`, () =>
      assert.equal(
        steps.mayRenew(draftOf([], { spec: renewing }), { runner: runner({ tenant: 'a', ...more }), why }),
        may,
      ));
  it('only in a pool that renews', () =>
    assert.equal(steps.mayRenew(draftOf([]), { runner: runner({ tenant: 'a' }), why: 'evicted' }), false));
});

describe('runners that were made at once', () => {
  const DAY_MS = steps.MOST_POD_MS;
  const made = (more: Partial<Runner>): Runner[] =>
    Array.from({ length: 100 }, (_, index) =>
      runner({ pod: `runner-short-${(index * 604_661).toString(36)}`, ...more }),
    );
  const wornOf = (runners: Runner[], now = NOW): number =>
    runners.filter((one) => steps.whyWorn({ spec: { ...spec, reuse: { ...spec.reuse, maxJobs: 100 } }, now }, one))
      .length;
  const bornAt = (at: number) => ({ tenant: 'a', createdAt: at, podCreatedAt: at });
  const young = { ...bornAt(NOW), life: 3, scheduledAt: NOW };

  for (const [what, from, to, worn] of [
    ['maxJobs', 79, 100, (jobs: number) => wornOf(made({ ...young, jobsDone: jobs, jobsBefore: 0 }))],
    ['maxAgeSeconds', 48_000, 60_001, (ms: number) => wornOf(made(bornAt(NOW - ms)))],
    ['the age of a pod', DAY_MS * 0.8, DAY_MS + 1, (ms: number) => wornOf(made({ ...young, podCreatedAt: NOW - ms }))],
  ] as const)
    it(`are worn one after the other, from 80 % of ${what}`, () => {
      const counts = Array.from({ length: 21 }, (_, index) => worn(Math.floor(from + ((to - from) * index) / 20)));
      assert.deepEqual([counts[0], counts.at(-1)], [0, 100]);
      for (const [index, many] of counts.slice(1).entries())
        assert.ok(many - counts[index]! >= 0 && many - counts[index]! <= 15, `${what}: ${counts.join(' ')}`);
    });

  it('begin no other life that would be worn at once', () => {
    for (const one of made({ ...young, jobsDone: 100, podCreatedAt: NOW - DAY_MS * 0.9 }))
      if (steps.mayRestart({ generation: 'g2', now: NOW }, one))
        assert.equal(steps.whyWorn({ spec, now: NOW }, { ...one, jobsBefore: 100 }), undefined);
  });
});
