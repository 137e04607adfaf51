/** A server with an operator and JWTs: credentials from creds files, runners by a sentinel and the auth callout. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createAccount,
  createOperator,
  createUser,
  encodeAccount,
  encodeOperator,
  encodeUser,
  fmtCreds,
  type KeyPair,
} from '@nats-io/jwt';
import { serveCallout } from '../../src/platform/bus/callout.ts';
import { connectBus, type Bus, type BusSettings } from '../../src/platform/bus/connect.ts';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import {
  apiPermissions,
  controllerPermissions,
  INBOX,
  type SubjectPermissions,
} from '../../src/platform/bus/permissions.ts';
import { managerOf } from '../../src/platform/bus/results.ts';
import { ensureStreams } from '../../src/platform/bus/streams.ts';
import { startNats, type NatsServer } from '../servers.ts';
import { until } from '../until.ts';

const seed = (key: KeyPair) => new TextDecoder().decode(key.getSeed());

describe('bus: a server with an operator and JWTs', function () {
  this.timeout(60_000);
  const [operator, account, signing, system] = [createOperator(), createAccount(), createAccount(), createAccount()];
  const [api, controller, sentinel] = [createUser(), createUser(), createUser()];
  let folder: string;
  let server: NatsServer;
  let sentinelJwt: string;
  const opened: Bus[] = [];

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-operator-'));
    const accountJwt = await encodeAccount(
      'MEDIA',
      account,
      {
        limits: {
          mem_storage: 64 << 20,
          disk_storage: 2 ** 31,
          streams: 4,
          consumer: 8,
          conn: -1,
          subs: -1,
          data: -1,
          payload: -1,
        },
        signing_keys: [signing.getPublicKey()],
        authorization: {
          auth_users: [api.getPublicKey(), controller.getPublicKey()],
          allowed_accounts: [account.getPublicKey()],
          xkey: '',
        },
      },
      { signer: operator },
    );
    const systemJwt = await encodeAccount('SYS', system, {}, { signer: operator });
    const operatorJwt = await encodeOperator('test', operator, { system_account: system.getPublicKey() });
    const creds = async (name: string, key: KeyPair, { publish, subscribe }: SubjectPermissions, responses = false) => {
      const jwt = await encodeUser(name, key, account, {
        pub: { allow: publish, deny: [] },
        sub: { allow: subscribe, deny: [] },
        ...(responses ? { resp: { max: 1, ttl: 30_000_000_000 } } : {}),
      });
      writeFileSync(join(folder, `${name}.creds`), fmtCreds(jwt, key), { mode: 0o600 });
    };
    await creds('api', api, apiPermissions);
    await creds('controller', controller, controllerPermissions, true);
    sentinelJwt = await encodeUser('sentinel', sentinel, account, {
      pub: { allow: [], deny: ['>'] },
      sub: { allow: [], deny: ['>'] },
      bearer_token: true,
    });
    server = await startNats({
      jetstream: true,
      conf: `operator: ${operatorJwt}
system_account: ${system.getPublicKey()}
resolver: MEMORY
resolver_preload {
  ${account.getPublicKey()}: ${accountJwt}
  ${system.getPublicKey()}: ${systemJwt}
}`,
    });
  });
  after(async () => {
    await Promise.all(opened.map((bus) => bus.connection.close()));
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = async (settings: Omit<BusSettings, 'url'>): Promise<Bus> => {
    const bus = await connectBus({ url: server.url, ...settings });
    opened.push(bus);
    return bus;
  };

  for (const [what, issuer] of [
    ["the account's own key", account],
    ['a signing key of the account', signing],
  ] as const)
    it(`creds files sign in, and runners are admitted by ${what}`, async () => {
      const bus = await open({
        name: 'controller',
        credentialsFile: join(folder, 'controller.creds'),
        inboxPrefix: INBOX.controller,
      });
      const callout = serveCallout(bus, {
        issuerSeed: seed(issuer),
        account: account.getPublicKey(),
        authorise: async (token) => ({ uid: token, pod: 'p' }),
        isOurPod: () => true,
      });
      const answering = bus.serve(SUBJECT.heartbeats, () => ({ ok: true }));
      await ensureStreams(await managerOf(bus));
      await bus.flush();
      await open({ name: 'api', credentialsFile: join(folder, 'api.creds'), inboxPrefix: INBOX.api });
      const uid = randomUUID();
      const tokenFile = join(folder, `${uid}.token`);
      writeFileSync(tokenFile, uid);
      const errors: string[] = [];
      const runner = await open({
        name: 'runner',
        tokenFile,
        sentinelJwt,
        inboxPrefix: INBOX.runner(uid),
        onError: ({ code }) => errors.push(code),
      });
      assert.deepEqual(await runner.request(SUBJECT.heartbeat(uid), {}, 5_000), { ok: true });
      runner.subscribe(SUBJECT.runner(randomUUID()), () => {});
      await until('subjects of another pod are refused', () => errors.includes('refused'));
      callout.stop();
      answering.stop();
      await bus.flush();
    });
});
