/** NATS admits a runner only in the life that its pod has, and closes the connections of former lives. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type Callout, type Decision, serveCallout } from '../../src/platform/bus/callout.ts';
import type { Bus, BusStatus } from '../../src/platform/bus/connect.ts';
import { type Heartbeat, type Lease, type OrderAnswer, SUBJECT } from '../../src/platform/bus/messages.ts';
import { INBOX } from '../../src/platform/bus/permissions.ts';
import { connectionName, makeRunnerId } from '../../src/platform/bus/runner_id.ts';
import { until } from '../until.ts';
import { type BusFixture, startBus } from './fixture.ts';

describe('bus: lives of a runner pod', function () {
  this.timeout(30_000);
  let fixture: BusFixture;
  let controllers: Bus[];
  let callouts: Callout[];
  const decisions: Decision[] = [];
  /** By pod: its life, as the annotation has it. */
  const lives = new Map<string, number>();

  before(async () => {
    fixture = await startBus();
    controllers = [await fixture.controller(), await fixture.controller()];
    callouts = controllers.map((bus) =>
      serveCallout(bus, {
        issuerSeed: fixture.issuerSeed,
        account: 'PROBEYARD',
        // The token is the pod.
        authorise: async (token) => ({ uid: token, pod: `runner-${token.slice(0, 4)}` }),
        isOurPod: () => true,
        isInLife: async ({ uid }, life) => lives.get(uid) === life,
        onDecision: (decision) => decisions.push(decision),
      }),
    );
    await Promise.all(controllers.map((bus) => bus.flush()));
  });
  after(() => fixture.close());

  const newPod = (life = 0): string => {
    const uid = randomUUID();
    lives.set(uid, life);
    return uid;
  };
  const connectAs = (
    uid: string,
    life: number,
    name = connectionName('runner-x', life),
    statuses: BusStatus[] = [],
  ) => {
    const id = makeRunnerId({ podUid: uid, life });
    return fixture.runner(id, uid, {
      name,
      inboxPrefix: INBOX.runner(id),
      // One try: a refusal is an error.
      toRenew: true,
      onStatus: (status) => statuses.push(status),
    });
  };
  const kick = async (uid: string, before?: number): Promise<number> =>
    (await Promise.all(callouts.map((callout) => callout.kick(uid, before)))).reduce((a, b) => a + b, 0);

  it('a runner is admitted under the id of its life', async () => {
    const uid = newPod(3);
    const bus = await connectAs(uid, 3);
    assert.deepEqual(decisions.at(-1), {
      ok: true,
      uid: `${uid}_3`,
      pod: `runner-${uid.slice(0, 4)}`,
    });
    const beats = controllers[0]!.serve<Heartbeat, Lease>(SUBJECT.heartbeats, () => ({ epoch: 1, leaseMs: 1 }));
    await controllers[0]!.flush();
    assert.deepEqual(await bus.request<Lease>(SUBJECT.heartbeat(`${uid}_3`), {}, 2_000), { epoch: 1, leaseMs: 1 });
    beats.stop();
  });

  for (const [title, has, states, name] of [
    ['a former life', 2, 1, undefined],
    ['the first life, after it', 1, 0, undefined],
    ['a life that the leader has not begun', 1, 2, undefined],
    ['no life, as in the first, after it', 1, 0, 'runner/anything'],
    ['what is not a life', 1, 1, 'runner/x/one'],
    ['a wildcard', 1, 1, 'runner/x/*'],
  ] as const)
    it(`an agent that states ${title} is refused`, async () => {
      const uid = newPod(has);
      await assert.rejects(connectAs(uid, states, name));
      const last = decisions.at(-1);
      assert.equal(last && !last.ok && last.code, 'life');
    });

  it('a runner gets neither orders nor answers of another life of its pod, and sends nothing for it', async () => {
    const uid = newPod(0);
    const first = await connectAs(uid, 0);
    const heard: string[] = [];
    // What the server permits to the first life.
    first.serve<object, OrderAnswer>(SUBJECT.runner(uid), ({ subject }) => {
      heard.push(subject);
      return { ok: true };
    });
    await first.flush();
    lives.set(uid, 1);
    const second = await connectAs(uid, 1);
    second.serve<object, OrderAnswer>(SUBJECT.go(`${uid}_1`), () => ({ ok: true }));
    await second.flush();
    await controllers[0]!.request<OrderAnswer>(SUBJECT.go(`${uid}_1`), {}, 2_000);
    await controllers[0]!.request<OrderAnswer>(SUBJECT.go(uid), {}, 2_000);
    assert.deepEqual(heard, [SUBJECT.go(uid)]);
    fixture.errors.length = 0;
    first.publish(SUBJECT.result(`${uid}_1`), {});
    second.publish(SUBJECT.result(uid), {});
    await until('both were refused', () => fixture.errors.filter(({ code }) => code === 'refused').length === 2);
  });

  it('connections of former lives are closed, that of the current one stays', async () => {
    const uid = newPod(0);
    const statuses: [BusStatus[], BusStatus[]] = [[], []];
    await connectAs(uid, 0, undefined, statuses[0]);
    lives.set(uid, 1);
    const second = await connectAs(uid, 1, undefined, statuses[1]);
    assert.equal(await kick(uid, 1), 1);
    await until('the first is closed', () => statuses[0].includes('closed'));
    await second.flush();
    assert.deepEqual(statuses[1], ['connected']);
    assert.equal(await kick(uid, 1), 0, 'it is remembered no more');
    assert.equal(await kick(uid), 1, 'the pod is deleted');
    await until('the second is closed', () => statuses[1].includes('closed'));
  });
});
