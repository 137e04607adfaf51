import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import { DiscardPolicy, RetentionPolicy } from 'nats';
import { serveCallout } from '../../src/bus/callout.ts';
import { consumeResults, type Collecting, type CollectSettings } from '../../src/bus/collect.ts';
import type { Bus } from '../../src/bus/connect.ts';
import { CHUNK_BYTES, type ResultBody, SUBJECT } from '../../src/bus/messages.ts';
import { joinResult, packResult, unpackBody } from '../../src/bus/packing.ts';
import { fetchBody, managerOf, publishResult, purgeChunks } from '../../src/bus/results.ts';
import { ensureStreams } from '../../src/bus/streams.ts';
import { until } from '../until.ts';
import { type BusFixture, startBus } from './fixture.ts';

const LIMIT = 64 * 1024 * 1024;
const aBody = (bytes = 100): ResultBody => ({
  tools: [
    {
      name: 'ffprobe',
      version: '7.0',
      success: true,
      durationMs: 1,
      usageMs: 1,
      exitCode: 0,
      signal: null,
      format: 'text',
      output: randomBytes(Math.ceil(bytes / 2)).toString('hex'),
    },
  ],
  ioUsage: 7,
});

describe('bus: packing of results', () => {
  const of = { job: 'j', attempt: 1, epoch: 3, podUid: 'u' };

  it('a small one rides inline', async () => {
    const body = aBody();
    const { header, chunks } = await packResult(body, of);
    assert.deepEqual([chunks.length, header.chunks, header.encoding, header.job], [0, 0, 'zstd', 'j']);
    assert.deepEqual(await unpackBody(joinResult(header, []), LIMIT, header.size), body);
  });

  it('a large one is cut, and its message stays under a megabyte', async () => {
    const body = aBody(3_000_000);
    const { header, chunks } = await packResult(body, of);
    assert.ok(header.chunks >= 3 && header.inline === undefined);
    assert.ok(chunks.every((chunk) => chunk.length <= CHUNK_BYTES));
    assert.deepEqual(await unpackBody(joinResult(header, chunks), LIMIT, header.size), body);
  });

  it('the largest inline one fits a message', async () => {
    const packed = randomBytes(CHUNK_BYTES);
    assert.ok(JSON.stringify({ inline: packed.toString('base64') }).length < 1_000_000);
  });

  const bad: [string, () => Promise<unknown>, RegExp][] = [
    [
      'a body that is not the declared one',
      async () => joinResult({ ...(await packResult(aBody(), of)).header, sha256: '00' }, []),
      /does not match the checksum/,
    ],
    [
      'chunks in another order',
      async () => {
        const { header, chunks } = await packResult(aBody(3_000_000), of);
        return joinResult(header, chunks.toReversed());
      },
      /does not match the checksum/,
    ],
    [
      'a bomb: inflates past its declared size',
      async () => unpackBody(zstdCompressSync(Buffer.alloc(50_000_000)), LIMIT, 1000),
      /within its declared size/,
    ],
    [
      'a bomb that is honest about itself',
      async () => unpackBody(zstdCompressSync(Buffer.alloc(10)), 1000, 50_000_000),
      /over the limit/,
    ],
    ['no zstd', async () => unpackBody(Buffer.from('hello'), LIMIT), /cannot be inflated/],
    ['text that is not JSON', async () => unpackBody(zstdCompressSync('hello'), LIMIT), /not valid JSON/],
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
    });
    await controller.flush();
    runner = await fixture.runner(uid, uid);
  });
  afterEach(async () => {
    await Promise.all(collecting.splice(0).map((collector) => collector.stop()));
    await fixture.close();
  });

  const pack = (job: string, bytes?: number, attempt = 1) =>
    packResult(aBody(bytes), { job, attempt, epoch: 1, podUid: uid });
  async function collect(handle: CollectSettings['handle'], bus = controller): Promise<Collecting> {
    const collector = consumeResults(bus, { handle, onError: (error) => fixture.errors.push(error) });
    collecting.push(collector);
    await until('it collects', () => collector.active());
    return collector;
  }
  /** As an agent does: until it is in. */
  async function publishUntilTaken(job: string): Promise<void> {
    const packed = await pack(job);
    await until(`${job} is published`, () => publishResult(runner, packed).then(() => true), 20_000);
  }
  const stored = async () => (await (await managerOf(controller)).streams.info('PY_RESULTS')).state.messages;

  it('20 MB come through in chunks, byte for byte, and are purged', async () => {
    const got: Buffer[] = [];
    await collect(async ({ header }) => {
      got.push(await fetchBody(controller, header, LIMIT));
      await purgeChunks(controller, header);
    });
    const body = aBody(40_000_000);
    const packed = await packResult(body, { job: randomUUID(), attempt: 1, epoch: 1, podUid: uid });
    assert.ok(packed.header.chunks > 35, `${packed.header.chunks} chunks`);
    await publishResult(runner, packed);
    const bytes = await until('it is collected', () => got[0]);
    assert.deepEqual(await unpackBody(bytes, LIMIT, packed.header.size), body);
    await until(
      'the chunks are gone',
      async () => (await (await managerOf(controller)).streams.info('PY_CHUNKS')).state.messages === 0,
    );
    await until('the result is gone', async () => (await stored()) === 0);
  });

  it('a body over the limit is refused before it is read whole', async () => {
    await ensureStreams(await managerOf(controller));
    const packed = await pack('big', 6_000_000);
    await publishResult(runner, packed);
    await assert.rejects(fetchBody(controller, packed.header, 1_000_000), {
      code: 'bad-result',
      message: /over the limit/,
    });
    await assert.rejects(fetchBody(controller, { ...packed.header, chunks: 2 }, 1_048_576), { code: 'bad-result' });
    // What comes is counted, whatever the header says of its number.
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

  it('the same result twice in a row is one message', async () => {
    await ensureStreams(await managerOf(controller));
    const packed = await pack('twice');
    await publishResult(runner, packed);
    await publishResult(runner, packed);
    await publishResult(runner, await pack('twice', 100, 2));
    assert.equal(await stored(), 2);
  });

  it('a handler that fails gets the result again, and two collectors share the work', async () => {
    const seen: string[] = [];
    let failures = 0;
    const handle =
      (name: string): CollectSettings['handle'] =>
      async ({ header, deliveries }) => {
        if (header.job === 'fails' && deliveries === 1) {
          failures++;
          throw new Error('Postgres is away');
        }
        seen.push(`${name} ${header.job}`);
      };
    await collect(handle('a'));
    await collect(handle('b'), await fixture.controller());
    await publishUntilTaken('fails');
    for (let index = 0; index < 30; index++) await publishUntilTaken(`job-${index}`);
    await until('all came', () => seen.length === 31);
    assert.equal(failures, 1);
    assert.equal(new Set(seen.map((line) => line.split(' ')[1])).size, 31);
    assert.deepEqual([...new Set(seen.map((line) => line[0]))].sort(), ['a', 'b']);
  });

  it('what a stopping collector has not begun goes to another at once', async () => {
    const first: string[] = [];
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const collector = consumeResults(controller, {
      parallel: 2,
      handle: async ({ header }) => {
        first.push(header.job);
        await held;
      },
    });
    await until('it collects', () => collector.active());
    for (let index = 0; index < 6; index++) await publishUntilTaken(`job-${index}`);
    await until('two are in hand', () => first.length === 2);
    const stopped = collector.stop();
    const second: string[] = [];
    await collect(
      async ({ header }) => {
        second.push(header.job);
      },
      await fixture.controller(),
    );
    // Within less than the time to acknowledge (10 s).
    await until('the other four went over', () => second.length === 4, 8_000);
    release();
    await stopped;
    await until('none is left', async () => (await stored()) === 0);
    assert.deepEqual(
      [...first, ...second].sort(),
      Array.from({ length: 6 }, (_, index) => `job-${index}`),
    );
  });

  it("a malformed result, or one under another pod's name, is dropped", async () => {
    const seen: string[] = [];
    await collect(async ({ header }) => {
      seen.push(header.job);
    });
    await runner.js.publish(SUBJECT.result(uid), new TextEncoder().encode('{'));
    await runner.js.publish(
      SUBJECT.result(uid),
      new TextEncoder().encode(JSON.stringify({ ...(await pack('lie')).header, podUid: randomUUID() })),
    );
    await publishUntilTaken('good');
    await until('the good one came', () => seen.length > 0);
    await until('nothing is left', async () => (await stored()) === 0);
    assert.deepEqual(seen, ['good']);
    assert.equal(fixture.errors.filter((error) => error.code === 'bad-result').length, 2);
  });

  for (const [what, how] of [
    ['a restart', {}],
    ['a restart with an empty disk', { wipe: true }],
  ] as const) {
    it(`${what} under publishing: every result that a runner sends until it is collected arrives`, async () => {
      const collected = new Set<string>();
      await collect(async ({ header }) => {
        collected.add(header.job);
      });
      const total = 60;
      const publishing = (async () => {
        for (let index = 0; index < total; index++) {
          const packed = await pack(`job-${index}`);
          // An agent's loop: publish, wait for `collected`, publish again.
          await until(
            `job-${index} is collected`,
            async () => {
              await publishResult(runner, packed).catch(() => {});
              return until('a moment', () => collected.has(packed.header.job), 300).catch(() => false);
            },
            30_000,
          );
        }
      })();
      await until('some came', () => collected.size > 10);
      await fixture.server.restart(how);
      await publishing;
      assert.equal(collected.size, total);
    });
  }

  it('a deleted consumer is made again while collecting', async () => {
    const seen: string[] = [];
    await collect(async ({ header }) => {
      seen.push(header.job);
    });
    // Only as a server without permissions could: the controllers themselves may not delete it, so the disk is wiped
    // while no one publishes.
    await fixture.server.restart({ wipe: true });
    await publishUntilTaken('after');
    await until('it came', () => seen.length === 1, 20_000);
  });

  it('publishing without a stream says so', async () => {
    await assert.rejects(publishResult(runner, await pack('nowhere')), { name: 'BusError', code: 'no-stream' });
  });

  it('streams: made once, changed in place, safe at once from several replicas', async () => {
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

  it('streams: those of an older version get the limits of this one, and keep what is in them', async () => {
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

  it('streams: a number of replicas that an operator has set is left alone', async () => {
    const manager = await managerOf(controller);
    await ensureStreams(manager);
    const updates: object[] = [];
    // One server has one replica: what a cluster of three would say is put over its answers.
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
