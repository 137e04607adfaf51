import assert from 'node:assert/strict';
import {
  type Assignment,
  type Cancel,
  type Go,
  type OrderAnswer,
  RUNNER_PROTOCOL,
} from '../../src/platform/bus/messages.ts';
import {
  type Decision,
  heartbeatOf,
  initialState,
  isFinished,
  isNews,
  onCancel,
  onCollected,
  onDrain,
  onGo,
  onLease,
  onLeaseLost,
  onPrepare,
  onRan,
  onRenew,
  onTime,
  phaseOf,
  type State,
  transition,
} from '../../src/service/runner/orders.ts';

const assignment: Assignment = {
  kind: 'file',
  source: { scheme: 'http', url: 'http://origin/a.mp4', class: 'file' },
  tools: [],
  timeoutMs: 1000,
  maxBytes: 1000,
  allow: [],
  report: { enabled: false, diff: false, prefer: null },
};
const order = (job: string, more: Partial<Go> = {}): Go => ({
  protocol: RUNNER_PROTOCOL,
  epoch: 5,
  job,
  attempt: 1,
  tenant: 'account/1',
  assignment,
  remainingMs: 1000,
  ...more,
});
const idle: State = { ...initialState(0), epoch: 5 };
const prepared = onPrepare(idle, order('a'), 100).state;
const running = onGo(idle, order('a'), 100).state;
const publishing = onRan(running, 200);
const done = onCollected(publishing, { job: 'a', attempt: 1 }, 300);
const draining = onDrain(idle);
const renewing = onRenew(idle, { epoch: 5 }, 100).state;
const policy = { name: 'house', revision: 7, document: { rules: [] } };
const cancel = (more: Partial<Cancel> = {}): Cancel => ({ epoch: 5, job: 'a', attempt: 1, why: 'cancelled', ...more });

const a1 = { job: 'a', attempt: 1 };
const a2 = { job: 'a', attempt: 2 };
const effects = (decision: { effects: Decision['effects'] }) => decision.effects.map((effect) => effect.do);
const unchanged = (state: State): Decision => ({ state, answer: { ok: true }, effects: [] });
type Why = Extract<OrderAnswer, { ok: false }>['why'];

describe('orders', () => {
  const table: [string, Decision, true | Why, string[], string][] = [
    ['prepare of an idle agent', onPrepare(idle, order('a'), 1), true, ['prepare'], 'prepared'],
    ['prepare again', onPrepare(prepared, order('a'), 1), true, [], 'prepared'],
    [
      'prepare of another job replaces the first',
      onPrepare(prepared, order('b'), 1),
      true,
      ['release', 'prepare'],
      'prepared',
    ],
    [
      'prepare of another attempt replaces the first',
      onPrepare(prepared, order('a', { attempt: 2 }), 1),
      true,
      ['release', 'prepare'],
      'prepared',
    ],
    ['prepare while running', onPrepare(running, order('b'), 1), 'busy', [], 'running'],
    ['prepare of the running job', onPrepare(running, order('a'), 1), true, [], 'running'],
    ['prepare of a finished job', onPrepare(done, order('a'), 1), true, [], 'idle'],
    ['prepare while a result is being published', onPrepare(publishing, order('b'), 1), true, ['prepare'], 'prepared'],
    ['prepare while draining', onPrepare(draining, order('a'), 1), 'draining', [], 'draining'],
    ['prepare of an older term', onPrepare(idle, order('a', { epoch: 4 }), 1), 'epoch', [], 'idle'],
    [
      'prepare of another protocol',
      onPrepare(idle, order('a', { protocol: RUNNER_PROTOCOL + 1 }), 1),
      'protocol',
      [],
      'idle',
    ],
    ['prepare of another tenant', onPrepare(done, order('b', { tenant: 'account/2' }), 1), 'tenant', [], 'idle'],
    ['go without prepare', onGo(idle, order('a'), 1), true, ['run'], 'running'],
    ['go after prepare', onGo(prepared, order('a'), 1), true, ['run'], 'running'],
    ['go of another job than was prepared', onGo(prepared, order('b'), 1), true, ['release', 'run'], 'running'],
    [
      'go of another attempt than was prepared',
      onGo(prepared, order('a', { attempt: 2 }), 1),
      true,
      ['release', 'run'],
      'running',
    ],
    ['go of a newer term than was prepared', onGo(prepared, order('a', { epoch: 6 }), 1), true, ['run'], 'running'],
    ['go of an older term than was prepared', onGo(prepared, order('a', { epoch: 4 }), 1), 'epoch', [], 'prepared'],
    ['go after the time of the prepare', onGo(onTime(prepared, 9_999).state, order('a'), 1), true, ['run'], 'running'],
    [
      'go of another job while draining and prepared',
      onGo(onDrain(prepared), order('b'), 1),
      'draining',
      [],
      'draining',
    ],
    ['go twice', onGo(running, order('a'), 1), true, [], 'running'],
    ['go of a job that is being published', onGo(publishing, order('a'), 1), true, [], 'publishing'],
    ['go of a collected job', onGo(done, order('a'), 1), true, [], 'idle'],
    ['go of a new attempt of a collected job', onGo(done, order('a', { attempt: 2 }), 1), true, ['run'], 'running'],
    ['go of another job while running', onGo(running, order('b'), 1), 'busy', [], 'running'],
    ['go of a new attempt while the old one runs', onGo(running, order('a', { attempt: 2 }), 1), 'busy', [], 'running'],
    ['go while a result is being published', onGo(publishing, order('b'), 1), true, ['run'], 'running'],
    ['go while draining', onGo(draining, order('a'), 1), 'draining', [], 'draining'],
    ['go of a job prepared before the drain', onGo(onDrain(prepared), order('a'), 1), true, ['run'], 'draining'],
    ['go of an older term', onGo(idle, order('a', { epoch: 4 }), 1), 'epoch', [], 'idle'],
    ['go twice, the second of an older term', onGo(running, order('a', { epoch: 4 }), 1), 'epoch', [], 'running'],
    ['go of a newer term', onGo(idle, order('a', { epoch: 6 }), 1), true, ['run'], 'running'],
    ['go of another protocol', onGo(idle, order('a', { protocol: RUNNER_PROTOCOL + 1 }), 1), 'protocol', [], 'idle'],
    ['go of another tenant', onGo(done, order('b', { tenant: 'account/2' }), 1), 'tenant', [], 'idle'],
    [
      'go of another tenant than was prepared',
      onGo(prepared, order('b', { tenant: 'account/2' }), 1),
      'tenant',
      [],
      'prepared',
    ],
    ['renewal of an idle agent', onRenew(done, { epoch: 5 }, 1), true, [], 'idle'],
    ['renewal again', onRenew(renewing, { epoch: 5 }, 1), true, [], 'idle'],
    ['renewal with a prepared job', onRenew(prepared, { epoch: 5 }, 1), true, ['release'], 'idle'],
    ['renewal while running', onRenew(running, { epoch: 5 }, 1), 'busy', [], 'running'],
    ['renewal while a result is being published', onRenew(publishing, { epoch: 5 }, 1), 'busy', [], 'publishing'],
    ['renewal while draining', onRenew(draining, { epoch: 5 }, 1), 'draining', [], 'draining'],
    ['renewal by an older term', onRenew(idle, { epoch: 4 }, 1), 'epoch', [], 'idle'],
    ['prepare after a renewal', onPrepare(renewing, order('a'), 1), 'draining', [], 'idle'],
    ['go after a renewal', onGo(renewing, order('a'), 1), 'draining', [], 'idle'],
    [
      'go of a job prepared before a renewal',
      onGo({ ...prepared, renewing: true }, order('a'), 1),
      'draining',
      [],
      'prepared',
    ],
    [
      'cancel of the running job',
      onCancel(running, { epoch: 5, job: 'a', attempt: 1, why: 'cancelled' }, 1),
      true,
      ['abandon'],
      'idle',
    ],
    [
      'cancel of the prepared job',
      onCancel(prepared, { epoch: 5, job: 'a', attempt: 1, why: 'cancelled' }, 1),
      true,
      ['release'],
      'idle',
    ],
    [
      'cancel of another attempt than was prepared',
      onCancel(prepared, cancel({ attempt: 2 }), 1),
      true,
      [],
      'prepared',
    ],
    [
      'cancel of the prepared job by an older term',
      onCancel(prepared, cancel({ epoch: 4 }), 1),
      'epoch',
      [],
      'prepared',
    ],
    [
      'cancel of another attempt',
      onCancel(running, { epoch: 5, job: 'a', attempt: 2, why: 'superseded' }, 1),
      true,
      [],
      'running',
    ],
    ['cancel without a job', onCancel(idle, { epoch: 5, job: 'a', attempt: 1, why: 'deadline' }, 1), true, [], 'idle'],
    [
      'cancel of a job that is being published',
      onCancel(publishing, { epoch: 5, job: 'a', attempt: 1, why: 'deadline' }, 1),
      true,
      ['withdraw'],
      'idle',
    ],
    [
      'cancel of an older term',
      onCancel(running, { epoch: 4, job: 'a', attempt: 1, why: 'cancelled' }, 1),
      'epoch',
      [],
      'running',
    ],
  ];
  for (const [what, decision, expected, does, phase] of table) {
    it(`${what}: ${expected === true ? 'ok' : expected}`, () => {
      assert.equal(decision.answer.ok || decision.answer.why, expected);
      assert.deepEqual(effects(decision), does);
      assert.equal(phaseOf(decision.state), phase);
    });
  }

  it('remembers the newest term', () => {
    const { state } = onGo(idle, order('a', { epoch: 9 }), 1);
    assert.equal(state.epoch, 9);
    assert.deepEqual(onGo(state, order('b', { epoch: 8 }), 1).answer, { ok: false, why: 'epoch' });
  });

  it('a refused order does not bind the runner', () => {
    assert.equal(onPrepare(draining, order('a'), 1).state.tenant, undefined);
    assert.equal(onGo(idle, order('a', { epoch: 1 }), 1).state.tenant, undefined);
  });

  it('stays bound when a prepared job times out', () => {
    const late = onTime(prepared, 2_100);
    assert.deepEqual(effects(late), ['release']);
    assert.deepEqual([phaseOf(late.state), late.state.tenant], ['idle', 'account/1']);
    assert.deepEqual(onTime(prepared, 2_099), unchanged(prepared));
    assert.deepEqual(onTime(running, 9_999).effects, []);
  });

  it('accepts again a job that it abandoned without a lease', () => {
    const { state, effects: done_ } = onLeaseLost(running, 1);
    assert.deepEqual(
      done_.map((effect) => effect.do),
      ['abandon'],
    );
    assert.deepEqual([phaseOf(state), state.jobsDone], ['idle', 0]);
    assert.deepEqual(effects(onGo(state, order('a'), 1)), ['run']);
    assert.deepEqual(onLeaseLost(publishing, 1), unchanged(publishing));
  });

  it('refuses jobs while unconfirmed results fill its memory', () => {
    const two = onRan(onGo(publishing, order('b'), 1).state, 2);
    assert.deepEqual(onGo(two, order('c'), 3).answer, { ok: false, why: 'busy' });
    assert.deepEqual(onGo(onCollected(two, { job: 'a', attempt: 1 }, 3), order('c'), 3).answer, { ok: true });
  });

  it('counts a result once, when it is collected', () => {
    assert.deepEqual(
      [publishing.jobsDone, done.jobsDone, onCollected(done, { job: 'a', attempt: 1 }, 1).jobsDone],
      [0, 1, 1],
    );
    assert.equal(onCollected(publishing, { job: 'a', attempt: 2 }, 1), publishing);
  });

  it('ignores the reply of an older leader; that of a newer one renews, cancels and drains', () => {
    assert.deepEqual(onLease(running, { epoch: 4, drain: true }, 1), {
      state: running,
      answer: { ok: false, why: 'epoch' },
      effects: [],
    });
    const renewed = onLease(running, { epoch: 6, cancel: { job: 'a', attempt: 1 }, drain: true }, 1);
    assert.deepEqual(
      [renewed.answer.ok, renewed.state.epoch, effects(renewed), phaseOf(renewed.state)],
      [true, 6, ['abandon', 'drain'], 'draining'],
    );
  });

  for (const [name, before, event, does, phase] of [
    ['its tools are done', running, { type: 'ran' }, [], 'publishing'],
    ['its result is collected', publishing, { type: 'collected', result: a1 }, ['withdraw'], 'idle'],
    ['another result is collected', publishing, { type: 'collected', result: a2 }, [], 'publishing'],
    ['its result is not collected in time', publishing, { type: 'dropped', result: a1 }, ['withdraw'], 'idle'],
    ['no leader answers', running, { type: 'lease-lost' }, ['abandon'], 'idle'],
    ['no go follows', prepared, { type: 'time' }, ['release'], 'idle'],
    ['it drains', running, { type: 'drain', why: 'its age' }, ['drain'], 'draining'],
    ['it drains already', draining, { type: 'drain', why: 'its age' }, [], 'draining'],
    ['its leader cancels', running, { type: 'cancel', order: cancel() }, ['abandon'], 'idle'],
  ] as const)
    it(`transition: ${name}`, () => {
      const decision = transition(before, event, 9_999);
      assert.deepEqual([effects(decision), phaseOf(decision.state)], [does, phase]);
    });

  it('a drain is over when the job has run and its result is collected', () => {
    assert.equal(isFinished(onDrain(idle)), true);
    assert.equal(isFinished(onDrain(running)), false);
    assert.equal(isFinished(onDrain(publishing)), false);
    assert.equal(isFinished(onDrain(done)), true);
    assert.equal(isFinished(done), false);
  });

  it('a heartbeat has the phase and the task', () => {
    const identity = { protocol: 1, pod: 'p', uid: 'u', namespace: 'n', pool: 'short', generation: 'g' };
    assert.deepEqual(heartbeatOf(publishing, identity, 50, 1050), {
      ...identity,
      phase: 'publishing',
      epoch: 5,
      tenant: 'account/1',
      job: 'a',
      attempt: 1,
      jobsDone: 0,
      ageMs: 1000,
      idleMs: 0,
    });
    assert.deepEqual(heartbeatOf(idle, identity, 50, 1050), {
      ...identity,
      phase: 'idle',
      epoch: 5,
      jobsDone: 0,
      ageMs: 1000,
      idleMs: 1050,
    });
  });

  it('runs the order of the go, and not that of the prepare', () => {
    const go = order('a', { assignment: { ...assignment, policy }, remainingMs: 5 });
    assert.deepEqual(onGo(prepared, go, 1).effects, [{ do: 'run', order: go }]);
    const newer = order('a', { epoch: 6 });
    assert.deepEqual(onGo(prepared, newer, 1).effects, [{ do: 'run', order: newer }]);
  });

  it('a lost lease leaves a prepared job, which goes by its own time', () =>
    assert.deepEqual(onLeaseLost(prepared, 1), unchanged(prepared)));

  it('a drain does not wait for a job that is not admitted', () => {
    assert.equal(isFinished(onDrain(prepared)), true);
    assert.equal(isFinished(onGo(onDrain(prepared), order('a'), 1).state), false);
  });

  const news: [string, State, State, boolean][] = [
    ["prepared, by the leader's own order", idle, prepared, false],
    ["running, by the leader's own order", prepared, running, false],
    ['a result being published, which a collector reports', running, publishing, false],
    ['free again', publishing, done, true],
    ['free again, because no go followed', prepared, onTime(prepared, 5_000).state, true],
    [
      'free again, because it was cancelled',
      running,
      onCancel(running, { epoch: 5, job: 'a', attempt: 1, why: 'cancelled' }, 300).state,
      true,
    ],
    ['draining while a job runs', running, onDrain(running), true],
    ['draining while idle', idle, draining, true],
    ['a newer term', idle, { ...idle, epoch: 6 }, false],
  ];
  for (const [title, before, after, expected] of news) {
    it(`the leader ${expected ? 'is' : 'is not'} notified at once: ${title}`, () =>
      assert.equal(isNews(before, after), expected));
  }
});

describe('orders: what a cancelled job has cost', () => {
  const task = { job: 'a', attempt: 1, since: 1_000 };
  const at = (stage: 'prepared' | 'running'): State => ({ ...initialState(0), task: { ...task, stage } });
  for (const [title, state, given, expected] of [
    ['of a prepared job: what was read ahead', at('prepared'), cancel(), { bytes: 77, decodedSeconds: 5, ms: 0 }],
    ['of a running job', at('running'), cancel(), { bytes: 77, decodedSeconds: 5, ms: 251 }],
    ['of another attempt: nothing', at('running'), cancel({ attempt: 2 }), undefined],
    ['of no job: nothing', initialState(0), cancel(), undefined],
  ] as const)
    it(title, () => {
      const { answer } = onCancel(state, given, 1_250.6, { bytes: 77, decodedSeconds: 5 });
      assert.deepEqual(answer, { ok: true, ...(expected ? { used: expected } : {}) });
    });
});
