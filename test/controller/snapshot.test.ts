/** The leader's snapshot of the cluster, with its figures, its bounds and what it must not contain. */
import assert from 'node:assert/strict';
import { ClusterSnapshot, SNAPSHOT_BYTES, SNAPSHOT_LISTS } from '../../src/platform/bus/cluster_snapshot.ts';
import { Ledger, type Entry } from '../../src/service/controller/leader/ledger.ts';
import { Runners } from '../../src/service/controller/pools/runners.ts';
import { bounded, buildSnapshot, firstOf } from '../../src/service/controller/snapshot/build.ts';
import { makeRecent } from '../../src/service/controller/snapshot/recent.ts';
import { PROBE_JOBS, PROBE_POOLS, PROBE_TOOLS } from '../../src/platform/kube/client.ts';
import type { EventRecorder } from '../../src/platform/kube/events.ts';
import { conformsTo } from '../conforms.ts';
import { AT, aPool, aRunner, aTool, aView, busyRunner, condition, PROVEN } from './snapshot_view.ts';
import { facts } from './runner_fixture.ts';

const isSnapshot = conformsTo(ClusterSnapshot);
const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Repeatable (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe('snapshot: lists by rank', () => {
  it('the first entries equal those of the sorted list, for any input order', () => {
    const next = random(1);
    for (const most of [0, 1, 7, 100, 1_000]) {
      const all = Array.from({ length: 500 }, () => Math.floor(next() * 300));
      const before = (a: number, b: number): number => a - b;
      assert.deepEqual(firstOf(all, most, before), { first: all.toSorted(before).slice(0, most), of: 500 });
    }
  });

  it('an entry that does not fit is omitted and counted, and smaller ones after it are kept', () => {
    const shown = bounded(
      [5, 500, 6],
      { most: 3, bytes: 40 },
      () => 0,
      (length) => 'x'.repeat(length),
    );
    assert.deepEqual(shown, { items: ['xxxxx', 'xxxxxx'], leftOut: 1 });
  });

  it('only kept entries are created', () => {
    let made = 0;
    bounded(
      Array.from({ length: 10_000 }, (_, index) => index),
      { most: 10, bytes: 1_000 },
      (a, b) => a - b,
      () => ++made,
    );
    assert.equal(made, 10);
  });

  it('all lists together stay below the total limit', () => {
    const lists = Object.values(SNAPSHOT_LISTS).reduce((sum, { bytes }) => sum + bytes, 0);
    assert.ok(lists + 4_096 <= SNAPSHOT_BYTES, `${lists} bytes`);
  });
});

describe('snapshot: pools and runners', () => {
  const counted = aView({
    pools: [aPool('short', {}, undefined, 2)],
    runners: [
      aRunner(),
      aRunner({ tenant: 'a:7', account: 7 }),
      busyRunner('job-1'),
      aRunner({ phase: 'prepared', task: undefined }),
      aRunner({ phase: 'starting' }),
      aRunner({ phase: 'draining' }),
      aRunner({ deleting: true, phase: 'running' }),
      aRunner({ pool: 'gone' }),
    ],
  });

  it('runners are counted by state, with pods that the watch has not shown yet as starting', () => {
    const [pool] = buildSnapshot(counted).pools;
    const { ready, untouched, busy, starting, ending } = pool!;
    assert.deepEqual(
      { ready, untouched, busy, starting, ending },
      { ready: 2, untouched: 1, busy: 2, starting: 3, ending: 2 },
    );
  });

  it('runners are listed with the busy ones first, with job, request, account and start', () => {
    const { runners } = buildSnapshot(counted);
    assert.deepEqual(
      runners.map(({ state }) => state),
      ['busy', 'busy', 'starting', 'draining', 'ending', 'idle', 'idle', 'idle'],
    );
    const [first] = runners;
    assert.deepEqual(first, {
      pod: first!.pod,
      pool: 'short',
      node: 'node-1',
      state: 'busy',
      phase: 'running',
      since: '2026-03-01T11:59:58.000Z',
      account: 7,
      job: 'job-1',
      'request-id': 'id-of-job-1',
      'jobs-done': 3,
    });
    assert.deepEqual(
      runners.filter(({ state }) => state === 'idle').map(({ since }) => since),
      Array.from({ length: 3 }, () => '2026-03-01T11:59:30.000Z'),
    );
    assert.equal(runners.find(({ state }) => state === 'starting')?.since, '2026-03-01T11:59:00.000Z');
  });

  const SHORT: [string, Parameters<typeof aPool>[2], number, number, string | null][] = [
    ['enough runners', [condition('Ready', 'True', 'Serving')], 10, 0, null],
    ['no condition yet', [], 0, 0, null],
    [
      'a condition with the reason',
      [condition('Ready', 'False', 'QuotaExceeded', 'quota used up')],
      0,
      3,
      'quota used up',
    ],
    [
      'jobs wait, and it is at its maximum',
      [condition('Ready', 'True', 'Serving')],
      10,
      3,
      'all 10 runners that the pool may have are in use',
    ],
    ['jobs wait for another reason', [condition('Ready', 'True', 'Serving')], 4, 3, null],
  ];
  for (const [what, conditions, busy, waiting, short] of SHORT)
    it(`why a pool is short: ${what}`, () => {
      const runners = Array.from({ length: busy }, (_, index) => busyRunner(`job-${index}`));
      const [pool] = buildSnapshot(
        aView({ pools: [aPool('short', {}, conditions)], runners, waitingIn: { short: waiting } }),
      ).pools;
      assert.equal(pool?.short, short);
      assert.equal(pool?.waiting, waiting);
    });

  it('every wall is listed, and those that the pool requires are marked', () => {
    const [pool] = buildSnapshot(
      aView({
        pools: [
          aPool('short', { isolation: { require: ['SyscallFilter'] } }, [
            condition('SyscallFilter', 'False', 'Missing', '1 of 2 runners lacks it'),
          ]),
        ],
      }),
    ).pools;
    assert.deepEqual(
      pool?.isolation.map(({ wall, required, status, reason }) => [wall, required, status, reason]),
      [
        ['UserNamespace', false, 'Unknown', 'NotReported'],
        ['SyscallFilter', true, 'False', 'Missing'],
        ['NetworkEnforced', false, 'Unknown', 'NotReported'],
      ],
    );
  });
});

describe('snapshot: tools', () => {
  const refused = condition('Available', 'False', 'Crashed', 'its proof ended without a result');
  const TABLE: [string, ReturnType<typeof aTool>, object][] = [
    [
      'a proven tool with its slowest start and what the binary reports',
      aTool('8.0', PROVEN, {
        reported: 'ffprobe version 8.0',
        architectures: [
          { arch: 'amd64', version: 'x', startupMs: 12 },
          { arch: 'arm64', version: 'x', startupMs: 31 },
        ],
      }),
      {
        state: 'ready',
        why: null,
        reported: 'ffprobe version 8.0',
        'startup-ms': 31,
        architectures: ['amd64', 'arm64'],
      },
    ],
    ['a tool without a status', aTool('8.0', []), { state: 'proving', why: null, since: null, 'startup-ms': null }],
    [
      'a tool that waits for a node',
      aTool('8.0', [condition('Available', 'Unknown', 'Unschedulable', 'no node')]),
      { state: 'proving', why: 'Unschedulable: no node' },
    ],
    ['a refused tool', aTool('8.0', [refused]), { state: 'refused', why: 'Crashed: its proof ended without a result' }],
    [
      'a tool whose image cannot be pulled any more',
      aTool('8.0', [...PROVEN, condition('Degraded', 'True', 'ImageUnavailable', 'not found')]),
      { state: 'degraded', why: 'ImageUnavailable: not found' },
    ],
  ];
  for (const [what, tool, wanted] of TABLE)
    it(`${what}`, () => {
      const snapshot = buildSnapshot(aView({ tools: [tool] }));
      isSnapshot(snapshot);
      assert.deepEqual({ ...snapshot.tools[0], ...wanted }, snapshot.tools[0]);
    });

  it('tools with problems come first, then by tool and newest version', () => {
    const snapshot = buildSnapshot(
      aView({ tools: [aTool('7.0', PROVEN), aTool('10.0', PROVEN), aTool('3.1', [refused])] }),
    );
    assert.deepEqual(
      snapshot.tools.map(({ version }) => version),
      ['3.1', '10.0', '7.0'],
    );
    assert.deepEqual([snapshot['tools-ready'], snapshot['tools-total']], [2, 3]);
  });
});

describe('snapshot: queue', () => {
  it('lists waiting jobs with the oldest wait of each account and of all, and no limit if there is none', () => {
    const snapshot = buildSnapshot(
      aView({
        accounts: [
          { id: 1, waiting: 2, held: 1, limit: Number.POSITIVE_INFINITY },
          { id: 2, waiting: 5, held: 4, limit: 4 },
          { id: 3, waiting: 0, held: 2, limit: 8 },
        ],
        fronts: [
          { account: 1, submittedAt: new Date(AT - 400) },
          { account: 2, submittedAt: new Date(AT - 100) },
          { account: 2, submittedAt: new Date(AT - 9_000) },
          // From a machine whose clock is ahead.
          { account: 1, submittedAt: new Date(AT + 5_000) },
        ],
      }),
    );
    isSnapshot(snapshot);
    assert.deepEqual(snapshot.queue, {
      waiting: 7,
      running: 7,
      'oldest-wait-ms': 9_000,
      accounts: [
        { account: 2, waiting: 5, running: 4, limit: 4, 'oldest-wait-ms': 9_000 },
        { account: 1, waiting: 2, running: 1, limit: null, 'oldest-wait-ms': 400 },
        { account: 3, waiting: 0, running: 2, limit: 8, 'oldest-wait-ms': null },
      ],
    });
  });

  it('the ledger counts the waiting jobs of each pool, and has the first of each queue', () => {
    const next = random(2);
    const ledger = new Ledger<Entry>();
    const waiting = new Map<string, Entry>();
    const pools = ['short', 'long'];
    for (let step = 0; step < 5_000; step++) {
      const pool = pools[Math.floor(next() * 2)]!;
      const pick = next();
      const some = [...waiting.keys()][Math.floor(next() * waiting.size)];
      if (pick < 0.5) {
        const token = Math.floor(next() * 12);
        const entry = { key: `k${step}`, token, account: token % 4, pool };
        ledger.enqueue(entry, { token: 3, account: 6 });
        waiting.set(entry.key, entry);
      } else if (pick < 0.75) {
        const taken = ledger.take(pool, () => true);
        if (taken) {
          waiting.delete(taken.key);
          if (next() < 0.9) ledger.remove(taken.key);
        }
      } else if (some !== undefined) {
        ledger.remove(some);
        waiting.delete(some);
      }
      if (step % 50 !== 0) continue;
      for (const name of pools)
        assert.equal(ledger.waitingIn(name), [...waiting.values()].filter((one) => one.pool === name).length);
      const fronts = Map.groupBy(waiting.values(), ({ token, pool: of }) => `${token} ${of}`);
      assert.deepEqual(
        [...ledger.fronts()].map(({ key }) => key).toSorted(),
        [...fronts.values()].map(([front]) => front!.key).toSorted(),
      );
      const accounts = new Map([...ledger.accounts()].map((one) => [one.id, one.waiting]));
      for (const id of [0, 1, 2, 3])
        assert.equal(accounts.get(id) ?? 0, [...waiting.values()].filter(({ account }) => account === id).length);
    }
  });
});

const HOSTILE = 'https://user:pw@origin.example/\u0000\u202e<img src=x>\ud800'.repeat(20);

describe('snapshot: limits and hostile input', () => {
  it('fits for a cluster of any size, and counts what it omits', () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => index);
    const name = (index: number): string => `${'n'.repeat(240)}${index}`;
    const recent = makeRecent(() => AT);
    for (const index of many(500)) recent.podEnded('short', name(index), 'silent');
    const snapshot = buildSnapshot(
      aView({
        pools: many(300).map((index) =>
          aPool(name(index), {}, [condition('Ready', 'False', 'Filling', 'm'.repeat(4_000))]),
        ),
        runners: many(20_000).map((index) =>
          busyRunner(name(index), { pod: name(index), pool: name(index % 300), node: name(0) }),
        ),
        tools: many(2_000).map((index) =>
          aTool(`1.${index}`, [condition('Available', 'False', 'Crashed', '\u00e9'.repeat(4_000))]),
        ),
        accounts: many(10_000).map((id) => ({ id, waiting: id % 50, held: 1, limit: 100 })),
        fronts: many(10_000).map((account) => ({ account, submittedAt: new Date(AT - account) })),
        recent,
      }),
    );
    isSnapshot(snapshot);
    assert.ok(bytesOf(snapshot) <= SNAPSHOT_BYTES, `${bytesOf(snapshot)} bytes`);
    const { pools, runners, tools, queue, faults } = snapshot;
    assert.deepEqual(
      Object.entries(snapshot['left-out']).map(([list, left]) => [list, left > 0]),
      Object.keys(SNAPSHOT_LISTS).map((list) => [list, true]),
    );
    assert.equal(pools.length + snapshot['left-out'].pools, 300);
    assert.equal(runners.length + snapshot['left-out'].runners, 20_000);
    assert.equal(tools.length + snapshot['left-out'].tools, 2_000);
    assert.equal(queue.accounts.length + snapshot['left-out'].accounts, 10_000);
    assert.equal(faults.events.length + snapshot['left-out'].events, 100);
    assert.equal(snapshot['tools-total'], 2_000);
    assert.equal(queue.accounts[0]?.waiting, 49);
    assert.ok(runners.length > 100 && tools.length > 20, `${runners.length} runners, ${tools.length} tools`);
  });

  it('values from a compromised runner are cut, cleaned or omitted', () => {
    const runners = new Runners();
    runners.pod(facts('u', { pod: 'p', node: 'n' }), 0);
    runners.heartbeat(
      {
        protocol: 3,
        pod: 'p',
        uid: 'u',
        namespace: 'n',
        pool: 'short',
        generation: 'g',
        phase: HOSTILE as never,
        epoch: 1,
        tenant: 'a:99999999999999999999',
        job: HOSTILE,
        attempt: 1,
        jobsDone: 'many' as never,
        ageMs: 1,
        idleMs: 1,
      },
      1,
    );
    const snapshot = buildSnapshot(aView({ runners: [...runners.all()], jobOf: () => undefined }));
    isSnapshot(snapshot);
    const [runner] = snapshot.runners;
    assert.deepEqual(
      [runner?.phase, runner?.account, runner?.['request-id'], runner?.['jobs-done']],
      [null, null, null, 0],
    );
    assert.equal(runner?.job?.length, 253);
    assert.doesNotMatch(JSON.stringify(snapshot), /\\u0000|\u202e|\\ud800/);
  });

  it('the leader is named by its image without the registry', () => {
    assert.deepEqual(buildSnapshot(aView()).leader, {
      pod: 'controller-1',
      epoch: 7,
      since: '2026-03-01T11:00:00.000Z',
      release: 'probeyard:1.2',
    });
  });
});

describe('snapshot: recent faults', () => {
  const silent: EventRecorder = { record() {} };
  const object = (name: string) => ({ metadata: { name } });
  const warning = (reason: string, message = reason) => ({ type: 'Warning' as const, reason, message });

  it('counts lost attempts, lost jobs and failed proofs, and repeated Events as one entry', () => {
    let now = AT;
    const recent = makeRecent(() => now);
    const events = recent.following(silent);
    events.record(PROBE_JOBS, object('j1'), warning('Retrying'));
    events.record(PROBE_TOOLS, object('ffprobe-7'), warning('Degraded'));
    events.record(PROBE_TOOLS, object('ffprobe-8'), warning('Crashed'));
    now += 1_000;
    events.record(PROBE_JOBS, object('j1'), warning('Retrying'));
    for (const reason of ['RunnerLost', 'InternalError', 'Completed', 'Cancelled'] as const) recent.jobEnded(reason);
    assert.deepEqual([recent.attemptsLost, recent.jobsLost, recent.proofsFailed], [2, 2, 1]);
    assert.deepEqual(recent.events().toSpliced(2), [
      {
        at: '2026-03-01T12:00:01.000Z',
        kind: 'ProbeJob',
        object: 'j1',
        reason: 'Retrying',
        message: 'Retrying',
        count: 2,
      },
      {
        at: '2026-03-01T12:00:00.000Z',
        kind: 'ProbeTool',
        object: 'ffprobe-8',
        reason: 'Crashed',
        message: 'Crashed',
        count: 1,
      },
    ]);
  });

  it('passes Events on to the recorder', () => {
    const passed: string[] = [];
    const events = makeRecent(() => AT).following({
      ...silent,
      record: (_, { metadata }) => void passed.push(metadata.name),
    });
    events.record(PROBE_POOLS, object('short'), warning('Unschedulable'));
    assert.deepEqual(passed, ['short']);
  });

  it('keeps a hundred, and failing jobs displace no pool and no tool', () => {
    const recent = makeRecent(() => AT);
    const events = recent.following(silent);
    events.record(PROBE_POOLS, object('short'), warning('Unschedulable'));
    events.record(PROBE_TOOLS, object('ffprobe-8'), warning('Crashed'));
    for (let index = 0; index < 1_000; index++) events.record(PROBE_JOBS, object(`j${index}`), warning('QueueTimeout'));
    const kept = recent.events();
    assert.equal(kept.length, 100);
    assert.deepEqual(
      kept.filter(({ kind }) => kind !== 'ProbeJob').map(({ kind }) => kind),
      ['ProbeTool', 'ProbePool'],
    );
    assert.equal(kept[0]?.object, 'j999');
  });

  it('counts pods by pool and reason, and makes only failed ones an Event', () => {
    const recent = makeRecent(() => AT);
    for (const why of ['used-up', 'used-up', 'silent']) recent.podEnded('short', 'runner-1', why);
    recent.podEnded('long', 'runner-2', 'idle');
    assert.deepEqual(recent.ended('short'), [
      { why: 'used-up', count: 2 },
      { why: 'silent', count: 1 },
    ]);
    assert.deepEqual(
      recent.events().map(({ object: pod, message }) => [pod, message]),
      [['runner-1', 'runner of pool short ended: silent']],
    );
  });

  it('makes an Event when a dependency is lost and when it returns', () => {
    let now = AT;
    const recent = makeRecent(() => now);
    const up = { postgres: true, nats: true, kubernetes: true };
    recent.looked(up);
    assert.deepEqual(recent.events(), []);
    now += 1_000;
    recent.looked({ ...up, postgres: false });
    now += 1_000;
    recent.looked({ ...up, postgres: false });
    assert.deepEqual(recent.dependencies()[0], { name: 'postgres', up: false, since: '2026-03-01T12:00:01.000Z' });
    now += 1_000;
    recent.looked(up);
    assert.deepEqual(
      recent.events().map(({ reason, message }) => [reason, message]),
      [
        ['Back', 'postgres answers again'],
        ['Away', 'postgres does not answer'],
      ],
    );
  });
});
