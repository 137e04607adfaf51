import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { type Bus, connectBus } from '../../src/platform/bus/connect.ts';
import { type Heartbeat, type Lease, SUBJECT } from '../../src/platform/bus/messages.ts';
import { startHeartbeats } from '../../src/service/runner/agent.ts';
import { type NatsServer, startNats } from '../servers.ts';

describe('lease of a task', function () {
  this.timeout(20_000);
  let nats: NatsServer;
  let [leader, agent]: Bus[] = [];
  before(async () => {
    nats = await startNats();
    [leader, agent] = await Promise.all([
      connectBus({ url: nats.url, name: 'leader', inboxPrefix: '_INBOX_l' }),
      connectBus({ url: nats.url, name: 'agent', inboxPrefix: '_INBOX_a' }),
    ]);
  });
  after(async () => {
    await Promise.all([leader?.drain(), agent?.drain()]);
    await nats.stop();
  });

  it('starts when the heartbeat is sent, however late the reply arrives', async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    leader!.serve<Heartbeat, Lease>(SUBJECT.heartbeats, async () => {
      asked.resolve();
      await answer.promise;
      return { epoch: 1, leaseMs: 200 };
    });
    await leader!.flush();
    const told = Promise.withResolvers<void>();
    const heartbeats = startHeartbeats({
      bus: agent!,
      podUid: 'one',
      state: () => ({}) as Heartbeat,
      onLease: () => {
        told.resolve();
        return true;
      },
      onTick: () => {},
      everyMs: 60_000,
    });
    try {
      await asked.promise;
      setTimeout(answer.resolve, 400);
      await told.promise;
      await turn();
      assert.equal(heartbeats.held(), false);
      heartbeats.renew();
      assert.equal(heartbeats.held(), true);
    } finally {
      heartbeats.stop();
    }
  });
});
