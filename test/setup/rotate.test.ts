/** Rotations on a real API server, NATS server and key files: clients work at each step, and what is old is refused. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JSONWebKeySet } from 'jose';
import { connectNats } from '../../src/platform/bus/transport.ts';
import { changes } from '../../src/service/controller/certificate_watch.ts';
import { type KubeClient, SECRETS, type Secret } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { openBox, sealInBox } from '../../src/platform/seal/box.ts';
import { openSealed, sealSource } from '../../src/platform/seal/seal.ts';
import { rotate } from '../../src/service/setup/rotate.ts';
import { setup } from '../../src/service/setup/main.ts';
import { dataOf } from '../../src/service/setup/secrets.ts';
import { bootstrapAdmin } from '../../src/platform/store/admin.ts';
import { type TestApiServer, testApiServer } from '../kube/apiserver.ts';
import { startNats } from '../servers.ts';
import { startStore } from '../store/fixture.ts';
import { until } from '../until.ts';

const NAMES = {
  natsTls: 'probeyard-nats-tls',
  sealPrivate: 'probeyard-seal-private',
  sealPublic: 'probeyard-seal-public',
  box: 'probeyard-box',
};
type Snapshot = Record<keyof typeof NAMES, Record<string, string>>;

describe('rotation', function () {
  this.timeout(120_000);
  let server: TestApiServer;
  let kube: KubeClient;
  let folder: string;
  let lines: object[];
  let clock: number;

  before(async () => {
    server = await testApiServer({ own: true });
  });
  beforeEach(async () => {
    kube = await kubeClient({ kubeconfig: server.kubeconfig, namespace: await server.namespace('rotate') });
    await setup(kube, { names: NAMES, natsHosts: ['localhost'], postgresHost: '', adminEmail: 'admin@example.org' });
    folder = mkdtempSync(join(tmpdir(), 'probeyard-rotate-'));
    lines = [];
    clock = Date.now();
  });
  afterEach(async () => {
    await kube.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function snapshot(): Promise<Snapshot> {
    const entries = Object.entries(NAMES).map(async ([kind, name]) => {
      const { data = {} } = await kube.get<Secret>(SECRETS, name);
      const decoded = Object.entries(data).map(([key, value]) => [
        key,
        Buffer.from(String(value), 'base64').toString(),
      ]);
      return [kind, Object.fromEntries(decoded)];
    });
    return Object.fromEntries(await Promise.all(entries)) as Snapshot;
  }

  /** Runs it in no time; `at` is called in each stage, with the Secrets as they are then. */
  async function rotated(what: string[], at: (now: Snapshot) => Promise<void> = async () => {}): Promise<void> {
    const log = { info: (line: object) => lines.push(line), warn: (line: object) => lines.push(line) };
    await rotate(kube, what, {
      names: NAMES,
      natsHosts: ['localhost'],
      database: { url: '' },
      log: log as never,
      now: () => clock,
      async wait(ms) {
        await at(await snapshot());
        clock += ms;
      },
    });
  }

  const keySet = (text: string | undefined): JSONWebKeySet => JSON.parse(text ?? '') as JSONWebKeySet;
  const binding = { requestId: 'r', tokenId: 1 };

  it('seal: what the API seals opens at every controller, also where one is a step behind', async () => {
    const seen = [await snapshot()];
    await rotated(['seal'], async (now) => void seen.push(now));
    seen.push(await snapshot());
    assert.equal(seen.length, 4);
    assert.ok(clock - Date.now() > 15 * 60_000, 'the old key is there for as long as a job may live');
    for (const [index, now] of seen.entries()) {
      const behind = seen[Math.max(0, index - 1)]!;
      for (const api of [now, behind])
        for (const controller of [now, behind]) {
          const sealed = sealSource('source', binding, keySet(api.sealPublic['public.jwks']));
          assert.equal(openSealed(sealed, binding, keySet(controller.sealPrivate['private.jwks'])), 'source');
        }
    }
    const old = sealSource('source', binding, keySet(seen[0]!.sealPublic['public.jwks']));
    assert.throws(() => openSealed(old, binding, keySet(seen[3]!.sealPrivate['private.jwks'])), /unknown key/);
    assert.equal(seen[3]!.sealPrivate['rotation'], undefined);
  });

  it('box: seals with a new key, and opens what an earlier one sealed', async () => {
    const before = keySet((await snapshot()).box['box.jwks']);
    const sealed = await sealInBox('secret', 'token:1', before);
    await rotated(['box']);
    const after = keySet((await snapshot()).box['box.jwks']);
    assert.equal(await openBox(sealed, 'token:1', after), 'secret');
    await assert.rejects(openBox(await sealInBox('secret', 'token:1', after), 'token:1', before), /unknown key/);
  });

  const put = (name: string, text: string | undefined): string => {
    writeFileSync(join(folder, name), text ?? '', { mode: 0o600 });
    return join(folder, name);
  };

  it('natsCa: both authorities are trusted in between, and the old one alone does not do at the end', async () => {
    const before = await snapshot();
    const seen = [before];
    const tls = ({ natsTls }: Snapshot) => ({
      certificate: natsTls['tls.crt'] ?? '',
      key: natsTls['tls.key'] ?? '',
      ca: natsTls['ca.crt'] ?? '',
    });
    const nats = await startNats({ tls: tls(before) });
    const connects = async (ca: string | undefined): Promise<true | string> => {
      try {
        const servers = `tls://localhost:${nats.port}`;
        const connection = await connectNats({ servers, tls: { ca: ca ?? '' }, reconnect: false });
        await connection.close();
        return true;
      } catch (error) {
        return String(error);
      }
    };
    try {
      const check = async (now: Snapshot): Promise<void> => {
        // Clients may be a step behind the server, or ahead of it.
        const behind = seen.at(-1)!;
        for (const ca of [behind, now]) assert.equal(await connects(ca.natsTls['ca.crt']), true);
        nats.certify(tls(now));
        nats.reload();
        for (const ca of [behind, now])
          await until('the client trusts the server', async () => (await connects(ca.natsTls['ca.crt'])) === true);
        seen.push(now);
      };
      await rotated(['natsCa'], check);
      const after = await snapshot();
      await check(after);
      assert.match(String(await connects(before.natsTls['ca.crt'])), /certificate|self.signed|TLS/i);
      assert.deepEqual(Object.keys(after.natsTls).sort(), Object.keys(before.natsTls).sort());
      assert.equal(after.natsTls['ca.crt']!.match(/BEGIN/g)!.length, 1);
    } finally {
      await nats.stop();
    }
  });

  it('goes on where a killed job was, without other keys', async () => {
    await assert.rejects(
      rotated(['seal'], () => Promise.reject(new Error('killed'))),
      /killed/,
    );
    const half = await snapshot();
    assert.match(half.sealPrivate['rotation'] ?? '', /"opens"/);
    await rotated(['seal']);
    const after = await snapshot();
    assert.deepEqual(
      keySet(after.sealPrivate['private.jwks']).keys.map(({ kid }) => kid),
      keySet(half.sealPrivate['private.jwks'])
        .keys.slice(1)
        .map(({ kid }) => kid),
    );
  });

  it('two jobs at once make one rotation', async () => {
    await Promise.all([rotated(['box']), rotated(['seal']), rotated(['seal'])]);
    const { sealPrivate, sealPublic } = await snapshot();
    const [kid] = keySet(sealPublic['public.jwks']).keys.map((key) => key.kid);
    assert.ok(keySet(sealPrivate['private.jwks']).keys.some((key) => key.kid === kid));
  });

  it("leaves another's authority alone, and says why", async () => {
    await kube.mergePatch(SECRETS, NAMES.natsTls, { data: { 'ca.key': null } });
    const before = await snapshot();
    await rotated(['natsCa']);
    assert.deepEqual(await snapshot(), before);
    assert.match(JSON.stringify(lines), /no ca\.key: whoever made the authority exchanges it/);
  });

  it('refuses an unknown name with the known ones', async () => {
    await assert.rejects(
      rotated(['everything']),
      /cannot rotate everything; available: seal, box, natsCa, postgres, admin/,
    );
  });

  it('a changed stage makes the controllers reload NATS for some minutes, and a start does not', async () => {
    let now = 0;
    const file = put('stage', 'first');
    const changed = changes([file, join(folder, 'missing')], () => now);
    assert.equal(await changed(), false);
    put('stage', 'second');
    utimesSync(file, 1, 1);
    assert.equal(await changed(), true);
    now += 3 * 60_000;
    assert.equal(await changed(), true);
    now += 2 * 60_000;
    assert.equal(await changed(), false);
    rmSync(file);
    assert.equal(await changed(), true);
  });

  it('admin: the new token is in the Secret before it is in force; a removed Secret is left alone', async () => {
    const stored = await startStore();
    const names = { admin: 'probeyard-admin', box: 'probeyard-box' };
    const held = async () => dataOf(await kube.get<Secret>(SECRETS, names.admin));
    const log = { info: (line: object) => lines.push(line), warn: (line: object) => lines.push(line) } as never;
    const rotateAdmin = (url: string) => rotate(kube, ['admin'], { names, natsHosts: [], database: { url }, log });
    const owner = async (token = '') =>
      (await stored.store.findToken(createHash('sha256').update(token).digest()))?.userId;
    try {
      const before = await held();
      const { userId } = await bootstrapAdmin({ url: stored.server.url }, before as never);
      await assert.rejects(rotateAdmin('postgres://127.0.0.1:1/none'));
      const half = await held();
      assert.equal(half['token'], before['token']);
      assert.equal(await owner(before['token']), userId);
      await rotateAdmin(stored.server.url);
      const after = await held();
      assert.deepEqual(Object.keys(after).sort(), Object.keys(before).sort());
      assert.deepEqual([after['token'], after['password']], [half['next-token'], half['next-password']]);
      assert.deepEqual([await owner(before['token']), await owner(after['token'])], [undefined, userId]);
      assert.ok(!JSON.stringify(lines).includes(after['token']!));
      await kube.delete(SECRETS, names.admin);
      await rotateAdmin(stored.server.url);
      assert.deepEqual(lines.at(-1), { what: 'admin', secret: names.admin, reason: 'the Secret does not exist' });
    } finally {
      await stored.close();
    }
  });
});
