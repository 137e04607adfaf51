/** A compromised agent against others: what it can store, how fast it can send, and what it can make JetStream do. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { headers } from 'nats';
import { type Callout, MOST_CONNECTIONS, serveCallout } from '../../src/platform/bus/callout.ts';
import { consumeResults, type Collecting } from '../../src/platform/bus/collect.ts';
import type { Bus, BusStatus } from '../../src/platform/bus/connect.ts';
import { asBusError } from '../../src/platform/bus/errors.ts';
import { CHUNK_BYTES, SUBJECT } from '../../src/platform/bus/messages.ts';
import { packResult } from '../result/text_body.ts';
import { managerOf, publishResult } from '../../src/platform/bus/results.ts';
import { overfull, watchShares } from '../../src/platform/bus/shares.ts';
import { ensureStreams } from '../../src/platform/bus/streams.ts';
import { until } from '../until.ts';
import { type BusFixture, startBus } from './fixture.ts';
import { randomBody } from './random_body.ts';

const MIB = 1024 * 1024;
const LARGE = 768 * 1024;

describe('bus: a runner that floods', function () {
  this.timeout(60_000);
  let fixture: BusFixture;
  let controller: Bus;
  let callout: Callout;
  let runner: Bus;
  let neighbour: Bus;
  let connecting: string[];
  const [uid, other] = [randomUUID(), randomUUID()];

  beforeEach(async () => {
    fixture = await startBus();
    controller = await fixture.controller();
    connecting = [];
    callout = serveCallout(controller, {
      issuerSeed: fixture.issuerSeed,
      account: 'PROBEYARD',
      authorise: async (token) => ({ uid: token, pod: 'p' }),
      isOurPod: () => true,
      onFlood: (who) => connecting.push(who),
    });
    await controller.flush();
    runner = await fixture.runner(uid, uid);
    neighbour = await fixture.runner(other, other);
  });
  afterEach(() => fixture.close());

  const stateOf = async (stream: string) =>
    (await (await managerOf(controller)).streams.info(stream, { subjects_filter: '>' })).state;

  /** A result of this many incompressible megabytes. */
  const packed = (megabytes: number) =>
    packResult(randomBody(2 * megabytes * MIB), { job: 'full', attempt: 1, epoch: 1, podUid: uid });

  it('keeps at most four results in the stream, and displaces none of another runner', async () => {
    await ensureStreams(await managerOf(controller), { resultsBytes: 4 * MIB });
    await neighbour.js.publish(SUBJECT.result(other), 'mine');
    const payload = new Uint8Array(LARGE);
    for (let sent = 0; sent < 20; sent++) await runner.js.publish(SUBJECT.result(uid), payload).catch(() => {});
    const { subjects = {} } = await stateOf('PY_RESULTS');
    assert.equal(subjects[SUBJECT.result(other)], 1);
    assert.ok((subjects[SUBJECT.result(uid)] ?? 0) <= 4, JSON.stringify(subjects));
  });

  it('a full stream of chunks refuses new ones and keeps confirmed ones', async () => {
    await ensureStreams(await managerOf(controller), { chunksBytes: 4 * MIB });
    await neighbour.js.publish(SUBJECT.chunk(other, 'j', 1, 0), 'mine');
    const payload = new Uint8Array(CHUNK_BYTES);
    const refusals: string[] = [];
    for (let index = 0; index < 12; index++)
      await runner.js
        .publish(SUBJECT.chunk(uid, 'j', 1, index), payload)
        .catch((error: unknown) => refusals.push(asBusError(error, 'chunk').message));
    await assert.rejects(publishResult(runner, await packed(8)), { code: 'failed', message: /maximum bytes exceeded/ });
    assert.ok(
      refusals.length > 0 && refusals.every((message) => /maximum bytes exceeded/.test(message)),
      JSON.stringify(refusals),
    );
    assert.equal((await stateOf('PY_CHUNKS')).subjects?.[SUBJECT.chunk(other, 'j', 1, 0)], 1);
  });

  it('a chunk larger than any of a result is refused: a share is counted in messages', async () => {
    await ensureStreams(await managerOf(controller));
    const sent = runner.js.publish(SUBJECT.chunk(uid, 'j', 1, 0), new Uint8Array(LARGE));
    await assert.rejects(sent, /message size exceeds maximum allowed/);
  });

  it('a chunk sent again replaces the first', async () => {
    await ensureStreams(await managerOf(controller));
    for (let sent = 0; sent < 3; sent++) await runner.js.publish(SUBJECT.chunk(uid, 'j', 1, 0), `again ${sent}`);
    assert.deepEqual((await stateOf('PY_CHUNKS')).subjects, { [SUBJECT.chunk(uid, 'j', 1, 0)]: 1 });
  });

  it('a runner with more chunks than a result has is reported, and its chunks are purged', async () => {
    await ensureStreams(await managerOf(controller));
    await neighbour.js.publish(SUBJECT.chunk(other, 'j', 1, 0), 'mine');
    for (let index = 0; index < 30; index++) runner.connection.publish(SUBJECT.chunk(uid, 'j', 1, index), 'x');
    await runner.flush();
    await until('they are stored', async () => (await stateOf('PY_CHUNKS')).messages === 31);
    assert.deepEqual(await overfull(controller, 30), []);
    assert.deepEqual(await overfull(controller, 20), [uid]);
    const over: string[] = [];
    const watching = watchShares(controller, {
      most: 20,
      lookMs: 50,
      onOver: async (who) => {
        over.push(who);
      },
      onError: (error) => fixture.errors.push(error),
    });
    await until('its chunks are gone', async () => (await stateOf('PY_CHUNKS')).messages === 1);
    watching.stop();
    assert.ok(over.length > 0 && over.every((who) => who === uid));
    assert.deepEqual(fixture.errors, []);
  });

  it("its results are dropped before parsing and reported once, while others' results are collected", async () => {
    const [handled, flooding]: [string[], string[]] = [[], []];
    const collecting: Collecting = consumeResults(controller, {
      handle: async ({ podUid }) => {
        handled.push(podUid);
      },
      onFlood: (who) => flooding.push(who),
      onError: (error) => fixture.errors.push(error),
    });
    await until('the collector is active', () => collecting.active());
    const result = (podUid: string) =>
      JSON.stringify({
        protocol: 1,
        job: 'j',
        attempt: 1,
        epoch: 1,
        podUid,
        encoding: 'zstd',
        size: 1,
        sha256: '',
        chunks: 0,
        inline: '',
      });
    await until(
      'it was reported',
      async () => {
        // The stream holds four of them.
        for (let turn = 0; turn < 100 && flooding.length === 0; turn++) {
          for (let sent = 0; sent < 4; sent++) runner.connection.publish(SUBJECT.result(uid), result(uid));
          await runner.flush();
        }
        return flooding.length;
      },
      30_000,
    );
    neighbour.connection.publish(SUBJECT.result(other), result(other));
    await until("the neighbour's is handled", () => handled.includes(other));
    assert.deepEqual(flooding, [uid]);
    await collecting.stop();
  });

  it('heartbeats that are not admitted are dropped before parsing', async () => {
    const heard: unknown[] = [];
    controller.serve(
      SUBJECT.heartbeats,
      ({ message }) => {
        heard.push(message);
        return undefined;
      },
      { admit: (subject) => subject !== SUBJECT.heartbeat(uid) },
    );
    await controller.flush();
    // Not JSON, so parsing it would be an error.
    runner.connection.publish(SUBJECT.heartbeat(uid), '{');
    await runner.flush();
    neighbour.publish(SUBJECT.heartbeat(other), 'good');
    await until('the message of another runner arrived', () => heard.length);
    assert.deepEqual([heard, fixture.errors], [['good'], []]);
  });

  it('the number of its subscriptions is limited', async () => {
    for (let count = 0; count < 120; count++) runner.connection.subscribe(`py.run.${uid}.${count}`);
    await runner.flush().catch(() => {});
    await until('the server refuses', () =>
      fixture.errors.some(({ message }) => /subscriptions|PROTOCOL|MAXIMUM/i.test(message)),
    );
  });

  it('a runner has few connections: with a further one its oldest is closed', async () => {
    const many = randomUUID();
    const statuses = Array.from({ length: MOST_CONNECTIONS + 2 }, (): BusStatus[] => []);
    const opened: Bus[] = [];
    for (const seen of statuses)
      opened.push(await fixture.runner(many, many, { toRenew: true, onStatus: (status) => seen.push(status) }));
    const [first, second, ...others] = statuses;
    await until('the two oldest are closed', () => first?.includes('closed') && second?.includes('closed'));
    await Promise.all(opened.slice(2).map((bus) => bus.flush()));
    assert.deepEqual(
      others,
      others.map(() => ['connected']),
    );
    assert.equal(await callout.kick(many), MOST_CONNECTIONS);
    await until('all are closed', () => others.every((seen) => seen.includes('closed')));
  });

  it('a runner that connects again and again is refused and reported once, while others connect', async () => {
    const again = randomUUID();
    const outcomes: string[] = [];
    for (let count = 0; count < 400 && (connecting.length === 0 || outcomes.at(-1) !== 'refused'); count++)
      outcomes.push(
        await fixture.runner(again, again, { toRenew: true }).then(
          (bus) => bus.connection.close().then(() => 'in'),
          () => 'refused',
        ),
      );
    assert.deepEqual([connecting, outcomes.at(-1)], [[again], 'refused']);
    const last = randomUUID();
    await (await fixture.runner(last, last, { toRenew: true })).flush();
  });

  it("a confirmation to a subject of JetStream's API has no effect", async () => {
    await ensureStreams(await managerOf(controller));
    await neighbour.js.publish(SUBJECT.result(other), 'mine');
    for (const verb of ['PURGE', 'DELETE', 'UPDATE']) {
      runner.connection.publish(SUBJECT.result(uid), 'x', { reply: `$JS.API.STREAM.${verb}.PY_RESULTS` });
      const head = headers();
      head.set('Nats-Msg-Id', randomUUID());
      runner.connection.publish(SUBJECT.result(uid), '{}', {
        reply: `$JS.API.STREAM.${verb}.PY_RESULTS`,
        headers: head,
      });
    }
    await runner.flush();
    // Last in the stream: once it is confirmed, the effects of the earlier messages would be visible.
    await runner.js.publish(SUBJECT.result(uid), 'last');
    const { subjects = {} } = await stateOf('PY_RESULTS');
    assert.equal(subjects[SUBJECT.result(other)], 1);
  });

  it('the callout forgets pods past the lifetime of their connection', async () => {
    const short = serveCallout(controller, {
      issuerSeed: fixture.issuerSeed,
      account: 'PROBEYARD',
      authorise: async (token) => ({ uid: token, pod: 'p' }),
      isOurPod: () => true,
      lifeSeconds: 1,
    });
    callout.stop();
    await controller.flush();
    for (let pod = 0; pod < 5; pod++) await (await fixture.runner(randomUUID(), randomUUID())).connection.close();
    // A pod that reconnects continually is remembered once, however often it connects in a second.
    const last = randomUUID();
    await until('fewer than five pods are remembered', async () => {
      await (await fixture.runner(last, last)).connection.close();
      return short.remembered() < 5;
    });
    short.stop();
  });
});
