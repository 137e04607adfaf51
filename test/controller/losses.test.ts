/** Failures of runners and results: the job is retried or gets the right end, and only one. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { makeBodyRoom } from '../../src/platform/bus/body_room.ts';
import { CHUNK_BYTES, SUBJECT } from '../../src/platform/bus/messages.ts';
import { packBody, resultMessage } from '../../src/platform/bus/packing.ts';
import { packResult } from '../result/text_body.ts';
import { offerResult, publishResult } from '../../src/platform/bus/results.ts';
import { PODS, PROBE_JOBS } from '../../src/platform/kube/client.ts';
import { until } from '../until.ts';
import { clusterOfEach, type Cluster } from './cluster_parts.ts';
import type { Controller } from './controller_part.ts';
import { gateAt, isAdmission, isEnd, losing } from './obstacles.ts';
import { success } from './simulated_runners.ts';

/** An end whose result does not matter. */
const NOTHING_KEPT = { attempt: 1, startedAt: null, tools: [], ioBytes: 0, body: null };

const uids = async (pods: Cluster['pods']) => (await pods()).map(({ metadata }) => metadata.uid);

/** None of them is gone. */
async function assertKept(before: readonly (string | undefined)[], pods: Cluster['pods']): Promise<void> {
  const after = await uids(pods);
  assert.deepEqual(
    before.filter((uid) => !after.includes(uid)),
    [],
  );
}

describe('lost runners and results', function () {
  this.timeout(60_000);
  const { start, led, held, current, ready } = clusterOfEach();
  const one = { pools: { short: { minReady: 1, maxPods: 1 } } };
  const remove = (id: string) => current().kube.delete(PROBE_JOBS, id, { namespace: current().namespace });

  for (const why of ['busy', 'tenant', 'draining', 'tools'] as const) {
    it(`a runner that refuses an order (${why}) costs no attempt: another runner takes the job`, async () => {
      const { submit, ended, runners } = await led({ minReady: 2 });
      let bad: string | undefined;
      runners.behaviour.go = (_order, { uid }) => (uid === (bad ??= uid) ? why : { ms: 5 });
      const jobs = [await submit(), await submit(), await submit()];
      const records = await ended(...jobs.map(({ id }) => id));
      assert.deepEqual(
        records.map(({ state }) => state),
        ['success', 'success', 'success'],
      );
      const refused =
        runners
          .all()
          .find(({ uid }) => uid === bad)
          ?.orders.filter(({ what }) => what === 'go').length ?? 1;
      assert.ok(refused <= 3, `asked ${refused} times`);
    });
  }

  it('the only runner refuses several times before it accepts: the job is not lost', async () => {
    const { submit, ended, runners, job } = await led();
    let refusals = 4;
    runners.behaviour.go = () => (refusals-- > 0 ? 'busy' : { ms: 5 });
    const { id } = await submit();
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
    assert.equal(job(id)?.status?.attempts, 5);
  });

  it('a runner that does not respond is ended, and the job runs elsewhere', async () => {
    const { submit, ended, runners, pods, job } = await led({ minReady: 2 });
    let dead: string | undefined;
    runners.behaviour.go = (_order, { uid }) => (uid === (dead ??= uid) ? 'silent' : { ms: 5 });
    const { id } = await submit();
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
    assert.equal(job(id)?.status?.attempts, 2);
    await until('its pod is gone', async () => (await pods()).every(({ metadata }) => metadata.uid !== dead));
  });

  it('runners that are not connected cost no attempt and keep their pods', async () => {
    const { submit, ended, runners, pods, job, log } = await led({ minReady: 4 });
    const before = await uids(pods);
    for (const runner of runners.all()) runner.leave();
    const { id } = await submit();
    const losses = () => log.filter(({ msg }) => msg === 'attempt lost');
    await until('each was asked', () => losses().length === 4);
    for (const runner of runners.all()) runner.comeBack();
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
    assert.equal(job(id)?.status?.attempts, 5);
    for (const { cause, why } of losses()) assert.match(`${cause}: ${why}`, /^absent: runner .+ is not connected/);
    await assertKept(before, pods);
  });

  it('while NATS is away no job is admitted and no runner is lost', async () => {
    const { submit, ended, runners, pods, job, servers, bus, log, term } = await led({ minReady: 3 });
    const before = await uids(pods);
    const { nats } = servers;
    await nats.kill();
    await until('the connection is lost', () => !bus.connected());
    const { id } = await submit();
    await until('the leader has it', () => term.leader.ledger.waiting === 1);
    await nats.restart();
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
    assert.equal(job(id)?.status?.attempts, 1);
    assert.deepEqual(
      log.filter(({ msg }) => msg === 'attempt lost' || msg === 'runner pod ended'),
      [],
    );
    assert.equal(runners.began.length, 1);
    await assertKept(before, pods);
  });

  for (const takes of [true, false])
    it(`an answer that is cut off: the runner ${takes ? 'took' : 'did not take'} the order`, async () => {
      const { submit, ended, runners, pods, job, servers, bus, log } = await led({ minReady: 1 });
      const { nats } = servers;
      const before = await uids(pods);
      let killed: Promise<void> | undefined;
      runners.behaviour.go = () => {
        if (killed) return { ms: 5 };
        nats.freeze();
        killed = nats.kill();
        return takes ? 'hold' : 'silent';
      };
      const { id } = await submit();
      await until('the order was given', () => killed !== undefined);
      await killed;
      await until('the connection is lost', () => !bus.connected());
      await nats.restart();
      if (takes) await runners.of(id)!.finish();
      const [record] = await ended(id);
      assert.equal(record?.state, 'success');
      assert.equal(job(id)?.status?.attempts, takes ? 1 : 2);
      assert.deepEqual(
        log.filter(({ msg }) => msg === 'attempt lost').map(({ cause }) => cause),
        takes ? [] : ['idle'],
      );
      await assertKept(before, pods);
    });

  it('a runner that exits on its own is replaced at once', async () => {
    const { submit, ended, runners, newToken, pods, log } = await led();
    const token = await newToken(1);
    await ended((await submit({ token })).id);
    const [first] = runners.all();
    // A runner that has run its number of jobs: its agent exits, and the other container keeps the pod.
    first!.drain();
    // The leader knows it before it gives the next job to somebody.
    await first!.beat();
    first!.mute = true;
    await ended((await submit({ token })).id);
    assert.ok((await pods()).every(({ metadata }) => metadata.uid !== first!.uid));
    assert.deepEqual(
      log.filter(({ msg }) => msg === 'runner pod ended').map(({ why }) => why),
      ['drained'],
    );
  });

  it('a pod whose agent has exited is lost with its job: attempt 2', async () => {
    const { submit, ended, runners, kube, runnerNamespace, job, log } = await led({ minReady: 2 });
    runners.behaviour.go = ({ attempt }) => (attempt === 1 ? 'hold' : { ms: 5 });
    const { id } = await submit();
    const first = await until('it runs', () => runners.of(id));
    first.mute = true;
    const [agent, tools] = [
      { name: 'agent', state: { terminated: { exitCode: 137 } } },
      { name: 'tools', state: { running: {} } },
    ];
    const containerStatuses = [agent, tools].map((container) => ({
      ...container,
      ready: false,
      restartCount: 0,
      image: 'i',
      imageID: 'i',
    }));
    await kube.mergePatchStatus(
      PODS,
      first.pod,
      { phase: 'Running', containerStatuses },
      { namespace: runnerNamespace },
    );
    const [record] = await ended(id);
    assert.deepEqual([record?.state, job(id)?.status?.attempts], ['success', 2]);
    assert.deepEqual(
      log.filter(({ msg }) => msg === 'runner pod ended').map(({ why }) => why),
      ['ended'],
    );
  });

  it('a pod deleted while busy is lost: attempt 2; the third loss ends the job', async () => {
    const { submit, ended, runners, kube, runnerNamespace, job, reason } = await led({ minReady: 1 });
    let losses = 0;
    runners.behaviour.go = (_order, { pod }) => {
      losses += 1;
      void kube.delete(PODS, pod, { namespace: runnerNamespace, gracePeriodSeconds: 0 });
      return 'hold';
    };
    const { id } = await submit();
    const [record] = await ended(id);
    assert.equal(losses, 3);
    assert.deepEqual([record?.state, record?.status, record?.reason], ['error', 500, 'RunnerLost']);
    await until('the job shows RunnerLost', () => reason(id) === 'RunnerLost');
    assert.equal(job(id)?.status?.attempts, 3);
  });

  it('a runner without heartbeats is lost, and its late result does not replace the second attempt', async () => {
    const { submit, ended, runners, bus, told, term } = await led({ minReady: 2 });
    runners.behaviour.go = (order) => (order.attempt === 1 ? 'hold' : { ms: 5 });
    const { id } = await submit();
    const first = await until('it runs', () => runners.of(id));
    first.mute = true;
    // What the pod watch reports when a node is gone.
    term.podGone({
      metadata: {
        name: first.pod,
        uid: first.uid,
        labels: { 'app.kubernetes.io/component': 'runner', 'probeyard.dev/pool': 'short' },
      },
    });
    const [record] = await ended(id);
    assert.equal(record?.state, 'success');
    const late = await packResult({ tools: [], ioUsage: 0 }, { job: id, attempt: 1, epoch: 1, podUid: first.uid });
    const confirmed = Promise.withResolvers<void>();
    const hearing = bus.subscribe(SUBJECT.collected(first.uid), () => confirmed.resolve());
    await publishResult(bus, late);
    await confirmed.promise;
    hearing.stop();
    const after = await current().record(id);
    assert.deepEqual([after.state, after.status], ['success', 200]);
    assert.equal(told.get(id)?.length, 1);
  });

  it('two results of one attempt make one end', async () => {
    const { ended, bus, told, id, runner, reason } = await held();
    const went = runner.orders.find(({ what }) => what === 'go');
    const order = { job: id, attempt: 1, epoch: went?.epoch ?? 1, podUid: runner.uid };
    const body = success({ assignment: { tools: [{ name: 'ffprobe', version: '7.0' }] } } as never);
    await Promise.all([
      publishResult(bus, await packResult(body, order)),
      offerResult(bus, await packResult(body, order)),
      publishResult(bus, await packResult({ ...body, ioUsage: 77 }, order)),
      offerResult(bus, await packResult({ ...body, ioUsage: 78 }, order)),
    ]);
    await runner.finish();
    const [record] = await ended(id);
    assert.equal(record?.status, 200);
    await until('the slot is free', () => reason(id) === 'Completed');
    assert.ok((told.get(id)?.length ?? 0) >= 1);
    assert.equal(new Set(told.get(id)?.map(({ status }) => status)).size, 1);
  });

  it('a result that arrives after another end is answered with that end', async () => {
    const { bus, store, told, id, submittedAt, runner, reason } = await held();
    // The collector died between the record and the notices.
    await store.closeRequest({
      id,
      submittedAt,
      state: 'error',
      status: 404,
      reason: 'OriginUnreachable',
      error: 'the host answered 404',
      ...NOTHING_KEPT,
    });
    const epoch = runner.orders.find(({ what }) => what === 'go')?.epoch ?? 1;
    const body = success({ assignment: { tools: [{ name: 'ffprobe', version: '7.0' }] } } as never);
    await publishResult(bus, await packResult(body, { job: id, attempt: 1, epoch, podUid: runner.uid }));
    await until('the caller has its notice', () => told.get(id)?.length);
    assert.deepEqual(
      told.get(id)?.map(({ status, error, hasBody }) => ({ status, error, hasBody })),
      [{ status: 404, error: 'the host answered 404', hasBody: false }],
    );
    await until('the job shows OriginUnreachable', () => reason(id) === 'OriginUnreachable');
    await runner.finish();
  });

  for (const [what, body] of [
    ['is malformed', { tools: 'none', ioUsage: -1 }],
    ['has an unknown failure reason', { tools: [{ name: 'ffprobe', failure: 'x' }], ioUsage: 0 }],
  ] as const) {
    it(`a result that ${what} ends the request with an error that says so`, async () => {
      const { ended, bus, id, runner } = await held();
      const of = { job: id, attempt: 1, epoch: 1, podUid: runner.uid };
      await publishResult(bus, resultMessage(packBody(body as never), of));
      const [record] = await ended(id);
      assert.deepEqual(
        [record?.state, record?.status, record?.error],
        ['error', 200, 'the runner sent an unreadable result'],
      );
    });
  }

  it('a result of more chunks than a collector can hold ends the request, and is not fetched', async () => {
    const { ended, bus, id, runner } = await held();
    const { header } = resultMessage(packBody({} as never), { job: id, attempt: 1, epoch: 1, podUid: runner.uid });
    await publishResult(bus, { header: { ...header, chunks: 193 }, chunks: [] });
    const [record] = await ended(id);
    assert.deepEqual(
      [record?.state, record?.status, record?.error],
      ['error', 200, 'the runner sent an unreadable result'],
    );
  });

  it('large results are collected one after another when a replica has room for one', async () => {
    const { submit, ended, controller, runners, bus } = await start({ pools: { short: { minReady: 3, maxPods: 3 } } });
    const room = makeBodyRoom({ totalBytes: 3 * CHUNK_BYTES, mostWaiting: 8 });
    let [most, asked] = [0, 0];
    await controller({
      room: {
        ...room,
        async reserve(bytes) {
          const release = await room.reserve(bytes);
          [most, asked] = [Math.max(most, room.used()), asked + 1];
          return release;
        },
      },
    });
    await ready(3);
    runners.behaviour.go = () => 'hold';
    const ids = (await Promise.all([submit(), submit(), submit()])).map(({ id }) => id);
    const packed = await Promise.all(
      ids.map(async (id) => {
        const runner = await until('it runs', () => runners.of(id));
        const body = success({ assignment: { tools: [{ name: 'ffprobe', version: '7.0' }] } } as never);
        body.tools[0]!.output = JSON.stringify(randomBytes(CHUNK_BYTES).toString('base64').repeat(2));
        return packResult(body, { job: id, attempt: 1, epoch: 1, podUid: runner.uid });
      }),
    );
    assert.ok(
      packed.every(({ header }) => header.chunks >= 2),
      JSON.stringify(packed.map(({ header }) => header.chunks)),
    );
    await Promise.all(packed.map((result) => publishResult(bus, result)));
    assert.deepEqual(
      (await ended(...ids)).map(({ state }) => state),
      ['success', 'success', 'success'],
    );
    assert.ok(most > 0 && most <= 3 * CHUNK_BYTES && asked >= 3, `${most} bytes, ${asked} results`);
    await until('the memory is free again', () => room.used() === 0);
  });

  it("a result of a pod or attempt that is not the job's is dropped", async () => {
    const { ended, bus, id, runner } = await held();
    const body = success({ assignment: { tools: [{ name: 'ffprobe', version: '7.0' }] } } as never);
    for (const [podUid, attempt] of [
      ['00000000-0000-4000-8000-000000000000', 1],
      [runner.uid, 2],
      [runner.uid, 0],
    ] as const) {
      const dropped = Promise.withResolvers<void>();
      const hearing = bus.subscribe<{ attempt: number }>(SUBJECT.collected(podUid), ({ message }) => {
        if (message.attempt === attempt) dropped.resolve();
      });
      await publishResult(bus, await packResult({ ...body, ioUsage: 77 }, { job: id, attempt, epoch: 1, podUid }));
      await dropped.promise;
      hearing.stop();
      assert.equal((await current().record(id)).state, 'open');
    }
    await runner.finish();
    const [record] = await ended(id);
    assert.deepEqual([record?.state, record?.ioBytes], ['success', 1000]);
  });

  it('a job recorded just before its runner was lost is not started again', async () => {
    const { runners, kube, runnerNamespace, store, id, submittedAt, runner, reason } = await held({ minReady: 2 });
    // The collector died between the record and the notice, and its pod is gone too.
    await store.closeRequest({
      id,
      submittedAt,
      state: 'success',
      status: 200,
      reason: 'Completed',
      error: null,
      ...NOTHING_KEPT,
    });
    await kube.delete(PODS, runner.pod, { namespace: runnerNamespace, gracePeriodSeconds: 0 });
    await until('the job shows Completed', () => reason(id) === 'Completed');
    assert.equal(runners.began.length, 1);
  });

  it('the slot of a job stays taken while its end is being written', async () => {
    const { submit, ended, controller, runners, kube, newToken, most, reason } = await start({
      pools: { short: { minReady: 2 } },
    });
    let first = '';
    const gate = gateAt(kube, (status, name) => isEnd(status) && name === first, 'before');
    await controller({ writes: gate.kube });
    await ready(2);
    const [token, other] = [await newToken(1), await newToken(1)];
    runners.behaviour.go = () => 'hold';
    ({ id: first } = await submit({ token }));
    await until('it runs', () => runners.of(first));
    runners.behaviour.go = () => ({ ms: 5 });
    const next = await submit({ token });
    await runners.of(first)!.finish();
    await until('its end is about to be shown', () => gate.arrived.length > 0);
    // Jobs of another token come and go meanwhile.
    const beside = await submit({ token: other });
    await ended(beside.id);
    await until('the job shows Completed', () => reason(beside.id) === 'Completed');
    assert.ok(runners.began.every(({ job }) => job !== next.id));
    gate.open();
    await ended(next.id);
    assert.equal(most(token), 1);
  });

  it('the leader finds an end whose notice was lost', async () => {
    const { submit, ended, controller, bus, reason } = await start(one);
    const { bus: collectorBus, lost } = losing(bus, SUBJECT.closed);
    await controller({ collectorBus });
    await ready();
    const { id } = await submit();
    await ended(id);
    await until('the job shows Completed', () => reason(id) === 'Completed');
    assert.ok(lost.length > 0);
  });

  it('a job deleted while it waits is cancelled, and its place is free', async () => {
    const { submit, ended, runners, newToken } = await led();
    const token = await newToken(1);
    runners.behaviour.go = () => 'hold';
    const running = await submit({ token });
    await until('it runs', () => runners.of(running.id));
    const [waits, next] = [await submit({ token }), await submit({ token })];
    await remove(waits.id);
    const [cancelled] = await ended(waits.id);
    assert.equal(cancelled?.reason, 'Cancelled');
    runners.behaviour.go = () => ({ ms: 5 });
    await runners.of(running.id)?.finish();
    const [last] = await ended(next.id);
    assert.equal(last?.state, 'success');
  });

  it('a job deleted while it runs is cancelled on the runner, and its slot and runner are free at once', async () => {
    const { submit, ended, runners, newToken } = await led();
    const token = await newToken(1);
    runners.behaviour.go = () => 'hold';
    runners.behaviour.used = { bytes: 123_456, ms: 789, decodedSeconds: 12 };
    const { id } = await submit({ token });
    const runner = await until('it runs', () => runners.of(id));
    await remove(id);
    const [cancelled] = await ended(id);
    assert.equal(cancelled?.reason, 'Cancelled');
    const [row] = await current().servers.stored.sql(
      'select usage_ms, io_bytes::integer, decoded_seconds from requests where id = $1',
      [id],
    );
    assert.deepEqual(row, { usage_ms: 789, io_bytes: 123_456, decoded_seconds: 12 }, 'what it has cost is counted');
    await until('the runner is told', () => runner.orders.some(({ what }) => what === 'cancel'));
    runners.behaviour.go = () => ({ ms: 5 });
    const next = await submit({ token, queueTimeoutMs: 5_000 });
    const [record] = await ended(next.id);
    assert.equal(record?.state, 'success');
  });

  it('a job deleted while its admission is being written never starts, and its runner is free', async () => {
    const { submit, ended, controller, runners, kube, newToken } = await start(one);
    const gate = gateAt(kube, isAdmission, 'after');
    await controller({ writes: gate.kube });
    await ready();
    const token = await newToken(1);
    const { id } = await submit({ token });
    await until('its admission has landed', () => gate.arrived.length > 0);
    await remove(id);
    const [cancelled] = await ended(id);
    assert.equal(cancelled?.reason, 'Cancelled');
    gate.open();
    const next = await submit({ token, queueTimeoutMs: 5_000 });
    const [record] = await ended(next.id);
    assert.equal(record?.state, 'success');
    assert.deepEqual(
      runners.began.map(({ job }) => job),
      [next.id],
    );
  });

  /** The next call of this method fails, as a fault in the code would. */
  function failOnce<Name extends string>(part: Record<Name, (...values: never[]) => unknown>, name: Name): void {
    const intact = part[name];
    part[name] = () => {
      part[name] = intact;
      throw new Error(`${name} is broken`);
    };
  }
  const faults = (log: Controller['log']) => log.filter(({ msg }) => msg.startsWith('internal error'));

  it('a fault while a job starts ends that job, and the next one runs', async () => {
    const { submit, ended, runners, term, log } = await led();
    failOnce(term.runners, 'accepted');
    runners.behaviour.go = () => 'hold';
    const [record] = await ended((await submit()).id);
    assert.deepEqual([record?.status, record?.reason, record?.error], [500, 'InternalError', 'internal error']);
    runners.behaviour.go = () => ({ ms: 5 });
    const [next] = await ended((await submit()).id);
    assert.equal(next?.state, 'success');
    assert.equal(faults(log).length, 1);
  });

  it('a fault while the end of a job is taken leaves the job its end, and the next one runs', async () => {
    const { submit, ended, runners, term, log, id, runner, reason } = await held();
    failOnce(term.leader.pace, 'callerSeen');
    runners.behaviour.go = () => ({ ms: 5 });
    await runner.finish();
    await until('the job shows Completed', () => reason(id) === 'Completed');
    const [record, next] = await ended(id, (await submit()).id);
    assert.deepEqual([record?.state, next?.state], ['success', 'success']);
    assert.equal(faults(log).length, 1);
  });

  it('a fault while the end of a job is written: it is written again, and its slot is free', async () => {
    const { submit, ended, term, log, newToken, reason } = await led();
    const token = await newToken(1);
    failOnce(term.finishedJobs, 'nextBatch');
    const [first, second] = [await submit({ token }), await submit({ token })];
    await ended(first.id, second.id);
    await until('both are Completed', () => [first, second].every(({ id }) => reason(id) === 'Completed'));
    assert.equal(faults(log).length, 1);
  });

  it('a job created under the name of a deleted one is another job', async () => {
    const { runners, kube, namespace, reason } = await led();
    runners.behaviour.go = () => 'hold';
    const spec = {
      kind: 'file' as const,
      source: { url: 'https://media.example.org/a.mp4' },
      tools: [{ name: 'ffprobe' as const, version: 'latest' }],
    };
    await kube.create(PROBE_JOBS, { metadata: { name: 'mine', namespace }, spec });
    await until('it runs', () => runners.of('mine'));
    runners.behaviour.go = () => ({ ms: 5 });
    await remove('mine');
    await kube.create(PROBE_JOBS, { metadata: { name: 'mine', namespace }, spec });
    await until('the second one is done', () => reason('mine') === 'Completed');
  });
});
