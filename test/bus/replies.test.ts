/**
 * The sender chooses the reply subject. Naming one that it may not publish to itself must reach no receiver that trusts
 * it.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { serveCallout } from '../../src/platform/bus/callout.ts';
import { isBeatOf, isCancel, isGo, isPrepare } from '../../src/platform/bus/claims.ts';
import type { Bus } from '../../src/platform/bus/connect.ts';
import { STREAM, SUBJECT } from '../../src/platform/bus/messages.ts';
import { INBOX } from '../../src/platform/bus/permissions.ts';
import { managerOf } from '../../src/platform/bus/results.ts';
import { ensureStreams } from '../../src/platform/bus/streams.ts';
import { until } from '../until.ts';
import { type BusFixture, startBus } from './fixture.ts';

const [liar, victim] = [randomUUID(), randomUUID()];

describe('bus: reply subjects that the sender may not publish to', function () {
  this.timeout(30_000);
  let fixture: BusFixture;
  let controller: Bus;
  let runner: Bus;
  let other: Bus;
  before(async () => {
    fixture = await startBus();
    controller = await fixture.controller();
    serveCallout(controller, {
      issuerSeed: fixture.issuerSeed,
      account: 'PROBEYARD',
      authorise: async (token) => ({ uid: token, pod: 'p' }),
      isOurPod: () => true,
    });
    await controller.flush();
    await ensureStreams(await managerOf(controller));
    [runner, other] = [await fixture.runner(liar, liar), await fixture.runner(victim, victim)];
    await other.js.publish(SUBJECT.chunk(victim, 'j', 1, 0), new TextEncoder().encode('x'));
  });
  after(() => fixture.close());

  const stored = async () => (await (await managerOf(controller)).streams.info(STREAM.chunks)).state.messages;
  const barrier = async () => {
    await runner.flush();
    await controller.flush();
    await other.flush();
  };

  it('a reply goes to an inbox and nowhere else', async () => {
    const heard: string[] = [];
    const listening = [
      other.subscribe(SUBJECT.runner(victim), ({ subject }) => void heard.push(subject)),
      controller.subscribe(SUBJECT.closed, ({ subject }) => void heard.push(subject)),
    ];
    const asked: string[] = [];
    const serving = controller.serve(SUBJECT.heartbeats, ({ subject }) => {
      asked.push(subject);
      return { job: 'j', attempt: 1 };
    });
    await barrier();
    // The reply could be an order to another runner, an end that was not recorded, or a purged stream.
    const targets = [
      SUBJECT.go(victim),
      SUBJECT.collected(victim),
      SUBJECT.closed,
      SUBJECT.ended('api-1'),
      `$JS.API.STREAM.PURGE.${STREAM.chunks}`,
    ];
    for (const reply of targets) runner.connection.publish(SUBJECT.heartbeat(liar), '{}', { reply });
    await until('every message was received', () => asked.length === targets.length);
    assert.deepEqual(await runner.request(SUBJECT.heartbeat(liar), {}, 2_000), { job: 'j', attempt: 1 });
    await barrier();
    assert.deepEqual(heard, []);
    assert.equal(await stored(), 1);
    for (const one of [serving, ...listening]) one.stop();
  });

  it("a JetStream confirmation to a subject of the sender's choice is neither an order nor a heartbeat", async () => {
    const heard: unknown[] = [];
    const listening = [
      other.subscribe(SUBJECT.runner(victim), ({ message }) => void heard.push(message)),
      controller.subscribe(SUBJECT.create, ({ message }) => void heard.push(message)),
    ];
    await barrier();
    const orders = [SUBJECT.prepare(victim), SUBJECT.go(victim), SUBJECT.cancel(victim)];
    const targets = [...orders, SUBJECT.create];
    for (const reply of [...targets, `$JS.API.STREAM.PURGE.${STREAM.chunks}`, `$JS.API.STREAM.DELETE.${STREAM.chunks}`])
      runner.connection.publish(SUBJECT.result(liar), '{}', { reply });
    await until('every sender has its confirmation', () => heard.length === targets.length);
    for (const message of heard)
      assert.ok(
        ![isPrepare, isGo, isCancel].some((is) => is(message)) && !isBeatOf(SUBJECT.heartbeat(victim), message),
        JSON.stringify(message),
      );
    assert.equal(await stored(), 1);
    for (const one of listening) one.stop();
  });

  it("another pod's inbox is refused as a reply subject, and its name can only be guessed", async () => {
    fixture.errors.length = 0;
    runner.publish(`${INBOX.runner(victim)}.x`, {});
    await until('the server refused the reply', () => fixture.errors.some(({ code }) => code === 'refused'));
  });
});
