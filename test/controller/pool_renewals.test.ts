/** Which runners begin another life in their pods, and which pods are ended instead. */
import assert from 'node:assert/strict';
import { RUNNER_PROTOCOL } from '../../src/platform/bus/messages.ts';
import { MAX_LIFE } from '../../src/platform/bus/runner_id.ts';
import {
  END_PAUSE_MS,
  endsInTurn,
  MAX_STARTING,
  MOST_LIVES,
  MOST_POD_MS,
  nodeOf,
  planPool,
  RENEW_HOPE_MS,
  type PoolView,
  type WhyEnded,
} from '../../src/service/controller/pools/plan.ts';
import type { Runner } from '../../src/service/controller/pools/runners.ts';
import { idleRunner } from './runner_fixture.ts';

const NOW = 100_000;
const runner = (more: Partial<Runner> = {}): Runner =>
  idleRunner(NOW, {
    tenant: 'a:1',
    account: 1,
    jobsDone: 1,
    createdAt: NOW - 10_000,
    scheduledAt: NOW - 10_000,
    readyAt: NOW - 9_000,
    idleSince: NOW - 100,
    ...more,
  });
const untouched = (more: Partial<Runner> = {}) => runner({ tenant: undefined, account: undefined, ...more });
const busy = { phase: 'running', task: { job: 'j', attempt: 1, doneBefore: 0, reserved: false } } as const;
const reuse = { scope: 'account', renew: 'process', maxJobs: 10, maxAgeSeconds: 60, idleSeconds: 30 } as const;
const spec = { serves: { kinds: ['file' as const] }, minReady: 0, maxPods: 2, reuse };
type Spec = PoolView['spec'];

const plan = (runners: Runner[], accounts: number[] = [], change: Partial<Spec> = {}, more: Partial<PoolView> = {}) => {
  const waiting = accounts.map((account) => ({ tenant: `a:${account}`, account, jobs: 1, waitMs: 0 }));
  const { create, end, renew } = planPool({
    spec: { ...spec, ...change },
    generation: 'g2',
    runners,
    unseen: 0,
    demand: { waiting, drainPerSecond: 0 },
    holdBack: false,
    now: NOW,
    ...more,
  });
  const why = (all: typeof end) => all.map((one) => one.why);
  return { create, end: why(end), renew: why(renew) };
};
const isWorn = (why: WhyEnded): boolean => why === 'used-up' || why === 'age';
const other = (): Runner => runner({ tenant: 'a:3', account: 3, ...busy });

describe('pool plan: renewals', () => {
  it('a runner whose place another tenant wants is renewed, and no pod is created', () =>
    assert.deepEqual(plan([runner(), other()], [2]), { create: 0, end: [], renew: ['evicted'] }));

  it('a pool that does not ask for it gets a new pod', () => {
    for (const change of [{ renew: 'pod' as const }, {}])
      assert.deepEqual(
        plan([runner(), other()], [2], {
          reuse: { scope: 'account', maxJobs: 10, maxAgeSeconds: 60, idleSeconds: 30, ...change },
        }),
        { create: 1, end: ['evicted'], renew: [] },
      );
    assert.deepEqual(plan([runner(), other()], [2], { reuse: undefined as never }).renew, []);
  });

  for (const [title, change, why] of [
    ['had a source with credentials', { tenant: 'x:job' }, 'used-up'],
    ['is of another generation', { generation: 'g1' }, 'evicted'],
    ['speaks another protocol', { protocol: RUNNER_PROTOCOL - 1 }, 'old-generation'],
    ['ran the jobs of one process in all lives', { jobsDone: 10, jobsBefore: 5, life: 3 }, 'evicted'],
    ['is too old, whatever its life', { podCreatedAt: NOW - 60_001, scheduledAt: NOW - 2_000, life: 3 }, 'evicted'],
    ['had its last life', { life: MAX_LIFE }, 'evicted'],
  ] as const)
    it(`a runner that ${title} is ended: ${why}`, () =>
      assert.deepEqual(plan([runner(change), other()], [2]), { create: 1, end: [why], renew: [] }));

  it('a runner that lacks a required wall is ended', () =>
    assert.deepEqual(plan([runner(), other()], [2], {}, { lacksWall: () => true }), {
      create: 1,
      end: ['evicted'],
      renew: [],
    }));

  it('a runner that drains is ended', () =>
    assert.deepEqual(plan([runner({ phase: 'draining' }), other()], [2]), { create: 1, end: ['drained'], renew: [] }));

  it('a runner of one job is renewed while the pool lacks runners, and ended otherwise', () => {
    const job = { scope: 'job', renew: 'process', maxJobs: 10, maxAgeSeconds: 60, idleSeconds: 30 } as const;
    const used = (): Runner => runner({ tenant: 'j:1' });
    assert.deepEqual(plan([used()], [], { minReady: 1, reuse: job }), { create: 0, end: [], renew: ['used-up'] });
    assert.deepEqual(plan([used(), untouched()], [], { minReady: 1, reuse: job }), {
      create: 0,
      end: ['used-up'],
      renew: [],
    });
    assert.deepEqual(plan([used(), used()], [], { minReady: 1, reuse: job }), {
      create: 0,
      end: ['used-up'],
      renew: ['used-up'],
    });
  });

  it('a runner that was idle for long is renewed if the pool lacks an untouched one', () => {
    const idle = (): Runner => runner({ idleSince: NOW - 31_000 });
    assert.deepEqual(plan([idle()], [], { minReady: 1 }), { create: 0, end: [], renew: ['idle'] });
    assert.deepEqual(plan([idle(), untouched()], [], { minReady: 1 }), { create: 0, end: ['idle'], renew: [] });
  });

  it('runners that nobody may use any more are ended although others wait', () => {
    const surplus = untouched({ idleSince: NOW - 61_000, createdAt: NOW - 40_000 });
    assert.deepEqual(plan([surplus]).end, ['surplus']);
    const shrunk = plan([runner(), runner(), runner()], [2], { maxPods: 1 });
    assert.deepEqual(shrunk, { create: 0, end: ['evicted', 'shrunk'], renew: [] }, 'one place is left, and it is held');
  });

  it('is not asked twice: a runner on its way counts as coming', () => {
    for (const coming of [
      runner({ renewing: true }),
      untouched({ life: 1, phase: 'starting', scheduledAt: NOW - RENEW_HOPE_MS + 1 }),
    ])
      assert.deepEqual(plan([coming, runner()], [2]), { create: 0, end: [], renew: [] });
    const late = untouched({ life: 1, phase: 'starting', scheduledAt: NOW - RENEW_HOPE_MS });
    assert.deepEqual(plan([late, runner()], [2]), { create: 0, end: [], renew: ['evicted'] });
  });

  it('a renewal does not hold back pods that are needed beside it, nor the other way round', () => {
    const starting = Array.from({ length: MAX_STARTING }, () =>
      untouched({ life: 1, phase: 'starting', scheduledAt: NOW }),
    );
    const { create } = plan(starting, [11, 12, 13, 14, 15, 16, 17, 18, 19], { maxPods: 100 });
    assert.equal(create, 3);
    assert.deepEqual(plan([runner(), other()], [2], {}, { holdBack: true }).renew, ['evicted']);
  });

  describe('a worn runner becomes a new process for its tenant, whatever the pool does between tenants', () => {
    const tooOld = { createdAt: NOW - 60_001 };
    for (const renew of ['pod', 'process'] as const)
      for (const [title, one, end, renewed] of [
        ['after its last job', runner({ jobsDone: 10 }), [], ['used-up']],
        ['too old', runner(tooOld), [], ['age']],
        ['too old, untouched', untouched(tooOld), ['age'], []],
        ['with credentials', runner({ tenant: 'x:job', jobsDone: 10 }), ['used-up'], []],
        ['of one job', runner({ tenant: 'j:job', jobsDone: 10 }), ['used-up'], []],
        ['of another generation', runner({ generation: 'g1', jobsDone: 10 }), ['used-up'], []],
        ['in its last life but one', runner({ life: MOST_LIVES - 1, jobsDone: 10 }), [], ['used-up']],
        ['in its last life', runner({ life: MOST_LIVES, jobsDone: 10 }), ['used-up'], []],
        ['in a pod of a day', runner({ podCreatedAt: NOW - MOST_POD_MS, jobsDone: 10 }), ['used-up'], []],
        ['in a pod of a day, whatever it says', runner({ podCreatedAt: NOW - MOST_POD_MS - 1 }), ['age'], []],
        ['of another protocol', runner({ protocol: RUNNER_PROTOCOL - 1, jobsDone: 10 }), ['old-generation'], []],
        ['that drains', runner({ phase: 'draining', jobsDone: 10 }), ['drained'], []],
        ['at work', runner({ ...busy, jobsDone: 10 }), [], []],
      ] as const)
        it(`${renew}, ${title}: ${renewed.length > 0 ? 'renewed' : end.length > 0 ? 'its pod ends' : 'stays'}`, () =>
          assert.deepEqual(plan([{ ...one }], [], { reuse: { ...reuse, renew } }), { create: 0, end, renew: renewed }));

    it('lacks a required wall: its pod ends', () =>
      assert.deepEqual(plan([runner({ jobsDone: 10 })], [], {}, { lacksWall: () => true }), {
        create: 0,
        end: ['used-up'],
        renew: [],
      }));
    it('its place is wanted by another tenant: its pod ends', () =>
      assert.deepEqual(plan([runner({ jobsDone: 10 }), other()], [2]), { create: 1, end: ['evicted'], renew: [] }));

    const restarts = runner({ renewing: true, keepsTenant: true });
    const restarted = { phase: 'starting', life: 1 } as const;
    for (const [title, one, create] of [
      ['it is asked', restarts, 0],
      ['its next process starts', runner({ ...restarted, scheduledAt: NOW - RENEW_HOPE_MS + 1 }), 0],
      ['its next process takes long', runner({ ...restarted, scheduledAt: NOW - RENEW_HOPE_MS }), 1],
    ] as const)
      it(`${title}: ${create} pods for a job of its tenant`, () =>
        assert.deepEqual(plan([{ ...one }], [1], { maxPods: 10 }), { create, end: [], renew: [] }));
    it('one after the other', () => {
      const worn = () => runner({ jobsDone: 10 });
      assert.deepEqual(plan([worn(), worn()]).renew, ['used-up']);
      assert.deepEqual(plan([{ ...restarts }, worn()]), { create: 0, end: [], renew: [] });
    });
    it('is neither an untouched one nor in place of one', () => {
      assert.equal(plan([restarts], [], { minReady: 1 }).create, 1);
      const kept = untouched({ idleSince: NOW - 61_000 });
      assert.deepEqual(plan([restarts, kept], [], { minReady: 1 }), { create: 0, end: [], renew: [] });
    });
  });

  it('invariants hold for random pools', () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    let [renewed, kept] = [0, 0];
    for (let turn = 0; turn < 3_000; turn++) {
      const runners = Array.from({ length: random(12) }, () => {
        const account = random(5);
        return runner({
          generation: random(5) === 0 ? 'g1' : 'g2',
          phase: (['idle', 'idle', 'idle', 'running', 'starting', 'draining'] as const)[random(6)]!,
          life: random(3) * (MOST_LIVES / 2),
          node: `n${random(3)}`,
          deleting: random(8) === 0,
          renewing: random(8) === 0,
          keepsTenant: random(2) === 0,
          ...(random(3) === 0 ? { tenant: undefined, account: undefined } : { tenant: `a:${account}`, account }),
          ...(random(9) === 0 ? { tenant: `x:${account}` } : {}),
          jobsDone: random(12),
          jobsBefore: random(3),
          createdAt: NOW - random(70_000),
          podCreatedAt: NOW - random(70_000),
          scheduledAt: NOW - random(20_000),
          idleSince: NOW - random(40_000),
        });
      });
      const maxPods = random(10);
      const given: PoolView = {
        spec: { ...spec, maxPods, minReady: random(5) },
        generation: 'g2',
        runners,
        unseen: random(3),
        demand: {
          waiting: [1, 2, 8, 9].map((account) => ({
            tenant: `a:${account}`,
            account,
            jobs: random(4),
            waitMs: random(3_000),
          })),
          drainPerSecond: random(4),
        },
        holdBack: random(5) === 0,
        now: NOW,
        endedOn: new Map([['n0', NOW - random(2 * END_PAUSE_MS)]]),
      };
      const { create, end, renew } = planPool(given);
      const inTurn = [...end, ...renew].filter(({ why }) => endsInTurn(why)).map((one) => nodeOf(one.runner));
      assert.equal(new Set(inTurn).size, inTurn.length, 'two unused runners of a node end at once');
      assert.ok(!inTurn.includes('n0') || NOW - given.endedOn!.get('n0')! >= END_PAUSE_MS, 'ended within the pause');
      const live = runners.filter(({ deleting }) => !deleting).length + given.unseen;
      assert.ok(create >= 0);
      assert.ok(create === 0 || live - end.length + create <= maxPods, 'over the maximum');
      const others = renew.filter(({ keepsTenant }) => !keepsTenant);
      assert.ok(others.length === 0 || live - end.length + create <= maxPods, 'renewed more than there is room for');
      const changed = [...end, ...renew].map((one) => one.runner);
      assert.equal(new Set(changed).size, changed.length, 'both ended and renewed');
      for (const one of renew) {
        const { tenant, life, phase, deleting, renewing, jobsDone, podCreatedAt, generation } = one.runner;
        assert.deepEqual([phase, deleting, renewing, generation], ['idle', false, false, 'g2']);
        assert.ok(tenant?.startsWith('a:'), 'renewed without a tenant, or after a source with credentials');
        if (one.keepsTenant) assert.ok(isWorn(one.why) && life < MOST_LIVES, one.why);
        else assert.ok(jobsDone < reuse.maxJobs && NOW - podCreatedAt <= 60_000);
      }
      renewed += others.length;
      kept += renew.length - others.length;
      // What is renewed for others here is ended with `pod`, and nothing else changes for the other runners.
      const without = planPool({ ...given, spec: { ...given.spec, reuse: { ...reuse, renew: 'pod' } } });
      assert.deepEqual(
        new Set([...without.end, ...without.renew].map((one) => one.runner)),
        new Set(changed),
        'renewal decides how a runner ends, never whether',
      );
      assert.ok(
        without.renew.every(({ keepsTenant }) => keepsTenant),
        'a tenant border is crossed',
      );
      // No pod ends because it is worn, if its tenant may go on in it.
      for (const { runner: one, why } of without.end)
        if (isWorn(why) && one.generation === 'g2' && one.tenant?.startsWith('a:'))
          assert.equal(one.life, MOST_LIVES, why);
    }
    assert.ok(renewed > 300 && kept > 20, `${renewed} renewals for others, ${kept} for the same tenant`);
  });
});
