import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenChecksum } from '../../src/service/accounts/token_text.ts';
import { connectBus } from '../../src/platform/bus/connect.ts';
import { INBOX } from '../../src/platform/bus/permissions.ts';
import { connectNats } from '../../src/platform/bus/transport.ts';
import { type KubeClient, SECRETS, type Secret } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { openSealed, sealSource } from '../../src/platform/seal/seal.ts';
import { natsTls, renewed } from '../../src/service/setup/certificates.ts';
import { PERSISTENT_VOLUME_CLAIMS, setup } from '../../src/service/setup/main.ts';
import { renew } from '../../src/service/setup/renew.ts';
import { randomText } from '../../src/service/accounts/token_text.ts';
import { admin, boxKeys, natsAuth, postgres, sealKeys } from '../../src/service/setup/secrets.ts';
import { isToken } from '../../src/platform/store/token_text.ts';
import { type TestApiServer, testApiServer } from '../kube/apiserver.ts';
import { newKeys } from '../backup/fixture.ts';
import { startNats } from '../servers.ts';

const DAY_MS = 86_400_000;

describe('setup: contents of the Secrets', function () {
  this.timeout(30_000);

  it("an administrator's token that the record accepts, different each time", () => {
    const box = boxKeys();
    const [first, second] = [admin('a@example.org', box), admin('a@example.org', box)];
    assert.ok(isToken(first['token'] ?? ''));
    assert.equal(tokenChecksum(first['token'] ?? '', JSON.parse(box['box.jwks']!)), 'right');
    assert.notEqual(first['token'], second['token']);
    assert.equal(new Set(Array.from({ length: 500 }, () => randomText(24))).size, 500);
  });

  it('a Postgres address with its own password', () => {
    const { username, password, database, url } = postgres('db.example.org');
    const parsed = new URL(url ?? '');
    assert.deepEqual(
      [parsed.username, decodeURIComponent(parsed.password), parsed.pathname, parsed.hostname],
      [username, password, `/${database}`, 'db.example.org'],
    );
  });

  it('a pair of sealing keys: the private one opens what the public one seals', async () => {
    const keys = await sealKeys();
    assert.equal(JSON.parse(keys.public['public.jwks'] ?? '').keys[0].d, undefined);
    const binding = { requestId: 'r', tokenId: 7 };
    const sealed = sealSource(
      'https://user:secret@example.org/x',
      binding,
      JSON.parse(keys.public['public.jwks'] ?? ''),
    );
    assert.equal(
      openSealed(sealed, binding, JSON.parse(keys.private['private.jwks'] ?? '')),
      'https://user:secret@example.org/x',
    );
  });

  it('certificates: one for every host, by its own CA, renewed at a third of its life or for a new host', async () => {
    const now = new Date('2026-05-01T00:00:00Z');
    const later = (days: number) => new Date(now.getTime() + days * DAY_MS);
    const data = await natsTls(['nats', 'nats.probeyard.svc'], now);
    const [ca, certificate] = [new X509Certificate(data['ca.crt'] ?? ''), new X509Certificate(data['tls.crt'] ?? '')];
    assert.ok(ca.ca && !certificate.ca && certificate.verify(ca.publicKey) && certificate.checkIssued(ca));
    assert.deepEqual(
      ['nats', 'nats.probeyard.svc', 'elsewhere'].map((host) => certificate.checkHost(host)),
      ['nats', 'nats.probeyard.svc', undefined],
    );
    assert.ok(Date.parse(ca.validTo) > later(3_600).getTime());
    assert.equal(await renewed(data, ['nats'], later(240)), undefined);
    for (const changes of [await renewed(data, ['nats'], later(250)), await renewed(data, ['nats', 'new'], now)]) {
      assert.deepEqual(Object.keys(changes ?? {}).sort(), ['tls.crt', 'tls.key']);
      assert.ok(new X509Certificate(changes?.['tls.crt'] ?? '').verify(ca.publicKey));
    }
    const { 'ca.key': _, ...given } = data;
    assert.equal(await renewed(given, ['new'], later(400)), undefined, 'a given certificate is not ours to renew');
  });

  it('a NATS server uses them for TLS, and refuses another CA and another user', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'probeyard-setup-'));
    const file = (name: string, text = '') => {
      writeFileSync(join(folder, name), text, { mode: 0o600 });
      return join(folder, name);
    };
    const [tls, auth, otherTls, otherAuth] = [
      await natsTls(['localhost']),
      natsAuth(),
      await natsTls(['localhost']),
      natsAuth(),
    ];
    const server = await startNats({
      jetstream: true,
      tls: { certificate: tls['tls.crt'] ?? '', key: tls['tls.key'] ?? '', ca: tls['ca.crt'] ?? '' },
      conf: auth['auth.conf'] ?? '',
    });
    try {
      const settings = { url: `tls://localhost:${server.port}`, caFile: file('ca.crt', tls['ca.crt']), name: 'test' };
      for (const [name, inboxPrefix] of [
        ['api.nk', INBOX.api],
        ['controller.nk', INBOX.controller],
      ] as const) {
        const bus = await connectBus({ ...settings, credentialsFile: file(name, auth[name]), inboxPrefix });
        assert.equal(bus.connected(), true);
        await bus.drain();
      }
      const { nkeyAuthenticator } = await import('nats');
      const attempt = (ca: string | undefined, seed: string | undefined) =>
        connectNats({
          servers: settings.url,
          tls: { ca: ca ?? '' },
          reconnect: false,
          authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)),
        });
      await assert.rejects(attempt(otherTls['ca.crt'], auth['api.nk']), /certificate|self.signed|TLS/i);
      await assert.rejects(attempt(tls['ca.crt'], otherAuth['api.nk']), /Authorization Violation/i);
    } finally {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('setup: Secrets of an installation', function () {
  this.timeout(90_000);
  let server: TestApiServer;
  let kube: KubeClient;
  const settings = { names: {}, natsHosts: ['nats'], postgresHost: 'postgres', adminEmail: 'admin@example.org' };
  const NAMES = [
    'probeyard-admin',
    'probeyard-box',
    'probeyard-nats-auth',
    'probeyard-nats-tls',
    'probeyard-postgres',
    'probeyard-postgres-api',
    'probeyard-postgres-controller',
    'probeyard-seal-private',
    'probeyard-seal-public',
  ];

  before(async () => {
    server = await testApiServer({ own: true });
  });
  beforeEach(async () => {
    kube = await kubeClient({ kubeconfig: server.kubeconfig, namespace: await server.namespace('setup') });
  });
  afterEach(() => kube.close());

  const all = async () =>
    Object.fromEntries((await kube.list<Secret>(SECRETS)).items.map((secret) => [secret.metadata.name, secret.data]));

  it('a restore takes the keys of the backup instead of new ones, and refuses another box', async () => {
    const keys = await newKeys();
    await setup(kube, { ...settings, keys });
    const held = async (name: string, key: string) =>
      Buffer.from(String((await kube.get<Secret>(SECRETS, name)).data?.[key]), 'base64').toString();
    assert.equal(await held('probeyard-box', 'box.jwks'), keys.box!['box.jwks']);
    assert.equal(await held('probeyard-seal-private', 'private.jwks'), keys.sealPrivate!['private.jwks']);
    assert.equal(await held('probeyard-nats-auth', 'issuer.nk'), keys.natsAuth!['issuer.nk']);
    assert.equal(await held('probeyard-admin', 'token'), keys.admin!['token']);
    const [open] = (JSON.parse(await held('probeyard-seal-public', 'public.jwks')) as { keys: { kid: string }[] }).keys;
    assert.ok(keys.sealPrivate!['private.jwks']!.includes(open!.kid));
    assert.deepEqual((await setup(kube, { ...settings, keys })).made, []);
    await assert.rejects(setup(kube, { ...settings, keys: await newKeys() }), /box lacks the key \w+ of the backup/);
  });

  it("the administrator's is not made again where it was removed, also before a backup that is restored", async () => {
    await setup(kube, settings);
    await kube.delete(SECRETS, 'probeyard-admin');
    assert.deepEqual((await setup(kube, settings)).made, []);
    // As docs/operating/secrets.md says to get a new one.
    const annotations = { 'probeyard.dev/admin-made': null };
    await kube.mergePatch(SECRETS, 'probeyard-box', { metadata: { annotations } });
    assert.deepEqual((await setup(kube, settings)).made, ['probeyard-admin']);

    const namespace = await server.namespace('restored');
    const other = await kubeClient({ kubeconfig: server.kubeconfig, namespace });
    try {
      const { admin: _, ...keys } = await newKeys();
      assert.ok(!(await setup(other, { ...settings, keys })).made.includes('probeyard-admin'));
    } finally {
      await other.close();
    }
  });

  it('are all created, and kept the next time', async () => {
    assert.deepEqual((await setup(kube, settings)).made.sort(), NAMES);
    const before = await all();
    assert.deepEqual(Object.keys(before).sort(), NAMES);
    const again = await setup(kube, settings);
    assert.deepEqual([again.made, again.renewed, again.kept.sort()], [[], [], NAMES]);
    assert.deepEqual(await all(), before);
  });

  it('two runs at once create one consistent set', async () => {
    await Promise.all([setup(kube, settings), setup(kube, settings)]);
    const text = async (name: string, key: string) =>
      Buffer.from(String((await kube.get<Secret>(SECRETS, name)).data?.[key]), 'base64').toString();
    const sealed = sealSource(
      'x',
      { requestId: 'r', tokenId: 1 },
      JSON.parse(await text('probeyard-seal-public', 'public.jwks')),
    );
    assert.equal(
      openSealed(
        sealed,
        { requestId: 'r', tokenId: 1 },
        JSON.parse(await text('probeyard-seal-private', 'private.jwks')),
      ),
      'x',
    );
  });

  it('an existing one is adopted by name and never changed', async () => {
    await kube.create(SECRETS, {
      metadata: { name: 'their-postgres' },
      type: 'Opaque',
      stringData: { url: 'postgres://theirs' },
    } as Secret);
    const { 'ca.key': _, ...given } = await natsTls(['elsewhere']);
    await kube.create(SECRETS, { metadata: { name: 'their-tls' }, type: 'Opaque', stringData: given } as Secret);
    const before = await all();
    const report = await setup(kube, { ...settings, names: { postgres: 'their-postgres', natsTls: 'their-tls' } });
    assert.ok(report.kept.includes('their-postgres') && report.kept.includes('their-tls'));
    const after = await all();
    assert.deepEqual([after['their-postgres'], after['their-tls']], [before['their-postgres'], before['their-tls']]);
    assert.equal(after['probeyard-postgres'], undefined);
  });

  it('upgrade: the server gets new permissions and a certificate for a new host, with the same keys', async () => {
    await setup(kube, settings);
    const before = await all();
    await kube.mergePatch(SECRETS, 'probeyard-nats-auth', { stringData: { 'auth.conf': 'of an older release' } });
    const report = await setup(kube, { ...settings, natsHosts: ['nats', 'nats.elsewhere'] });
    assert.deepEqual(report.renewed.sort(), ['probeyard-nats-auth', 'probeyard-nats-tls']);
    const after = await all();
    assert.deepEqual(after['probeyard-nats-auth'], before['probeyard-nats-auth']);
    assert.equal(after['probeyard-nats-tls']?.['ca.crt'], before['probeyard-nats-tls']?.['ca.crt']);
    assert.notEqual(after['probeyard-nats-tls']?.['tls.crt'], before['probeyard-nats-tls']?.['tls.crt']);
  });

  it('the renewal replaces the certificate and its key alone, when due, and only what it has read', async () => {
    const name = 'probeyard-nats-tls';
    const old = await natsTls(['nats'], new Date(Date.now() - 300 * DAY_MS));
    await kube.create(SECRETS, { metadata: { name }, stringData: old } as Secret);
    const held = async () => (await kube.get<Secret>(SECRETS, name)).data as Record<string, string>;
    const before = await held();
    assert.equal(await renew(kube, name, ['nats']), true);
    const after = await held();
    assert.deepEqual(
      Object.keys(after)
        .filter((key) => after[key] !== before[key])
        .sort(),
      ['tls.crt', 'tls.key'],
    );
    assert.equal(await renew(kube, name, ['nats']), false);
    assert.deepEqual(await held(), after);
    // Another renewal was faster.
    const slow = {
      ...kube,
      get: (async (...args: Parameters<typeof kube.get>) => {
        const found = await kube.get(...args);
        await kube.mergePatch(SECRETS, name, { metadata: { labels: { touched: 'yes' } } });
        return found;
      }) as typeof kube.get,
    };
    await assert.rejects(renew(slow, name, ['nats'], new Date(Date.now() + 300 * DAY_MS)), { code: 'conflict' });
    assert.deepEqual(await held(), after);
  });

  it('public sealing keys without private ones are replaced; an additional private key stays', async () => {
    await setup(kube, settings);
    const text = async (name: string, key: string) =>
      Buffer.from(String((await kube.get<Secret>(SECRETS, name)).data?.[key]), 'base64').toString();
    const [other, third] = [await sealKeys(), await sealKeys()];
    await kube.mergePatch(SECRETS, 'probeyard-seal-private', { stringData: other.private });
    assert.deepEqual((await setup(kube, settings)).renewed, ['probeyard-seal-public']);
    assert.deepEqual(
      JSON.parse(await text('probeyard-seal-public', 'public.jwks')),
      JSON.parse(other.public['public.jwks'] ?? ''),
    );
    const both = {
      keys: [other, third].flatMap((one) => (JSON.parse(one.private['private.jwks'] ?? '') as { keys: object[] }).keys),
    };
    await kube.mergePatch(SECRETS, 'probeyard-seal-private', { stringData: { 'private.jwks': JSON.stringify(both) } });
    assert.deepEqual((await setup(kube, settings)).renewed, []);
  });

  it('external servers: no Secret of PostgreSQL, no CA of NATS', async () => {
    const { made } = await setup(kube, { ...settings, natsHosts: [], postgresHost: '' });
    assert.deepEqual(
      made.sort(),
      NAMES.filter((name) => !/postgres|nats-tls/.test(name)),
    );
  });

  it('a password is not generated beside data that has another', async () => {
    const claim = 'data-probeyard-postgres-0';
    await setup(kube, { ...settings, postgresClaim: claim });
    await kube.create(PERSISTENT_VOLUME_CLAIMS, {
      metadata: { name: claim },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    assert.deepEqual((await setup(kube, { ...settings, postgresClaim: claim })).made, []);
    await kube.delete(SECRETS, 'probeyard-postgres-api');
    assert.deepEqual(
      (await setup(kube, { ...settings, postgresClaim: claim })).made,
      ['probeyard-postgres-api'],
      'as an upgrade from a version without this role',
    );
    await kube.delete(SECRETS, 'probeyard-postgres');
    await assert.rejects(
      setup(kube, { ...settings, postgresClaim: claim }),
      /the Secret probeyard-postgres is missing, but the claim data-probeyard-postgres-0 holds a database/,
    );
    assert.equal((await all())['probeyard-postgres'], undefined);
  });
});
