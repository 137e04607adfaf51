import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { DiscardPolicy, RetentionPolicy } from 'nats';
import { serveCallout } from '../../src/platform/bus/callout.ts';
import { consumeResults, type Collecting, type CollectSettings } from '../../src/platform/bus/collect.ts';
import type { Bus } from '../../src/platform/bus/connect.ts';
import { BusError } from '../../src/platform/bus/errors.ts';
import { CHUNK_BYTES, OFFER_ANSWER_MS, SUBJECT } from '../../src/platform/bus/messages.ts';
import { joinResult } from '../../src/platform/bus/packing.ts';
import { fetchBody, managerOf, offerResult, publishResult, purgeChunks } from '../../src/platform/bus/results.ts';
import { ensureStreams } from '../../src/platform/bus/streams.ts';
import { until } from '../until.ts';
import { type BusFixture, startBus } from './fixture.ts';
import { packResult, unpackText } from '../result/text_body.ts';
import { randomBody } from './random_body.ts';

const LIMIT = 64 * 1024 * 1024;
describe('bus: packing of results', () => {
  const of = { job: 'j', attempt: 1, epoch: 3, podUid: 'u' };

  it('a small result is inline', async () => {
    const body = randomBody();
    const { header, chunks } = await packResult(body, of);
    assert.deepEqual([chunks.length, header.chunks, header.encoding, header.job], [0, 0, 'zstd', 'j']);
    assert.deepEqual(await unpackText(joinResult(header, [])), body);
  });

  it('a large result is cut into chunks, and its message stays under a megabyte', async () => {
    const body = randomBody(3_000_000);
    const { header, chunks } = await packResult(body, of);
    assert.ok(header.chunks >= 3 && header.inline === undefined);
    assert.ok(chunks.every((chunk) => chunk.length <= CHUNK_BYTES));
    assert.deepEqual(await unpackText(joinResult(header, chunks)), body);
  });

  it('the largest inline result fits a message', async () => {
    const packed = randomBytes(CHUNK_BYTES);
    assert.ok(JSON.stringify({ inline: packed.toString('base64') }).length < 1_000_000);
  });

  const bad: [string, () => Promise<unknown>, RegExp][] = [
    [
      'a body that differs from the declared one',
      async () => joinResult({ ...(await packResult(randomBody(), of)).header, sha256: '00' }, []),
      /does not match the checksum/,
    ],
    [
      'chunks in another order',
      async () => {
        const { header, chunks } = await packResult(randomBody(3_000_000), of);
        return joinResult(header, chunks.toReversed());
      },
      /does not match the checksum/,
    ],
  ];
  for (const [what, attempt, message] of bad)
    it(`refuses ${what}`, () => assert.rejects(attempt, { name: 'BusError', code: 'bad-result', message }));
});

describe('bus: results over JetStream', function () {
  this.timeout(60_000);
  let fixture: BusFixture;
  let controller: Bus;
  let runner: Bus;
  const uid = randomUUID();
  const collecting: Collecting[] = [];

  beforeEach(async () => {
    fixture = await startBus();
    controller = await fixture.controller();
    serveCallout(controller, {
      issuerSeed: fixture.issuerSeed,
      account: 'PROBEYARD',
      authorise: async (token) => ({ uid: token, pod: 'p' }),
      isOurPod: () => true,
    });
    await controller.flush();
    runner = await fixture.runner(uid, uid);
  });
  afterEach(async () => {
    await Promise.all(collecting.splice(0).map((collector) => collector.stop()));
    await fixture.close();
  });

  const pack = (job: string, bytes?: number, attempt = 1) =>
    packResult(randomBody(bytes), { job, attempt, epoch: 1, podUid: uid });
  async function collect(handle: CollectSettings['handle'], bus = controller): Promise<Collecting> {
    const collector = consumeResults(bus, { handle, onError: (error) => fixture.errors.push(error) });
    collecting.push(collector);
    await until('the collector is active', () => collector.active());
    return collector;
  }
  /** Repeats until it is published, as an agent does. */
  async function publishUntilTaken(job: string): Promise<void> {
    const packed = await pack(job);
    await until(`${job} is published`, () => publishResult(runner, packed).then(() => true), 20_000);
  }
  const stored = async () => (await (await managerOf(controller)).streams.info('PY_RESULTS')).state.messages;

  it('20 MB arrive in chunks, byte for byte, and are purged', async () => {
    const got: Buffer[] = [];
    await collect(async (header) => {
      got.push(await fetchBody(controller, header, LIMIT));
      await purgeChunks(controller, header);
    });
    const body = randomBody(40_000_000);
    const packed = await packResult(body, { job: randomUUID(), attempt: 1, epoch: 1, podUid: uid });
    assert.ok(packed.header.chunks > 35, `${packed.header.chunks} chunks`);
    await publishResult(runner, packed);
    const bytes = await until('it is collected', () => got[0]);
    assert.deepEqual(await unpackText(bytes), body);
    await until(
      'the chunks are gone',
      async () => (await (await managerOf(controller)).streams.info('PY_CHUNKS')).state.messages === 0,
    );
    await until('the result is gone', async () => (await stored()) === 0);
  });

  it('a body over the limit is refused before it is read completely', async () => {
    await ensureStreams(await managerOf(controller));
    const packed = await pack('big', 6_000_000);
    await publishResult(runner, packed);
    await assert.rejects(fetchBody(controller, packed.header, 1_000_000), {
      code: 'bad-result',
      message: /over the limit/,
    });
    await assert.rejects(fetchBody(controller, { ...packed.header, chunks: 2 }, 1_048_576), { code: 'bad-result' });
    // The received bytes count, whatever number the header declares.
    await assert.rejects(fetchBody(controller, { ...packed.header, chunks: 2 }, 2 * CHUNK_BYTES - 1), {
      code: 'bad-result',
      message: /over the limit/,
    });
    const chunk = randomBytes(CHUNK_BYTES + 1);
    const larger = {
      header: { ...packed.header, job: 'larger', chunks: 1, sha256: createHash('sha256').update(chunk).digest('hex') },
      chunks: [chunk],
    };
    await publishResult(runner, larger);
    await assert.rejects(fetchBody(controller, larger.header, LIMIT), {
      code: 'bad-result',
      message: /over the limit/,
    });
    await assert.rejects(fetchBody(controller, { ...packed.header, job: 'nobody' }, LIMIT), {
      code: 'no-stream',
      message: /chunk is not stored/,
    });
  });

  it('the same result published twice in a row is one message', async () => {
    await ensureStreams(await managerOf(controller));
    const packed = await pack('twice');
    await publishResult(runner, packed);
    await publishResult(runner, packed);
    await publishResult(runner, await pack('twice', 100, 2));
    assert.equal(await stored(), 2);
  });

  it('a failing handler gets the result again, and two collectors share the work', async () => {
    const seen: string[] = [];
    let failures = 0;
    const handle =
      (name: string): CollectSettings['handle'] =>
      async (header) => {
        if (header.job === 'fails' && failures === 0) {
          failures++;
          throw new Error('Postgres is away');
        }
        seen.push(`${name} ${header.job}`);
      };
    await collect(handle('a'));
    await collect(handle('b'), await fixture.controller());
    await publishUntilTaken('fails');
    for (let index = 0; index < 30; index++) await publishUntilTaken(`job-${index}`);
    await until('31 results were collected', () => seen.length === 31);
    assert.equal(failures, 1);
    assert.equal(new Set(seen.map((line) => line.split(' ')[1])).size, 31);
    assert.deepEqual([...new Set(seen.map((line) => line[0]))].sort(), ['a', 'b']);
  });

  it('results that a stopping collector has not started go to another at once', async () => {
    const first: string[] = [];
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const collector = consumeResults(controller, {
      parallel: 2,
      handle: async (header) => {
        first.push(header.job);
        await held;
      },
    });
    await until('the collector is active', () => collector.active());
    for (let index = 0; index < 6; index++) await publishUntilTaken(`job-${index}`);
    await until('the first collector handles two results', () => first.length === 2);
    const stopped = collector.stop();
    const second: string[] = [];
    await collect(
      async (header) => {
        second.push(header.job);
      },
      await fixture.controller(),
    );
    // Within less than the acknowledgement timeout (10 s).
    await until('the second collector has the other four', () => second.length === 4, 8_000);
    release();
    await stopped;
    await until('none is left', async () => (await stored()) === 0);
    assert.deepEqual(
      [...first, ...second].sort(),
      Array.from({ length: 6 }, (_, index) => `job-${index}`),
    );
  });

  it('a small result that is offered is recorded at once, and JetStream never has it', async () => {
    const seen: string[] = [];
    await collect(async ({ job }, confirm) => {
      seen.push(job);
      confirm();
    });
    assert.equal(await offerResult(runner, await pack('small')), true);
    assert.equal(await offerResult(runner, await pack('large', 6_000_000)), false);
    assert.deepEqual(seen, ['small']);
    const { state } = await (await managerOf(controller)).streams.info('PY_RESULTS');
    assert.equal(state.last_seq, 0);
  });

  it('an offer is declined where it cannot be recorded, and at once without a collector', async () => {
    const began = performance.now();
    assert.equal(await offerResult(runner, await pack('nobody')), false);
    assert.ok(performance.now() - began < OFFER_ANSWER_MS, 'waited although nobody serves');
    let handled = 0;
    const release = Promise.withResolvers<void>();
    const collector = consumeResults(controller, {
      parallel: 1,
      handle: async ({ job }, confirm) => {
        handled += 1;
        if (job === 'fails') throw new BusError('failed', 'on purpose');
        await release.promise;
        confirm();
      },
      onError: (error) => fixture.errors.push(error),
    });
    collecting.push(collector);
    await until('the collector is active', () => collector.active());
    assert.equal(await offerResult(runner, await pack('fails')), false);
    assert.equal(fixture.errors.splice(0).length, 1);
    const held = offerResult(runner, await pack('held'));
    await until('it is in hand', () => handled === 2);
    assert.equal(await offerResult(runner, await pack('beyond')), false);
    const stopped = collector.stop();
    release.resolve();
    assert.equal(await held, true, 'a collector that stops answers what it has in hand');
    await stopped;
    assert.equal(handled, 2);
  });

  it("an offer that is malformed, or names another pod's result, is declined", async () => {
    let handled = 0;
    await collect(async () => {
      handled += 1;
    });
    const { header } = await pack('small');
    for (const offered of [
      null,
      [],
      {},
      { ...header, podUid: randomUUID() },
      { ...header, size: -0.5 },
      { ...header, chunks: 1 },
    ])
      assert.deepEqual(await runner.request(SUBJECT.offer(uid), offered, 5_000), { recorded: false });
    assert.equal(handled, 0);
    assert.equal(fixture.errors.splice(0).length, 6);
  });

  it("a malformed result, or one under another pod's name, is dropped", async () => {
    const seen: string[] = [];
    await collect(async (header) => {
      seen.push(header.job);
    });
    await runner.js.publish(SUBJECT.result(uid), new TextEncoder().encode('{'));
    await runner.js.publish(
      SUBJECT.result(uid),
      new TextEncoder().encode(JSON.stringify({ ...(await pack('lie')).header, podUid: randomUUID() })),
    );
    await publishUntilTaken('good');
    await until('the valid result was collected', () => seen.length > 0);
    await until('nothing is left', async () => (await stored()) === 0);
    assert.deepEqual(seen, ['good']);
    assert.equal(fixture.errors.filter((error) => error.code === 'bad-result').length, 2);
  });

  for (const [what, how] of [
    ['a restart', {}],
    ['a restart with an empty disk', { wipe: true }],
  ] as const) {
    it(`${what} while publishing: every result that a runner repeats until it is collected arrives`, async () => {
      const collected = new Set<string>();
      await collect(async (header) => {
        collected.add(header.job);
      });
      const total = 60;
      const publishing = (async () => {
        for (let index = 0; index < total; index++) {
          const packed = await pack(`job-${index}`);
          // The loop of an agent: publish, wait for `collected`, publish again.
          await until(
            `job-${index} is collected`,
            async () => {
              await publishResult(runner, packed).catch(() => {});
              return until('it is collected within 300 ms', () => collected.has(packed.header.job), 300).catch(
                () => false,
              );
            },
            30_000,
          );
        }
      })();
      await until('more than ten results were collected', () => collected.size > 10);
      await fixture.server.restart(how);
      await publishing;
      assert.equal(collected.size, total);
    });
  }

  it('a deleted consumer is created again while collecting', async () => {
    const seen: string[] = [];
    await collect(async (header) => {
      seen.push(header.job);
    });
    // Only a server without permissions could lose it. The controllers may not delete it, so the test wipes the disk
    // while nothing is published.
    await fixture.server.restart({ wipe: true });
    await publishUntilTaken('after');
    await until('the result was collected', () => seen.length === 1, 20_000);
  });

  it('publishing without a stream reports the missing stream', async () => {
    await assert.rejects(publishResult(runner, await pack('nowhere')), { name: 'BusError', code: 'no-stream' });
  });

  it('streams: created once, changed in place, safe with several replicas at once', async () => {
    const second = await fixture.controller();
    await Promise.all([
      ensureStreams(await managerOf(controller)),
      ensureStreams(await managerOf(second)),
      ensureStreams(await managerOf(controller)),
    ]);
    await publishResult(runner, await pack('kept'));
    await ensureStreams(await managerOf(second), { resultsBytes: 64 * 1024 * 1024 });
    const { config, state } = await (await managerOf(controller)).streams.info('PY_RESULTS');
    assert.deepEqual([config.max_bytes, config.retention, state.messages], [64 * 1024 * 1024, 'workqueue', 1]);
  });

  it('streams: those of an older version get the current limits, and keep their messages', async () => {
    const manager = await managerOf(controller);
    await manager.streams.add({
      name: 'PY_RESULTS',
      subjects: ['py.res.*'],
      retention: RetentionPolicy.Workqueue,
      discard: DiscardPolicy.Old,
      max_bytes: 256 * 1024 * 1024,
    });
    await publishResult(runner, await pack('kept'));
    await ensureStreams(manager);
    const { config, state } = await manager.streams.info('PY_RESULTS');
    assert.deepEqual([config.discard, config.max_msgs_per_subject, state.messages], ['new', 4, 1]);
  });

  it('streams: a number of replicas set by an operator is kept', async () => {
    const manager = await managerOf(controller);
    await ensureStreams(manager);
    const updates: object[] = [];
    // A single server has one replica, so the answer of a cluster of three is simulated.
    const streams = Object.assign(Object.create(manager.streams) as typeof manager.streams, {
      info: async (...args: Parameters<typeof manager.streams.info>) => {
        const found = await manager.streams.info(...args);
        return { ...found, config: { ...found.config, num_replicas: 3 } };
      },
      update: async (_: string, config: object) => {
        updates.push(config);
      },
    });
    const cluster = Object.assign(Object.create(manager) as typeof manager, { streams });
    await ensureStreams(cluster);
    assert.deepEqual(updates, []);
    await ensureStreams(cluster, { resultsBytes: 64 * 1024 * 1024 });
    assert.deepEqual(
      updates.map((config) => 'num_replicas' in config),
      [false],
    );
  });
});
