/** Chunks: a ProbeJob for several items of a batch, which one runner reads one after the other. */
import assert from 'node:assert/strict';
import { pino } from 'pino';
import { PODS, PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { chunkFrom, requestOfChunk, timeOf, uuidv7 } from '../../src/platform/store/uuid.ts';
import type { Leader } from '../../src/service/controller/leader/leader.ts';
import { makeSweep } from '../../src/service/controller/leader/unshown_jobs.ts';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { offerResult } from '../../src/platform/bus/results.ts';
import { aBatch, someItems } from '../store/batch_fixture.ts';
import { aCloseInput, anOpenInput } from '../store/fixture.ts';
import { packResult } from '../result/text_body.ts';
import { until } from '../until.ts';
import { ITEM_EVERY_MS } from '../../src/service/controller/leader/item_pace.ts';
import { tick } from '../../src/service/controller/leader/losses.ts';
import { startCluster, type Cluster, type ClusterOptions } from './cluster_parts.ts';
import { success } from './simulated_runners.ts';

describe('leader: a chunk of a batch', function () {
  this.timeout(60_000);
  let cluster: Cluster;
  afterEach(() => cluster?.stop());

  const start = async (pool: NonNullable<ClusterOptions['pools']>[string] = {}) => {
    cluster = await startCluster({ pools: { short: { minReady: 1, maxPods: 1, ...pool } } });
    const controller = await cluster.controller();
    await cluster.ready();
    return controller;
  };

  interface Chunk {
    name: string;
    batch: string;
    ids: string[];
    token: number;
  }
  interface Given {
    token?: number;
    announce?: boolean;
    timeoutMs?: number;
    queueTimeoutMs?: number;
    sources?: string[];
  }
  const newRequest = () => cluster.servers.stored.store.newRequest();
  type Submitted = ReturnType<typeof newRequest>;
  /** Its requests are open, as the API opens them. */
  async function opened(count: number, given: Given = {}, { id, submittedAt }: Submitted = newRequest()) {
    const { store, admin } = cluster.servers.stored;
    const { timeoutMs = 65_000, queueTimeoutMs = 60_000, token: tokenId = admin.tokenId } = given;
    const of = aBatch(store, { userId: admin.userId, tokenId });
    const most = { rootUserId: admin.userId, batches: 1_000, items: 1_000_000 };
    await store.createBatch(of, someItems(count), { most, idempotency: null });
    const epoch = (await store.takeDriver({ holder: 'chunks', seconds: 600 }))!;
    const name = chunkFrom(id);
    const ids = Array.from({ length: count }, (_, at) => requestOfChunk(name, at + 1));
    const open = { submittedAt, tokenId, userId: admin.userId, timeoutMs, queueTimeoutMs };
    const items = ids.map((one, n) => ({ n, attempt: 1, open: anOpenInput(store, { id: one, ...open }) }));
    assert.equal(await store.openItems({ epoch, batch: of.id, items }), 'opened');
    return { name, batch: of.id, ids, token: tokenId, submittedAt, timeoutMs, queueTimeoutMs };
  }
  async function submit(count: number, { announce = true, ...given }: Given = {}): Promise<Chunk> {
    const chunk = await opened(count, given);
    const { name, ids, token, submittedAt, timeoutMs, queueTimeoutMs } = chunk;
    const addresses = given.sources ?? ids.map((one) => `https://media.example.org/${one}.mp4`);
    await cluster.submit({
      name,
      open: false,
      token,
      announce,
      timeoutMs,
      queueTimeoutMs,
      sources: [JSON.stringify(addresses)] as never,
      spec: { items: count, background: true, submittedAt: submittedAt.toISOString() },
    });
    return chunk;
  }
  const itemsOf = async ({ batch }: Chunk) =>
    (await cluster.servers.stored.store.itemsPage({ batch, after: -1, limit: 100 })).map(({ state, tries }) => [
      state,
      tries,
    ]);
  const running = (tries = 1) => ['running', tries];
  const WAITS = ['waiting', 0];
  const isOver = ({ name }: Chunk, reason: string) =>
    until(`the chunk is ${reason}`, () => cluster.reason(name) === reason, 20_000);
  const isAt = ({ name }: Chunk, place: number) =>
    until(`item ${place} runs`, () => {
      const task = cluster.runners.of(name)?.state.task;
      return task?.attempt === place;
    });
  const finish = ({ name }: Chunk) => cluster.runners.of(name)!.finish();
  const hold = (): void => {
    cluster.runners.behaviour.go = () => 'hold';
  };
  const reasonsOf = async (ids: string[]) => (await cluster.ended(...ids)).map(({ reason }) => reason);
  const cancel = (id: string) => cluster.servers.bus.request(SUBJECT.cancelItem, { id }, 10_000);
  const isFree = () => until('its runner is free', () => cluster.runners.all().every(({ state }) => !state.task));

  for (const announce of [true, false])
    it(`is admitted once, and each item has its own end, created by the ${announce ? 'leader' : 'API'}`, async () => {
      const { calls } = await start();
      const addresses: string[] = [];
      cluster.runners.behaviour.go = ({ assignment }) => {
        addresses.push(assignment.source.url);
        return { ms: 5 };
      };
      const chunk = await submit(20, { announce });
      const records = await cluster.ended(...chunk.ids);
      assert.deepEqual([...new Set(records.map(({ state }) => state))], ['success']);
      await isOver(chunk, 'Completed');
      const { status } = await cluster.kube.get(PROBE_JOBS, chunk.name);
      assert.deepEqual([status?.summary, status?.attempts], ['20 of 20 sources were read', 1]);
      assert.deepEqual(
        calls.filter(({ name }) => name === chunk.name).map(({ what }) => what),
        announce ? ['create ProbeJob', 'status ProbeJob'] : ['status ProbeJob', 'status ProbeJob'],
      );
      const began = cluster.runners.began.filter(({ job }) => job === chunk.name);
      assert.deepEqual(
        began.map(({ attempt }) => attempt),
        chunk.ids.map((_, at) => at + 1),
      );
      assert.deepEqual(
        addresses,
        chunk.ids.map((id) => `https://media.example.org/${id}.mp4`),
      );
      assert.equal(new Set(began.map(({ uid }) => uid)).size, 1);
      assert.equal(cluster.most(chunk.token), 1);
      // Its runner takes the next job at once.
      const next = await cluster.submit();
      await cluster.ended(next.id);
    });

  it('two of a token that may run one run one after the other', async () => {
    await start({ minReady: 2, maxPods: 2 });
    await cluster.ready(2);
    const token = await cluster.newToken(1);
    const chunks = [await submit(10, { token }), await submit(10, { token })];
    await cluster.ended(...chunks.flatMap(({ ids }) => ids));
    for (const chunk of chunks) await isOver(chunk, 'Completed');
    assert.equal(cluster.most(token), 1);
  });

  it('an item that ends at its deadline ends the chunk, and what it did not come to waits again', async () => {
    await start();
    cluster.runners.behaviour.go = ({ attempt }) => (attempt === 3 ? 'hold' : { ms: 5 });
    const chunk = await submit(5, { timeoutMs: 300 });
    assert.deepEqual(await reasonsOf(chunk.ids.slice(0, 3)), ['Completed', 'Completed', 'DeadlineExceeded']);
    await isOver(chunk, 'DeadlineExceeded');
    assert.deepEqual(await itemsOf(chunk), [running(), running(), running(), WAITS, WAITS]);
    await isFree();
  });

  it('its time is counted for each item', async () => {
    await start();
    cluster.runners.behaviour.go = ({ remainingMs }) => (remainingMs > 3_500 ? { ms: 700 } : 'hold');
    const chunk = await submit(4, { timeoutMs: 4_000 });
    assert.deepEqual(
      await reasonsOf(chunk.ids),
      chunk.ids.map(() => 'Completed'),
    );
  });

  it('with its runner lost, the item that ran ends so, and the others wait again', async () => {
    await start();
    hold();
    const chunk = await submit(4);
    await isAt(chunk, 1);
    await finish(chunk);
    await isAt(chunk, 2);
    const [pod] = await cluster.pods();
    await cluster.kube.delete(PODS, pod!.metadata.name, { namespace: cluster.runnerNamespace, gracePeriodSeconds: 0 });
    assert.deepEqual(await reasonsOf(chunk.ids.slice(0, 2)), ['Completed', 'RunnerLost']);
    await isOver(chunk, 'RunnerLost');
    assert.deepEqual(await itemsOf(chunk), [running(), running(), WAITS, WAITS]);
  });

  it('that no runner accepts goes back as a whole', async () => {
    await start();
    cluster.runners.behaviour.go = () => 'busy';
    const chunk = await submit(3);
    await isOver(chunk, 'Cancelled');
    assert.deepEqual(await itemsOf(chunk), [WAITS, WAITS, WAITS]);
  });

  it('that is deleted ends the item that runs, and the others wait again', async () => {
    await start();
    hold();
    const chunk = await submit(3);
    await isAt(chunk, 1);
    await cluster.kube.delete(PROBE_JOBS, chunk.name);
    assert.deepEqual(await reasonsOf(chunk.ids.slice(0, 1)), ['Cancelled']);
    await until('the others wait', async () => (await itemsOf(chunk))[2]?.[0] === 'waiting');
    assert.deepEqual(await itemsOf(chunk), [running(), WAITS, WAITS]);
    await isFree();
  });

  it('whose batch is paused ends with the item that runs', async () => {
    await start();
    hold();
    const chunk = await submit(3);
    await isAt(chunk, 1);
    await cluster.servers.stored.store.moveBatch({ id: chunk.batch, from: ['running'], to: 'paused', reason: null });
    await finish(chunk);
    await isOver(chunk, 'Completed');
    assert.deepEqual(await reasonsOf(chunk.ids.slice(0, 1)), ['Completed']);
    assert.deepEqual(await itemsOf(chunk), [running(), WAITS, WAITS]);
    assert.equal((await cluster.kube.get(PROBE_JOBS, chunk.name)).status?.summary, '1 of 3 sources were read');
  });

  /** While the leader asks the record whether a chunk goes on after its first item. */
  async function betweenItems(chunk: Chunk, work: () => Promise<unknown>): Promise<void> {
    const { stored } = cluster.servers;
    const [{ asked } = { asked: '' }] = await stored.sql<{ asked: string }>(
      `select pg_get_functiondef('open_of_chunk'::regproc) asked`,
    );
    try {
      await stored.sql(asked.replace('\nbegin', '\nbegin perform pg_sleep(1);'));
      await finish(chunk);
      await until('the record is asked', async () => {
        const asking = `select 1 from pg_stat_activity where query like '%from open_of_chunk%' and state = 'active'
          and pid <> pg_backend_pid()`;
        return (await stored.sql(asking)).length > 0;
      });
      await work();
    } finally {
      await stored.sql(asked);
    }
  }

  it('does not go on at a second notice of an end while the record is asked', async () => {
    await start();
    hold();
    const chunk = await submit(3);
    await isAt(chunk, 1);
    const { stored, bus } = cluster.servers;
    await stored.store.moveBatch({ id: chunk.batch, from: ['running'], to: 'paused', reason: null });
    await betweenItems(chunk, () => {
      const end = { id: chunk.ids[0], job: chunk.name, namespace: cluster.namespace, attempt: 1 };
      bus.publish(SUBJECT.closed, { ...end, reason: 'Completed', summary: 'completed', tools: [] });
      return isOver(chunk, 'Completed');
    });
    assert.deepEqual(await itemsOf(chunk), [running(), WAITS, WAITS]);
    assert.deepEqual(cluster.runners.began.filter(({ job }) => job === chunk.name).length, 1);
  });

  it('that is deleted between two items begins no other, and they wait again', async () => {
    await start();
    hold();
    const chunk = await submit(3);
    await isAt(chunk, 1);
    await betweenItems(chunk, () => cluster.kube.delete(PROBE_JOBS, chunk.name));
    await until('the others wait', async () => (await itemsOf(chunk))[2]?.[0] === 'waiting');
    assert.deepEqual(await itemsOf(chunk), [running(), WAITS, WAITS]);
    assert.deepEqual(await reasonsOf(chunk.ids.slice(0, 1)), ['Completed']);
    assert.deepEqual(cluster.runners.began.filter(({ job }) => job === chunk.name).length, 1);
    await isFree();
  });

  it('whose next item is cancelled between two items passes it over', async () => {
    await start();
    hold();
    const chunk = await submit(3);
    await isAt(chunk, 1);
    await betweenItems(chunk, async () => assert.deepEqual(await cancel(chunk.ids[1]!), { ended: true }));
    await isAt(chunk, 3);
    await finish(chunk);
    assert.deepEqual(await reasonsOf(chunk.ids), ['Completed', 'Cancelled', 'Completed']);
  });

  it('whose last item is cancelled between two items ends', async () => {
    await start();
    hold();
    const chunk = await submit(2);
    await isAt(chunk, 1);
    await betweenItems(chunk, async () => assert.deepEqual(await cancel(chunk.ids[1]!), { ended: true }));
    await isOver(chunk, 'Completed');
    assert.deepEqual(await reasonsOf(chunk.ids), ['Completed', 'Cancelled']);
    await isFree();
  });

  it('whose batch has filled a quota with it is read to its end', async () => {
    await start();
    hold();
    const chunk = await submit(3);
    await isAt(chunk, 1);
    await cluster.servers.stored.store.moveBatch({
      id: chunk.batch,
      from: ['running'],
      to: 'stopped',
      reason: 'QuotaExceeded',
    });
    cluster.runners.behaviour.go = () => ({ ms: 5 });
    await finish(chunk);
    assert.deepEqual(
      await reasonsOf(chunk.ids),
      chunk.ids.map(() => 'Completed'),
    );
  });

  it('gives way to a caller who waits for its runner, and to one of its token at the limit', async () => {
    for (const size of [1, 2]) {
      await start({ minReady: size, maxPods: size });
      await cluster.ready(size);
      const token = await cluster.newToken(1);
      hold();
      const chunk = await submit(3, { token });
      await isAt(chunk, 1);
      const caller = await cluster.submit(size === 1 ? {} : { token });
      await until('the caller waits', () => cluster.reason(caller.id) !== '', 10_000);
      await finish(chunk);
      await isOver(chunk, 'Completed');
      assert.deepEqual(await itemsOf(chunk), [running(), WAITS, WAITS]);
      await until('the caller has their turn', () => cluster.runners.of(caller.id));
      assert.equal(cluster.most(token), 1);
      await cluster.stop();
    }
  });

  /** An order may be late, but none is early. */
  const assertPaced = (beganAfter: readonly number[]): void =>
    assert.deepEqual(
      beganAfter.filter((ms, item) => ms < item * (ITEM_EVERY_MS - 2)),
      [],
    );
  /** On a node of two cores, where a caller has a job: when what comes next begins, from now on. */
  async function besideCaller(runners: number): Promise<number[]> {
    await start({ minReady: runners, maxPods: runners });
    cluster.runners.behaviour.cores = 2;
    await cluster.ready(runners);
    await Promise.all(cluster.runners.all().map((runner) => runner.beat()));
    hold();
    const caller = await cluster.submit();
    await until('the caller has a runner', () => cluster.runners.of(caller.id));
    const beganAfter: number[] = [];
    const since = performance.now();
    cluster.runners.behaviour.go = () => {
      beganAfter.push(performance.now() - since);
      return { ms: 5 };
    };
    return beganAfter;
  }

  it('rests between its items while a caller has a job on its node, and gives way meanwhile', async () => {
    const beganAfter = await besideCaller(2);
    const chunk = await submit(40);
    await until('items run', () => beganAfter.length > 4, 20_000);
    assertPaced(beganAfter);
    const next = await cluster.submit();
    await isOver(chunk, 'Completed');
    await cluster.ended(next.id);
    assert.deepEqual((await itemsOf(chunk)).at(-1), WAITS);
  });

  it('takes one turn, however many notices there are of an end', async () => {
    const beganAfter = await besideCaller(2);
    const chunk = await submit(40);
    await cluster.ended(chunk.ids[0]!);
    const end = { id: chunk.ids[0], job: chunk.name, namespace: cluster.namespace, attempt: 1 };
    for (let sent = 0; sent < 200; sent++)
      cluster.servers.bus.publish(SUBJECT.closed, { ...end, reason: 'Completed', summary: 'completed', tools: [] });
    await until('items run', () => beganAfter.length > 4);
  });

  it('whose item ended unnoticed waits for its turn, and holds up no check of other jobs', async () => {
    const { term } = await start({ minReady: 2, maxPods: 2 });
    const { leader, runners } = term;
    cluster.runners.behaviour.cores = 2;
    await cluster.ready(2);
    await Promise.all(cluster.runners.all().map((runner) => runner.beat()));
    hold();
    const caller = await cluster.submit();
    await until('the caller has a runner', () => cluster.runners.of(caller.id));
    const chunk = await submit(3);
    await isAt(chunk, 1);
    const { uid } = cluster.runners.of(chunk.name)!;
    const beside = { runners: runners.all(), isItem: () => false };
    leader.pace.waitMs('other', runners.get(uid)!, beside, performance.now() + 3_600_000);
    const id = chunk.ids[0]!;
    const { submittedAt } = await cluster.record(id);
    await cluster.servers.stored.store.closeRequest(aCloseInput({ id, submittedAt }));
    const job = leader.jobs.taken(chunk.name)!;
    job.goAt -= 10_000;
    runners.get(uid)!.jobsDone += 1;
    await tick(leader);
    await until('it waits', () => job.timers.length === 0);
    assert.deepEqual([job.state, job.attempt], ['running', 1]);
  });

  it('an item begins on a node without callers, and takes no runner while it waits', async () => {
    const { term } = await start({ minReady: 4, maxPods: 4 });
    const { leader, pools, runners } = term;
    cluster.runners.behaviour.cores = 2;
    await cluster.ready(4);
    await Promise.all(cluster.runners.all().map((runner) => runner.beat()));
    hold();
    const caller = await cluster.submit();
    const busy = await until('the caller has a runner', () => cluster.runners.of(caller.id));
    const [free, ...others] = cluster.runners.all().filter((runner) => runner !== busy);
    // The next turn beside the caller is in an hour.
    const beside = { runners: runners.all(), isItem: () => false };
    assert.equal(leader.pace.waitMs('other', runners.get(free!.uid)!, beside, performance.now() + 3_600_000), 0);
    const item = await cluster.submit({ spec: { background: true } });
    await until('the item waits', () => leader.ledger.isWaiting(item.id));
    for (let asked = 0; asked < 20; asked++) {
      leader.schedule('short');
      await Promise.resolve();
    }
    assert.ok(pools.byName.get('short')!.taken.length <= 1);
    const path = `/api/v1/namespaces/${cluster.runnerNamespace}/pods/${free!.pod}/binding`;
    const body = { metadata: { name: free!.pod }, target: { kind: 'Node', name: 'another' } };
    await cluster.kube.request({ method: 'POST', path, body });
    await until('it is seen on its node', () => runners.get(free!.uid)?.node);
    for (const one of [...others, free!]) await one.beat();
    leader.schedule('short');
    assert.equal((await until('the item has a runner', () => cluster.runners.of(item.id))).uid, free!.uid);
  });

  it('items that are jobs of their own begin by the same pace', async () => {
    const beganAfter = await besideCaller(4);
    const items = await Promise.all([1, 2, 3].map(() => cluster.submit({ spec: { background: true } })));
    await cluster.ended(...items.map(({ id }) => id));
    assertPaced(beganAfter);
  });

  const ordersOf = ({ name }: Chunk) =>
    cluster.runners
      .all()
      .flatMap(({ orders }) =>
        orders
          .filter(({ job, what }) => job === name && what !== 'prepare')
          .map(({ what, attempt }) => `${what} ${attempt}`),
      );
  const CANCELS: {
    what: string;
    /** Places, once that one runs; 0: while the chunk waits. */
    at: number;
    cancel: number[];
    answers: boolean[];
    reasons: string[];
    orders: string[];
  }[] = [
    {
      what: 'that runs is stopped, and the next one begins',
      at: 1,
      cancel: [1],
      answers: [true],
      reasons: ['Cancelled', 'Completed', 'Completed'],
      orders: ['go 1', 'cancel 1', 'go 2', 'go 3'],
    },
    {
      what: 'that is the last one ends the chunk',
      at: 3,
      cancel: [3],
      answers: [true],
      reasons: ['Completed', 'Completed', 'Cancelled'],
      orders: ['go 1', 'go 2', 'go 3', 'cancel 3'],
    },
    {
      what: 'that is cancelled twice at once is stopped once',
      at: 2,
      cancel: [2, 2],
      answers: [true, true],
      reasons: ['Completed', 'Cancelled', 'Completed'],
      orders: ['go 1', 'go 2', 'cancel 2', 'go 3'],
    },
    {
      what: 'that waits is passed over',
      at: 1,
      cancel: [2],
      answers: [true],
      reasons: ['Completed', 'Cancelled', 'Completed'],
      orders: ['go 1', 'go 3'],
    },
    {
      what: 'that would be the first one is passed over, and so is the next one',
      at: 0,
      cancel: [1, 2],
      answers: [true, true],
      reasons: ['Cancelled', 'Cancelled', 'Completed'],
      orders: ['go 3'],
    },
    {
      what: 'that runs, and those that wait: nothing is left of the chunk',
      at: 1,
      cancel: [3, 2, 1],
      answers: [true, true, true],
      reasons: ['Cancelled', 'Cancelled', 'Cancelled'],
      orders: ['go 1', 'cancel 1'],
    },
    {
      what: 'that has ended keeps its end, and there is no fourth one',
      at: 2,
      cancel: [1, 4],
      answers: [false, false],
      reasons: ['Completed', 'Completed', 'Completed'],
      orders: ['go 1', 'go 2', 'go 3'],
    },
  ];
  for (const { what, at, cancel: places, answers, reasons, orders } of CANCELS)
    it(`an item ${what}`, async () => {
      await start();
      hold();
      const before = at === 0 ? await cluster.submit() : undefined;
      if (before) await until('another job runs', () => cluster.runners.of(before.id));
      const chunk = await submit(3);
      if (before) await until('the chunk waits', () => cluster.reason(chunk.name) !== '', 10_000);
      for (let place = 1; place < at; place++) {
        await isAt(chunk, place);
        await finish(chunk);
      }
      if (!before) await isAt(chunk, at);
      cluster.runners.behaviour.used = { bytes: 1_234, ms: 77 };
      cluster.runners.behaviour.go = () => ({ ms: 5 });
      const given = await Promise.all(places.map((place) => cancel(requestOfChunk(chunk.name, place))));
      assert.deepEqual(
        given,
        answers.map((ended) => ({ ended })),
      );
      if (before) await cluster.runners.of(before.id)!.finish();
      else if (!places.includes(at)) await finish(chunk);
      const records = await cluster.ended(...chunk.ids);
      assert.deepEqual(
        records.map(({ reason }) => reason),
        reasons,
      );
      const used = 'select io_bytes::integer, usage_ms from requests where id = $1';
      if (places.includes(at))
        assert.deepEqual(await cluster.servers.stored.sql(used, [chunk.ids[at - 1]]), [
          { io_bytes: 1_234, usage_ms: 77 },
        ]);
      await isOver(chunk, 'Completed');
      assert.deepEqual(ordersOf(chunk), orders);
      assert.deepEqual(
        await itemsOf(chunk),
        chunk.ids.map(() => running()),
      );
      await isFree();
    });

  it('an item on a runner that does not answer ends, and what comes after it waits again', async () => {
    await start();
    hold();
    const chunk = await submit(3);
    await isAt(chunk, 1);
    cluster.runners.of(chunk.name)!.mute = true;
    assert.deepEqual(await cancel(chunk.ids[0]!), { ended: true });
    assert.deepEqual(await reasonsOf(chunk.ids.slice(0, 1)), ['Cancelled']);
    await isOver(chunk, 'Completed');
    assert.deepEqual(await itemsOf(chunk), [running(), WAITS, WAITS]);
  });

  it('an item goes on where its leader is not sure of its lease', async () => {
    const { lease } = await start();
    hold();
    const chunk = await submit(2);
    await isAt(chunk, 1);
    lease.ageMs = 5_000;
    assert.deepEqual([await cancel(chunk.ids[0]!), await cancel(chunk.ids[1]!)], [{ ended: false }, { ended: false }]);
    lease.ageMs = 0;
    await finish(chunk);
    await isAt(chunk, 2);
    await finish(chunk);
    assert.deepEqual(await reasonsOf(chunk.ids), ['Completed', 'Completed']);
    assert.deepEqual(ordersOf(chunk), ['go 1', 'go 2']);
  });

  it('an item of a chunk that a new leader found is stopped, and the others wait again', async () => {
    const first = await start();
    hold();
    const chunk = await submit(3);
    await isAt(chunk, 1);
    await first.stop();
    await cluster.controller({ epoch: 2 });
    await cluster.ready();
    assert.deepEqual(await cancel(chunk.ids[0]!), { ended: true });
    await isOver(chunk, 'Completed');
    assert.deepEqual(ordersOf(chunk), ['go 1', 'cancel 1']);
    assert.deepEqual(await itemsOf(chunk), [running(), WAITS, WAITS]);
  });

  it('ends when its runner is worn', async () => {
    await start({ reuse: { scope: 'any', maxJobs: 3, maxAgeSeconds: 3600, idleSeconds: 600 } });
    const chunk = await submit(8);
    await isOver(chunk, 'Completed');
    const states = (await itemsOf(chunk)).map(([state]) => state);
    assert.ok(states.lastIndexOf('running') < 4, states.join());
    assert.equal(states.at(-1), 'waiting');
  });

  it('in a pool with a runner for each job has one item', async () => {
    await start({ reuse: { scope: 'job', maxJobs: 100, maxAgeSeconds: 3600, idleSeconds: 600 } });
    const chunk = await submit(3);
    await isOver(chunk, 'Completed');
    assert.deepEqual(await itemsOf(chunk), [running(), WAITS, WAITS]);
  });

  it('that waits for too long: the first item says so, and the others wait for longer', async () => {
    await start();
    hold();
    const before = await cluster.submit();
    await until('another job runs', () => cluster.runners.of(before.id));
    const chunk = await submit(3, { queueTimeoutMs: 200 });
    assert.deepEqual(await reasonsOf(chunk.ids.slice(0, 1)), ['QueueTimeout']);
    await isOver(chunk, 'QueueTimeout');
    assert.deepEqual(await itemsOf(chunk), [running(), WAITS, WAITS]);
    const claimed = await cluster.servers.stored.store.claimItems({
      batch: chunk.batch,
      full: [],
      after: null,
      limit: 9,
    });
    assert.deepEqual(claimed.items, []);
  });

  for (const [what, sources] of [
    ['fewer sources than items', ['https://media.example.org/a.mp4']],
    ['credentials', ['https://a:b@media.example.org/a.mp4', 'https://media.example.org/b.mp4']],
    ['a query', ['https://media.example.org/a.mp4', 'https://media.example.org/b.mp4?key=secret']],
  ] as const)
    it(`with ${what} is refused: the first item says so, and the others wait again`, async () => {
      await start();
      const chunk = await submit(2, { sources: [...sources] });
      assert.deepEqual(await reasonsOf(chunk.ids.slice(0, 1)), ['InvalidRequest']);
      await isOver(chunk, 'InvalidRequest');
      assert.deepEqual(await itemsOf(chunk), [running(), WAITS]);
    });

  it('a new leader takes the result of the item that runs, and ends the chunk', async () => {
    const first = await start();
    hold();
    const chunk = await submit(4);
    await isAt(chunk, 1);
    await finish(chunk);
    await isAt(chunk, 2);
    await first.stop();
    await cluster.controller({ epoch: 2 });
    await cluster.ready();
    await finish(chunk);
    assert.deepEqual(await reasonsOf(chunk.ids.slice(0, 2)), ['Completed', 'Completed']);
    await isOver(chunk, 'Completed');
    assert.deepEqual(await itemsOf(chunk), [running(), running(), WAITS, WAITS]);
    assert.equal(cluster.most(chunk.token), 1);
    const next = await cluster.submit();
    await until('its runner is free', () => cluster.runners.of(next.id));
  });

  for (const drains of [false, true])
    it(`a new leader returns at once what nobody ordered${drains ? ' a runner that drains' : ''}`, async () => {
      const first = await start();
      hold();
      const chunk = await submit(3);
      await isAt(chunk, 1);
      await first.stop();
      const open = { id: chunk.ids[0]!, submittedAt: timeOf(chunk.name)! };
      await cluster.servers.stored.store.closeRequest(aCloseInput(open));
      await finish(chunk);
      await cluster.controller({ epoch: 2 });
      if (drains) for (const runner of cluster.runners.all()) runner.drain();
      await until('it has ended', () => cluster.reason(chunk.name) === 'Cancelled', 10_000);
      assert.deepEqual(await itemsOf(chunk), [running(), WAITS, WAITS]);
      await isFree();
    });

  it('the sweep finds the job of each request by its chunk, and returns what has none', async () => {
    cluster = await startCluster();
    const { stored, bus } = cluster.servers;
    const long = uuidv7(stored.store.clock.now() - 200_000);
    const submittedAt = timeOf(long)!;
    const chunk = await opened(2, {}, { id: long, submittedAt });
    const { name } = chunk;
    const ofNoBatch = requestOfChunk(name, 3);
    await stored.store.openRequest(anOpenInput(stored.store, { id: ofNoBatch, submittedAt }));
    const behind: string[] = [];
    const swept = (knows: string, cached: string): Promise<number> =>
      makeSweep(
        {
          deps: {
            store: stored.store,
            bus,
            log: pino({ level: 'silent' }),
            kube: cluster.kube,
            namespace: cluster.namespace,
            jobs: { countBy: (_: string, job: string) => Number(job === cached) },
            term: { signal: AbortSignal.timeout(30_000) },
          },
          live: true,
          knows: (job: string) => job === knows || !job.startsWith(name.slice(0, -2)),
        } as unknown as Leader,
        { behind: async (job) => void behind.push(job) },
      )();
    assert.deepEqual([await swept(name, ''), await swept('', name)], [0, 0]);
    const spec = { kind: 'file' as const, source: { url: 'https://media.example.org/a.mp4' } };
    await cluster.kube.create(PROBE_JOBS, { metadata: { name, namespace: cluster.namespace }, spec });
    assert.deepEqual([await swept('', ''), behind], [0, [name, name, name]]);
    await cluster.kube.delete(PROBE_JOBS, name, { namespace: cluster.namespace });
    assert.equal(await swept('', ''), 3);
    assert.deepEqual(await itemsOf(chunk), [WAITS, WAITS]);
    assert.deepEqual(await reasonsOf([ofNoBatch]), ['Cancelled']);
  });

  it('a runner ends no item of another chunk, and none that there is not', async () => {
    await start({ minReady: 2, maxPods: 2 });
    await cluster.ready(2);
    hold();
    const [mine, other] = [await submit(2), await submit(2)];
    await Promise.all([isAt(mine, 1), isAt(other, 1)]);
    const liar = cluster.runners.of(mine.name)!;
    const order = { assignment: { tools: [{ name: 'ffprobe', version: '7.0' }] } } as Parameters<typeof success>[0];
    const claim = async (job: string, attempt: number): Promise<void> => {
      const of = { job, attempt, epoch: 1, podUid: liar.uid };
      await offerResult(cluster.servers.bus, await packResult(success(order), of));
    };
    await claim(other.name, 1);
    await claim(other.name, 2);
    for (const attempt of [0, 3, -1]) await claim(mine.name, attempt);
    await claim(mine.ids[1]!, 1);
    assert.deepEqual(await cluster.servers.stored.store.endsFor([...mine.ids, ...other.ids]), []);
    await claim(mine.name, 1);
    assert.deepEqual(await reasonsOf(mine.ids.slice(0, 1)), ['Completed']);
  });
});
