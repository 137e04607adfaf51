import assert from 'node:assert/strict';
import { RUNNER_PROTOCOL } from '../../src/platform/bus/messages.ts';
import { Runners, startedWithinMs, type Runner } from '../../src/service/controller/pools/runners.ts';
import { beat, facts } from './runner_fixture.ts';

const yes = () => true;
const choose = (runners: Runners, tenant: string, covers: (generation: string) => boolean = yes, mayBind = yes) =>
  runners.choose('short', tenant, covers, mayBind)?.uid;

function idle(...uids: string[]): Runners {
  const runners = new Runners();
  for (const uid of uids) {
    runners.pod(facts(uid), 0);
    runners.heartbeat(beat(uid), 1);
  }
  return runners;
}

describe('runners', () => {
  it('a running pod without a heartbeat gets no job', () => {
    const runners = new Runners();
    runners.pod(facts('a'), 0);
    assert.equal(choose(runners, 't'), undefined);
    assert.deepEqual(runners.heartbeat(beat('a'), 1), { freed: true });
    assert.equal(choose(runners, 't'), 'a');
  });

  it('a runner of another protocol gets no job', () => {
    const runners = new Runners();
    runners.pod(facts('a'), 0);
    assert.deepEqual(runners.heartbeat(beat('a', { protocol: RUNNER_PROTOCOL - 1 }), 1), { freed: false });
    assert.deepEqual([choose(runners, 't'), runners.hasFree('short')], [undefined, false]);
  });

  it('the heartbeat of a foreign pod is ignored', () => {
    const runners = new Runners();
    assert.deepEqual(runners.heartbeat(beat('stranger'), 1), { freed: false });
    assert.equal(choose(runners, 't'), undefined);
  });

  it('prefers the pod bound to the tenant, and never picks one bound to another', () => {
    const runners = idle('a', 'b');
    runners.reserve(runners.get('a')!, 'j1', 1, 'mine');
    runners.release('a', 'j1', 2);
    assert.equal(choose(runners, 'mine'), 'a');
    assert.equal(choose(runners, 'other'), 'b');
    runners.reserve(runners.get('b')!, 'j2', 1, 'other');
    assert.equal(choose(runners, 'third'), undefined);
  });

  it('a tenant at its share of pods gets no untouched one', () => {
    const runners = idle('a');
    assert.equal(
      choose(runners, 't', yes, () => false),
      undefined,
    );
  });

  it('a runner counts to the account whose job it was given, for as long as its pod lives', () => {
    const runners = idle('a', 'b');
    runners.reserve(runners.get('a')!, 'j1', 1, 'x:j1', 7);
    runners.reserve(runners.get('b')!, 'j2', 1, 'a:7', 7);
    assert.deepEqual([runners.held('short', 7), runners.bound('short')], [2, 2]);
    runners.release('b', 'j2', 2);
    assert.equal(runners.held('short', 7), 2, 'an idle runner is still bound to it');
    runners.retire('a');
    runners.gone('b');
    assert.deepEqual([runners.held('short', 7), runners.bound('short')], [0, 0]);
  });
  it('an idle runner shared by everybody counts to no account', () => {
    const runners = idle('a');
    runners.reserve(runners.get('a')!, 'j1', 1, 'any', 7);
    assert.equal(runners.held('short', 7), 1);
    runners.release('a', 'j1', 2);
    assert.deepEqual([runners.held('short', 7), runners.bound('short')], [0, 0]);
  });
  it('a runner that lacks a required wall gets no job; reporting its walls later is a change', () => {
    const runners = idle('a');
    const isFit = ({ walls }: Runner) => walls?.UserNamespace === true;
    const fit = () => runners.choose('short', 't', yes, yes, isFit)?.uid;
    assert.equal(fit(), undefined);
    assert.deepEqual(runners.heartbeat(beat('a', { walls: { UserNamespace: true } }), 2), { freed: true });
    assert.deepEqual(runners.heartbeat(beat('a', { walls: { UserNamespace: true } }), 3), { freed: false });
    assert.equal(fit(), 'a');
  });

  it('a job goes only to a generation that has its tools', () => {
    const runners = idle('a');
    runners.pod(facts('b', { generation: 'g2' }), 0);
    runners.heartbeat(beat('b', { generation: 'g2' }), 1);
    assert.equal(
      choose(runners, 't', (generation) => generation === 'g2'),
      'b',
    );
    assert.equal(
      choose(runners, 't', () => false),
      undefined,
    );
  });

  it('an idle heartbeat sent before the job was given does not free the runner', () => {
    const runners = idle('a');
    const a = runners.get('a')!;
    runners.reserve(a, 'j1', 1, 't');
    assert.deepEqual(runners.heartbeat(beat('a'), 2), { freed: false });
    runners.confirm(a, 'j1', 1);
    assert.deepEqual(runners.heartbeat(beat('a', { jobsDone: 0 }), 3), {
      freed: false,
      idleWithTask: { job: 'j1', attempt: 1 },
    });
    assert.equal(choose(runners, 't'), undefined);
    assert.deepEqual(runners.heartbeat(beat('a', { phase: 'running', job: 'j1', attempt: 1 }), 4), { freed: false });
    assert.deepEqual(runners.heartbeat(beat('a', { jobsDone: 1, tenant: 't' }), 5), { freed: true });
    assert.equal(choose(runners, 't'), 'a');
  });

  it('the runner of a chunk is not free between two items, and the leader releases it', () => {
    const runners = idle('a');
    const a = runners.get('a')!;
    runners.reserve(a, 'chunk', 1, 't');
    runners.confirm(a, 'chunk', 1, true);
    // Whether the end of the first item reaches the leader before this heartbeat or after it.
    assert.deepEqual(runners.heartbeat(beat('a', { jobsDone: 1, tenant: 't' }), 2), { freed: false });
    assert.equal(choose(runners, 't'), undefined);
    runners.goOn(a, 2, true);
    assert.deepEqual([a.task?.attempt, a.task?.doneBefore], [2, 1]);
    assert.deepEqual(runners.heartbeat(beat('a', { jobsDone: 1, tenant: 't' }), 3), {
      freed: false,
      idleWithTask: { job: 'chunk', attempt: 2 },
    });
    assert.deepEqual(runners.gone('a').lost, { job: 'chunk', attempt: 2, uid: 'a' });

    const others = idle('b');
    others.reserve(others.get('b')!, 'chunk', 1, 't');
    others.confirm(others.get('b')!, 'chunk', 1, true);
    others.heartbeat(beat('b', { jobsDone: 1, tenant: 't' }), 2);
    others.release('b', 'chunk', 3);
    assert.equal(choose(others, 't'), 'b');
  });

  it('a runner draining after its job holds none; a runner draining during its job keeps it', () => {
    const runners = idle('a', 'b');
    for (const uid of ['a', 'b']) {
      runners.reserve(runners.get(uid)!, uid, 1, 't');
      runners.confirm(runners.get(uid)!, uid, 1);
    }
    assert.deepEqual(runners.heartbeat(beat('a', { phase: 'draining', jobsDone: 1 }), 2), { freed: false });
    assert.deepEqual(runners.heartbeat(beat('b', { phase: 'draining', job: 'b', attempt: 1 }), 2), { freed: false });
    assert.deepEqual(
      ['a', 'b'].map((uid) => [runners.get(uid)?.phase, runners.get(uid)?.task?.job]),
      [
        ['draining', undefined],
        ['draining', 'b'],
      ],
    );
    assert.equal(choose(runners, 't'), undefined);
  });

  it('a draining runner says whether it still runs a job', () => {
    const runners = idle('a', 'b');
    runners.heartbeat(beat('a', { phase: 'draining', job: 'j1', attempt: 1 }), 2);
    assert.deepEqual(runners.get('a')?.task, { job: 'j1', attempt: 1, doneBefore: 0, reserved: false });
    runners.heartbeat(beat('a', { phase: 'draining', jobsDone: 1 }), 3);
    assert.deepEqual([runners.get('a')?.task, runners.get('a')?.idleSince], [undefined, 3]);
    // The order to run it was lost.
    runners.reserve(runners.get('b')!, 'j2', 1, 't');
    runners.confirm(runners.get('b')!, 'j2', 1);
    const { idleWithTask } = runners.heartbeat(beat('b', { phase: 'draining' }), 2);
    assert.deepEqual(idleWithTask, { job: 'j2', attempt: 1 });
  });

  it('a runner draining after its job no longer counts as held, so its account may take the last untouched one', () => {
    const runners = idle('a');
    runners.reserve(runners.get('a')!, 'j1', 1, 'a:7', 7);
    runners.confirm(runners.get('a')!, 'j1', 1);
    runners.heartbeat(beat('a', { phase: 'draining', job: 'j1', attempt: 1 }), 2);
    assert.deepEqual([runners.held('short', 7), runners.bound('short')], [1, 1]);
    runners.heartbeat(beat('a', { phase: 'draining', jobsDone: 1 }), 3);
    assert.deepEqual([runners.held('short', 7), runners.bound('short')], [0, 0]);
  });

  it("a new leader learns from heartbeats each runner's job and tenant", () => {
    const runners = new Runners();
    runners.pod(facts('a'), 0);
    runners.heartbeat(beat('a', { phase: 'running', job: 'j9', attempt: 2, tenant: 'x', jobsDone: 4 }), 1);
    assert.deepEqual(runners.get('a')?.task, { job: 'j9', attempt: 2, doneBefore: 4, reserved: false });
    assert.equal(runners.get('a')?.tenant, 'x');
    assert.deepEqual(runners.pod(facts('a', { ended: true }), 2), { lost: { job: 'j9', attempt: 2, uid: 'a' } });
    assert.equal([...runners.all()].length, 0);
  });

  for (const [claim, expected] of [
    [undefined, 'mine'],
    ['other', 'mine'],
    ['mine', 'mine'],
    ['x:1', 'x:1'],
    ['j:1', 'j:1'],
  ] as const) {
    it(`a pod of mine that reports ${claim ?? 'untouched'} is ${expected}`, () => {
      const says = (runners: Runners) => runners.heartbeat(beat('a', claim === undefined ? {} : { tenant: claim }), 1);
      const [before, after] = [new Runners(), new Runners()];
      for (const runners of [before, after]) runners.pod(facts('a'), 0);
      says(before);
      before.bind('a', 'mine');
      after.bind('a', 'mine');
      says(after);
      says(before);
      assert.deepEqual([before.get('a')?.tenant, after.get('a')?.tenant], [expected, expected]);
      assert.equal(choose(after, 'other'), undefined);
    });
  }

  it('a pod being deleted finishes its job and gets no other', () => {
    const runners = idle('a');
    runners.reserve(runners.get('a')!, 'j1', 1, 't');
    assert.deepEqual(runners.pod(facts('a', { deleting: true }), 2), {});
    assert.deepEqual(runners.heartbeat(beat('a', { jobsDone: 1 }), 3), { freed: false });
    assert.equal(choose(runners, 't'), undefined);
  });

  it('lists silent runners and those that never sent a heartbeat', () => {
    const runners = idle('a');
    runners.pod(facts('b'), 0);
    assert.deepEqual(
      runners.silent(100, 1000, () => 1000, 9000).map(({ uid }) => uid),
      [],
    );
    assert.deepEqual(
      runners.silent(1002, 1000, () => 5000, 9000).map(({ uid }) => uid),
      ['a'],
    );
    assert.deepEqual(
      runners.silent(5001, 10_000, () => 5000, 9000).map(({ uid }) => uid),
      ['b'],
    );
  });

  it('while none can be heard, their silence counts from then, and each is free again at its next heartbeat', () => {
    const runners = idle('a');
    runners.pod(facts('renewed', { life: 1 }), 0);
    runners.pod(facts('starts'), 0);
    runners.unheard(900);
    const silent = (at: number) => runners.silent(at, 1000, () => 5000, 9000).map(({ uid }) => uid);
    assert.deepEqual([silent(1900), silent(1901)], [[], ['a', 'renewed_1']]);
    assert.equal(runners.hasFree('short'), false);
    assert.equal(runners.heartbeat(beat('a'), 901).freed, true);
    assert.equal(runners.hasFree('short'), true);
    assert.deepEqual(
      [silent(1901), silent(1902), silent(5001)],
      [['renewed_1'], ['a', 'renewed_1'], ['a', 'renewed_1', 'starts']],
    );
  });

  it('knows at its first heartbeat how long a pod took to start, since it had a node', () => {
    const runners = new Runners();
    runners.pod({ ...facts('a'), node: undefined }, 0);
    assert.equal(startedWithinMs(runners.get('a')!), undefined);
    runners.pod(facts('a'), 1000);
    runners.heartbeat(beat('a'), 4000);
    assert.equal(startedWithinMs(runners.get('a')!), 3000);
    runners.heartbeat(beat('a'), 6000);
    assert.equal(startedWithinMs(runners.get('a')!), undefined);
    runners.pod(facts('b', { life: 1 }), 0);
    runners.heartbeat(beat('b_1'), 1);
    assert.equal(startedWithinMs(runners.get('b_1')!), undefined, 'a process, and no pod');
  });

  it('counts the start of a pod from when it has a node, and lists one that gets none much later', () => {
    const runners = new Runners();
    runners.pod({ ...facts('waits'), node: undefined }, 0);
    runners.pod({ ...facts('late'), node: undefined }, 0);
    runners.pod(facts('late'), 6000);
    const silent = (at: number) => runners.silent(at, 1000, () => 5000, 9000).map(({ uid }) => uid);
    assert.deepEqual([silent(6001), silent(9001), silent(11_001)], [[], ['waits'], ['waits', 'late']]);
  });
});
