/** Our account on three servers that serve others, too: nobody else needs a controller of ours to sign in. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveCallout } from '../../src/platform/bus/callout.ts';
import { connectBus, type Bus } from '../../src/platform/bus/connect.ts';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { managerOf } from '../../src/platform/bus/results.ts';
import { natsAccountConfig, type ServerKeys } from '../../src/platform/bus/server_config.ts';
import { ensureStreams, raiseReplicas } from '../../src/platform/bus/streams.ts';
import { until } from '../until.ts';
import { currentCopies, startThreeServers, type ThreeServers } from './three_servers.ts';

const conf = (keys: ServerKeys): string => {
  const { account, callout } = natsAccountConfig(keys);
  return `accounts {
  ${account}
  SHOP { jetstream: enabled, users: [ { user: shop, password: "till:1" } ] }
  SYS { users: [ { user: admin, password: admin } ] }
}
system_account: SYS
authorization {
  ${callout}
}`;
};

describe('bus: an account of ours on servers of others', function () {
  this.timeout(90_000);
  let three: ThreeServers;
  let directory: string;
  const opened: Bus[] = [];
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'probeyard-shared-'));
    three = await startThreeServers(conf);
  });
  after(async () => {
    await Promise.all(opened.map((bus) => bus.connection.close()));
    await three.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const shop = async (password: string): Promise<Bus> => {
    const file = join(directory, `shop-${password}`);
    writeFileSync(file, `shop:${password}\n`);
    const bus = await connectBus({
      url: three.urls,
      credentialsFile: file,
      name: 'shop',
      inboxPrefix: '_INBOX',
    });
    opened.push(bus);
    return bus;
  };

  it('users of another account sign in without any controller, with user and password', async () => {
    const bus = await shop('till:1');
    const heard: unknown[] = [];
    bus.subscribe('sales', ({ message }) => void heard.push(message));
    await bus.flush();
    bus.publish('sales', { sum: 3 });
    await until('the message arrives', () => heard.length === 1);
  });

  it('runners sign in through the callout; streams get three copies; other accounts see nothing of it', async () => {
    const controller = await three.controller();
    const api = await three.api();
    serveCallout(controller, {
      issuerSeed: three.issuerSeed,
      account: 'PROBEYARD',
      authorise: async (token) => ({ uid: token, pod: 'p' }),
      isOurPod: () => true,
    });
    await controller.flush();
    await until(
      'the streams exist',
      async () => {
        await ensureStreams(await managerOf(controller));
        return true;
      },
      30_000,
    );
    await until(
      'each has three copies',
      async () => {
        await raiseReplicas(await managerOf(controller));
        return (await currentCopies(controller)).every((count) => count === 3);
      },
      60_000,
    );

    const spied: string[] = [];
    const spy = await shop('till:1');
    spy.subscribe('>', ({ subject }) => void spied.push(subject));
    await spy.flush();
    const uid = randomUUID();
    const runner = await three.runner(uid, uid);
    controller.serve(SUBJECT.heartbeats, () => ({ ok: true }));
    await controller.flush();
    // Servers tell one another of subscriptions a moment later.
    const answer = await until('a heartbeat is answered', () => runner.request(SUBJECT.heartbeat(uid), {}, 5_000));
    assert.deepEqual(answer, { ok: true });
    const ended: unknown[] = [];
    api.subscribe(SUBJECT.ended('a'), ({ message }) => void ended.push(message));
    await api.flush();
    await until('the API hears of an end', () => {
      controller.publish(SUBJECT.ended('a'), { id: 'x' });
      return ended.length > 0;
    });
    assert.deepEqual(
      spied.filter((subject) => subject.startsWith('py.')),
      [],
    );
  });
});
