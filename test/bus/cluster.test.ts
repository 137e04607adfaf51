/** NATS of three servers: streams of three copies, and what the loss of a server costs. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { serveCallout } from '../../src/platform/bus/callout.ts';
import { consumeResults } from '../../src/platform/bus/collect.ts';
import type { Bus } from '../../src/platform/bus/connect.ts';
import { STREAM } from '../../src/platform/bus/messages.ts';
import { packResult } from '../result/text_body.ts';
import { fetchBody, managerOf, publishResult } from '../../src/platform/bus/results.ts';
import { ensureStreams, raiseReplicas } from '../../src/platform/bus/streams.ts';
import { pause } from '../../src/base/retry.ts';
import { aCloseInput, anOpenInput, startStore, type StoreFixture } from '../store/fixture.ts';
import { until } from '../until.ts';
import { currentCopies, startThreeServers, type ThreeServers } from './three_servers.ts';
import { randomBody } from './random_body.ts';

const RUNNERS = 4;
describe('bus: three servers', function () {
  this.timeout(180_000);
  let three: ThreeServers;
  let stored: StoreFixture;
  let controllers: Bus[];
  let runners: { uid: string; bus: Bus }[];

  before(async () => {
    [three, stored] = await Promise.all([startThreeServers(), startStore()]);
    controllers = [await three.controller(), await three.controller()];
    for (const bus of controllers)
      serveCallout(bus, {
        issuerSeed: three.issuerSeed,
        account: 'PROBEYARD',
        authorise: async (token) => ({ uid: token, pod: 'p' }),
        isOurPod: () => true,
      });
    await Promise.all(controllers.map((bus) => bus.flush()));
    runners = await Promise.all(
      Array.from({ length: RUNNERS }, async () => {
        const uid = randomUUID();
        return { uid, bus: await three.runner(uid, uid) };
      }),
    );
  });
  after(async () => {
    for (const server of three.servers) server.resume();
    await three.close();
    await stored.close();
  });

  const copies = (expected: number) =>
    until(
      `each stream has ${expected} copies`,
      async () => (await currentCopies(controllers[0]!)).every((count) => count === expected),
      60_000,
    );

  it('copies are added to streams of fewer, and never removed', async () => {
    const manager = await managerOf(controllers[0]!);
    const raised: string[] = [];
    const options = (replicas?: number) => ({
      replicas,
      onReplicas: (stream: string, count: number) => void raised.push(`${stream} ${count}`),
    });
    await until('the streams exist', () => ensureStreams(manager, options(1)).then(() => true), 30_000);
    await copies(1);
    await raiseReplicas(manager, options(1));
    assert.deepEqual(raised, []);
    // Controllers try again, too: a server that the meta leader does not see yet takes no copy.
    await until(
      'copies are added to both streams',
      () => raiseReplicas(manager, options()).then(() => raised.length >= 2),
      30_000,
    );
    // The first attempt may have added copies to one of them alone.
    assert.deepEqual(raised.toSorted(), [`${STREAM.chunks} 3`, `${STREAM.results} 3`]);
    await copies(3);
    await ensureStreams(manager, options(1));
    await raiseReplicas(manager, options(1));
    await copies(3);
    assert.equal(raised.length, 2);
  });

  const faults: [what: string, cause: (three: ThreeServers) => Promise<void>, gapMs: number][] = [
    [
      'the server that leads the results is killed, and comes back',
      async ({ leaderOf }) => {
        const server = await leaderOf(controllers[0]!, STREAM.results);
        await server.kill();
        // The length of the fault, not a wait for a condition; so below.
        await pause(5_000);
        await server.restart();
      },
      40_000,
    ],
    [
      'the leader is cut off from the other two for 10 s',
      async ({ leaderOf, isolate }) => {
        const mend = isolate(await leaderOf(controllers[0]!, STREAM.results));
        await pause(10_000);
        mend();
      },
      40_000,
    ],
    [
      'the leader is stopped for 25 s, and continued',
      async ({ leaderOf }) => {
        const server = await leaderOf(controllers[0]!, STREAM.results);
        server.freeze();
        await pause(25_000);
        server.resume();
      },
      45_000,
    ],
  ];

  for (const [index, [what, cause, gapMs]] of faults.entries())
    it(`${what}, under load: no result is lost, and none recorded twice`, async () => {
      const tokenId = 5_000 + index;
      const opened = new Map<string, ReturnType<typeof anOpenInput>>();
      const done = new Map<string, () => void>();
      const collected = new Set<string>();
      const recordedAt: number[] = [];
      let closed = 0;
      const collecting = controllers.map((bus) =>
        consumeResults(bus, {
          async handle(header) {
            await fetchBody(bus, header, 8 * 1024 * 1024);
            const open = opened.get(header.job);
            assert.ok(open, 'a result of an unknown job');
            if ((await stored.store.closeRequest(aCloseInput(open))).closed) closed++;
            recordedAt.push(performance.now());
            collected.add(header.job);
            done.get(header.job)?.();
          },
        }),
      );
      await until('results are collected', () => collecting.some((one) => one.active()), 30_000);
      await copies(3);
      const away = new Map<string, number>();
      const reconnects: number[] = [];
      const forget = [...controllers, ...runners.map(({ bus }) => bus)].map((bus, number) =>
        bus.onStatus((status) => {
          const since = away.get(String(number));
          if (status === 'disconnected') away.set(String(number), performance.now());
          if (status === 'connected' && since !== undefined) reconnects.push(performance.now() - since);
        }),
      );
      const load = { over: false };
      const runner = async ({ uid, bus }: (typeof runners)[number]) => {
        for (let count = 0; !load.over || count < 10; count++) {
          const open = anOpenInput(stored.store, { tokenId });
          await stored.store.openRequest(open);
          opened.set(open.id, open);
          const recorded = new Promise<void>((resolve) => {
            done.set(open.id, resolve);
          });
          // Every tenth is large and goes in chunks.
          const packed = await packResult(randomBody(count % 10 === 9 ? 2_000_000 : 2_000), {
            job: open.id,
            attempt: 1,
            epoch: 1,
            podUid: uid,
          });
          const end = performance.now() + 90_000;
          while (!collected.has(open.id)) {
            assert.ok(performance.now() < end, `${open.id} was not recorded within 90 s`);
            await publishResult(bus, packed).catch(() => {});
            await Promise.race([recorded, pause(2_000)]);
          }
        }
      };
      const running = Promise.all(runners.map(runner));
      try {
        await until('the load runs', () => closed >= 20, 30_000);
        recordedAt.length = 0;
        recordedAt.push(performance.now());
        await cause(three);
        load.over = true;
        await running;
        await copies(3);
      } finally {
        load.over = true;
        for (const stop of forget) stop();
        await Promise.all(collecting.map((one) => one.stop()));
      }
      const longest = recordedAt.reduce((most, at, i) => Math.max(most, i === 0 ? 0 : at - recordedAt[i - 1]!), 0);
      console.log(
        `      ${opened.size} results, longest time without one ${Math.round(longest)} ms, ` +
          `reconnects after ${reconnects.map((ms) => Math.round(ms)).join(', ') || 'none'} ms`,
      );
      const [row] = await stored.sql(
        `select count(*)::integer n, count(*) filter (where state = 'open')::integer open,
          (select count(*)::integer from envelopes e join requests r using (id, submitted_at)
            where r.token_id = $1) bodies
          from requests where token_id = $1`,
        [tokenId],
      );
      assert.deepEqual(row, { n: opened.size, open: 0, bodies: opened.size });
      assert.equal(closed, opened.size);
      assert.ok(longest < gapMs, `no result for ${longest} ms`);
      // One that tries the silent server first waits for its connect time-out of 5 s.
      for (const ms of reconnects) assert.ok(ms < 20_000, `a reconnect took ${ms} ms`);
    });
});

describe('bus: one of three servers is away', function () {
  this.timeout(120_000);

  it('new streams come with one copy, and get the others when the server is back', async () => {
    const three = await startThreeServers();
    try {
      const bus = await three.controller();
      const manager = await managerOf(bus);
      await three.servers[2]!.kill();
      await until('the streams exist', () => ensureStreams(manager).then(() => true), 60_000);
      assert.deepEqual(await currentCopies(bus), [1, 1]);
      await raiseReplicas(manager);
      assert.deepEqual(await currentCopies(bus), [1, 1], 'nothing can be raised while the server is away');
      await three.servers[2]!.restart();
      await until(
        'each stream has three copies',
        async () => {
          await raiseReplicas(manager);
          return (await currentCopies(bus)).every((count) => count === 3);
        },
        60_000,
      );
    } finally {
      await three.close();
    }
  });
});
