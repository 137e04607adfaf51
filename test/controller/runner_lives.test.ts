/** The leader's view of a pod that goes from life to life. */
import assert from 'node:assert/strict';
import { watchedPod, lifeOfPod, lifePatch, ANNOTATION } from '../../src/service/controller/pools/pod.ts';
import { holderOf, runnerState, Runners } from '../../src/service/controller/pools/runners.ts';
import { runnerOwners } from '../../src/service/controller/leader/recover.ts';
import type { Pod } from '../../src/platform/kube/kinds.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import type { TokenRecord } from '../../src/platform/store/records.ts';
import { beat, facts } from './runner_fixture.ts';

const yes = () => true;
const choose = (runners: Runners, tenant: string) => runners.choose('short', tenant, yes, yes)?.uid;

/** A pod that has served `a:1`. */
function served(): Runners {
  const runners = new Runners();
  runners.pod(facts('p'), 0);
  runners.heartbeat(beat('p', { walls: { UserNamespace: true } }), 1);
  runners.reserve(runners.get('p')!, 'j', 1, 'a:1', 1);
  runners.confirm(runners.get('p')!, 'j', 1);
  runners.heartbeat(beat('p', { jobsDone: 1, tenant: 'a:1', walls: { UserNamespace: true } }), 2);
  return runners;
}
function renewed(): Runners {
  const runners = served();
  runners.renew('p', false);
  runners.pod(facts('p', { life: 1, version: '2' }), 10);
  return runners;
}

describe('lives of a runner pod', () => {
  it('a runner that is asked to renew gets no job, and holds no place of its account', () => {
    const runners = served();
    assert.equal(choose(runners, 'a:1'), 'p');
    assert.equal(runners.held('short', 1), 1);
    runners.renew('p', false);
    assert.equal(choose(runners, 'a:1'), undefined);
    assert.deepEqual([runners.held('short', 1), runners.bound('short')], [0, 0]);
    assert.deepEqual([holderOf(runners.get('p')!), runnerState(runners.get('p')!)], [undefined, 'starting']);
    assert.deepEqual(runners.heartbeat(beat('p', { jobsDone: 1, tenant: 'a:1' }), 3), { freed: false });
    assert.equal(choose(runners, 'a:1'), undefined, 'sent before the agent had the order');
  });

  it('its next life is another runner: untouched, and without a heartbeat not usable', () => {
    const runners = renewed();
    assert.equal(runners.get('p'), undefined);
    assert.equal([...runners.all()].length, 1);
    assert.equal(choose(runners, 'a:2'), undefined);
    assert.deepEqual(runners.heartbeat(beat('p_1', { jobsDone: 1 }), 11), { freed: true });
    assert.equal(runners.get('p_1')?.tenant, undefined);
    assert.equal(choose(runners, 'a:2'), 'p_1');
  });

  it('keeps what is true of the pod: its age, jobs and walls', () => {
    const { createdAt, jobsDone, walls, scheduledAt, podUid, life } = renewed().get('p_1')!;
    assert.deepEqual([createdAt, jobsDone, walls, podUid, life], [0, 1, { UserNamespace: true }, 'p', 1]);
    assert.equal(scheduledAt, 10, 'its start counts from the renewal');
  });

  it('a late heartbeat of a former life changes nothing', () => {
    const runners = renewed();
    runners.heartbeat(beat('p_1', { jobsDone: 1 }), 11);
    assert.deepEqual(runners.heartbeat(beat('p', { phase: 'running', job: 'j', attempt: 1, tenant: 'a:1' }), 12), {
      freed: false,
    });
    assert.deepEqual(
      [[...runners.all()].length, runners.get('p_1')?.tenant, choose(runners, 'a:2')],
      [1, undefined, 'p_1'],
    );
  });

  it('a heartbeat of a life that no leader began is ignored', () => {
    const runners = served();
    assert.deepEqual(runners.heartbeat(beat('p_1'), 3), { freed: false });
    assert.deepEqual(
      [[...runners.all()].length, runners.get('p_1'), choose(runners, 'a:2')],
      [1, undefined, undefined],
    );
  });

  it('an event of the watch that is older than the write is ignored', () => {
    const runners = renewed();
    assert.deepEqual(runners.pod(facts('p', { life: 0, version: '1' }), 12), {});
    assert.deepEqual([runners.get('p'), runners.get('p_1')?.version], [undefined, '2']);
  });

  it('the deletion of the pod ends its current life, and its job is lost', () => {
    const runners = renewed();
    runners.heartbeat(beat('p_1', { jobsDone: 1 }), 11);
    runners.reserve(runners.get('p_1')!, 'k', 1, 'a:2', 2);
    assert.deepEqual(runners.gone('p'), { lost: { job: 'k', attempt: 1, uid: 'p_1' } });
    assert.deepEqual([[...runners.all()].length, runners.ofPod('p'), runners.held('short', 2)], [0, undefined, 0]);
  });

  it('a life that ends with a job loses it', () => {
    const runners = served();
    runners.reserve(runners.get('p')!, 'k', 2, 'a:1', 1);
    assert.deepEqual(runners.pod(facts('p', { life: 1 }), 10), { lost: { job: 'k', attempt: 2, uid: 'p' } });
  });

  it('a process that does not come up is silent after the usual silence, and a first start later', () => {
    const silent = (runners: Runners, at: number) =>
      runners.silent(at, 1_000, () => 5_000, 9_000).map(({ uid }) => uid);
    assert.deepEqual([silent(renewed(), 1_010), silent(renewed(), 1_011)], [[], ['p_1']]);
    const first = new Runners();
    first.pod(facts('p'), 0);
    assert.deepEqual([silent(first, 5_000), silent(first, 5_001)], [[], ['p']]);
    const unplaced = new Runners();
    unplaced.pod(facts('p', { life: 2, node: undefined }), 0);
    assert.deepEqual(silent(unplaced, 1_001), ['p_2'], 'a pod that was renewed has had a node');
  });

  describe('that goes on with the same tenant', () => {
    const next = { life: 1, version: '2', tenant: 'a:1' } as const;
    const held = (runners: Runners) => [runners.held('short', 1), runners.bound('short')];

    it('holds its place all the time, and gets no job until its process is up', () => {
      const runners = served();
      runners.renew('p', true);
      assert.deepEqual([held(runners), choose(runners, 'a:1')], [[1, 1], undefined]);
      runners.pod(facts('p', next), 10);
      assert.deepEqual([held(runners), choose(runners, 'a:1')], [[1, 1], undefined]);
      assert.deepEqual(runners.heartbeat(beat('p_1', { jobsDone: 1 }), 11), { freed: true });
      assert.deepEqual([held(runners), choose(runners, 'a:2'), choose(runners, 'a:1')], [[1, 1], undefined, 'p_1']);
      runners.gone('p');
      assert.deepEqual(held(runners), [0, 0]);
    });
    it('is its own whatever its agent reports, under a new leader too', () => {
      const restarted = served();
      restarted.renew('p', true);
      for (const runners of [restarted, new Runners()]) {
        runners.pod(facts('p', next), 10);
        for (const tenant of ['a:2', 'x:1']) {
          runners.heartbeat(beat('p_1', { tenant }), 11);
          assert.deepEqual([runners.get('p_1')?.tenant, choose(runners, 'a:2')], ['a:1', undefined]);
        }
        assert.deepEqual([held(runners), choose(runners, 'a:1')], [[1, 1], 'p_1']);
      }
    });
    it('counts for the account of its latest job, where the tenant does not say which', () => {
      const runners = new Runners();
      runners.pod(facts('p'), 0);
      runners.heartbeat(beat('p'), 1);
      runners.reserve(runners.get('p')!, 'j', 1, 't:5', 1);
      runners.release('p', 'j', 2);
      runners.renew('p', true);
      runners.pod(facts('p', { ...next, tenant: 't:5' }), 10);
      assert.deepEqual(held(runners), [1, 1]);
    });
  });

  describe('under a new leader', () => {
    const job = (uid: string, token: number) =>
      ({ spec: {}, status: { runner: { pod: 'pod-p', uid }, admittedBy: { token } } }) as unknown as ProbeJob;
    const bound = (runners: Runners, jobs: ProbeJob[]) => {
      const owners = runnerOwners(runners);
      for (const one of jobs) owners.note(one);
      owners.bind(
        (id) => ({ id, rootUserId: id }) as TokenRecord,
        () => 'account',
      );
      return owners.tokens();
    };

    it('jobs of former lives do not bind the current one', () => {
      const runners = new Runners();
      runners.pod(facts('p', { life: 2 }), 0);
      assert.deepEqual(bound(runners, [job('p', 1), job('p_1', 2)]), []);
      runners.heartbeat(beat('p_2'), 1);
      assert.equal(runners.get('p_2')?.tenant, undefined);
    });

    it('a job of the current life does, whatever the agent reports', () => {
      const runners = new Runners();
      runners.pod(facts('p', { life: 2 }), 0);
      bound(runners, [job('p_1', 1), job('p_2', 2)]);
      runners.heartbeat(beat('p_2', { tenant: 'a:1' }), 1);
      assert.equal(runners.get('p_2')?.tenant, 'a:2');
    });

    it('so does a job of a life that the watch shows only afterwards', () => {
      const runners = new Runners();
      runners.pod(facts('p', { life: 1 }), 0);
      bound(runners, [job('p_1', 1), job('p_2', 2)]);
      runners.pod(facts('p', { life: 2 }), 5);
      runners.heartbeat(beat('p_2'), 6);
      assert.equal(runners.get('p_2')?.tenant, 'a:2');
    });
  });
});

describe('the life of a pod as the API server has it', () => {
  const pod = (life?: string): Pod =>
    ({
      metadata: {
        name: 'pod-p',
        uid: 'p',
        resourceVersion: '7',
        labels: { 'probeyard.dev/pool': 'short', 'probeyard.dev/generation': 'g1' },
        ...(life === undefined ? {} : { annotations: { [ANNOTATION.life]: life } }),
      },
      spec: { nodeName: 'n', hostUsers: false },
    }) as unknown as Pod;

  it('is read from the annotation', () => {
    assert.deepEqual([lifeOfPod(pod()), lifeOfPod(pod('0')), lifeOfPod(pod('12'))], [0, 0, 12]);
    assert.deepEqual(watchedPod(pod('3'), 0), {
      ...facts('p', { life: 3, version: '7', ageMs: 0 }),
      userNamespace: true,
      node: 'n',
      tenant: undefined,
    });
  });
  for (const tenant of [undefined, 'a:1'])
    it(`is written beside the uid, so that no other pod of this name is changed: of ${tenant ?? 'nobody'}`, () =>
      assert.deepEqual(lifePatch('p', 4, tenant), {
        metadata: { uid: 'p', annotations: { [ANNOTATION.life]: '4', [ANNOTATION.tenant]: tenant ?? null } },
      }));

  it('of a tenant that was noted is of that tenant, whatever its agent reports', () => {
    const runners = new Runners();
    runners.pod(facts('p'), 0);
    runners.pod(facts('p', { tenant: 'a:1', version: '2' }), 1);
    assert.deepEqual([runners.get('p')?.tenant, runners.get('p')?.noted], [undefined, 'a:1'], 'it binds nobody now');
    const next = new Runners();
    next.pod(facts('p', { tenant: 'a:1' }), 0);
    for (const claim of [{}, { tenant: 'a:2' }, { tenant: 'x:1' }]) {
      next.heartbeat(beat('p', claim), 1);
      assert.deepEqual([choose(next, 'a:2'), choose(next, 'a:1')], [undefined, 'p']);
    }
  });

  for (const [text, tenant] of [
    ['a:1', 'a:1'],
    ['t:23', 't:23'],
    ['any', 'any'],
    ...['', 'a:', 'a:1x', 'j:1', 'x:1', 'all'].map((bad) => [bad, 'x:'] as const),
  ] as const)
    it(`annotated with the tenant "${text}" is of ${tenant}`, () => {
      const one = pod('1');
      one.metadata.annotations![ANNOTATION.tenant] = text;
      assert.equal(watchedPod(one, 0).tenant, tenant);
    });

  it('is as old as the API server says, over all lives and leaders', () => {
    const one = pod('1');
    one.metadata.creationTimestamp = '2026-01-01T00:00:00Z';
    const runners = new Runners();
    runners.pod(watchedPod(one, Date.parse('2026-01-01T01:00:00Z')), 1_000);
    assert.equal(runners.get('p_1')?.podCreatedAt, 1_000 - 3_600_000);
    runners.pod(facts('p', { life: 2 }), 2_000);
    assert.equal(runners.get('p_2')?.podCreatedAt, 1_000 - 3_600_000);
  });

  it('of an annotation that nobody of us wrote is one that no agent has', () => {
    for (const text of ['x', '-1', '01', '1.0', '99999999']) {
      const runners = new Runners();
      runners.pod(watchedPod(pod(text), 0), 0);
      const [runner] = runners.all();
      assert.equal(runners.get('p'), undefined, text);
      runners.heartbeat(beat('p'), 1);
      assert.deepEqual([runner?.seenAt, choose(runners, 'a:1')], [undefined, undefined], text);
    }
  });
});
