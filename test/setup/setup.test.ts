import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { SECRETS, makeClient, type KubeClient, type Secret } from '../../src/kube/client.ts';
import { openSealed } from '../../src/seal/open.ts';
import { sealSource } from '../../src/seal/seal.ts';
import { natsTls, renewed } from '../../src/setup/certificates.ts';
import { setup } from '../../src/setup/main.ts';
import { natsAuth, natsAuthConf, randomText } from '../../src/setup/secrets.ts';
import { testApiServer } from '../kube/apiserver.ts';

const HOSTS = ['probeyard-nats', 'probeyard-nats.probeyard.svc'];
const DAY = 86_400_000;

describe('the certificate of NATS', () => {
  it('is signed by its CA, for every host of the service', async () => {
    const data = await natsTls(HOSTS);
    const server = new X509Certificate(data['tls.crt'] ?? '');
    assert.ok(server.verify(new X509Certificate(data['ca.crt'] ?? '').publicKey));
    for (const host of HOSTS) assert.equal(server.checkHost(host), host);
    assert.equal(server.checkHost('elsewhere'), undefined);
    assert.equal(server.ca, false);
  });

  it('is renewed in time and for new hosts, by the same CA; else it stays', async () => {
    const data = await natsTls(HOSTS);
    assert.equal(await renewed(data, HOSTS), undefined);
    assert.equal(await renewed(data, HOSTS, new Date(Date.now() + 300 * DAY)), undefined);
    for (const changes of [await renewed(data, HOSTS, new Date(Date.now() + 340 * DAY)), await renewed(data, [...HOSTS, 'nats.example'])]) {
      const server = new X509Certificate(changes?.['tls.crt'] ?? '');
      assert.ok(server.verify(new X509Certificate(data['ca.crt'] ?? '').publicKey));
      assert.equal(changes?.['ca.crt'], undefined);
    }
  });

  it('that somebody gave is never touched: its CA\'s key is not ours', async () => {
    const { 'ca.key': _, ...given } = await natsTls(HOSTS);
    assert.equal(await renewed(given, ['other'], new Date(Date.now() + 400 * DAY)), undefined);
  });
});

describe('secrets', () => {
  it('tokens are 64 letters and digits, and never the same', () => {
    const [a, b] = [randomText(64), randomText(64)];
    assert.match(a, /^[A-Za-z0-9]{64}$/);
    assert.notEqual(a, b);
  });
  it('the server is told the public keys, never a seed', () => {
    const data = natsAuth();
    for (const name of ['api', 'controller', 'issuer']) {
      assert.ok(data['auth.conf']?.includes(data[`${name}.pub`] ?? 'nothing'));
      assert.equal(data['auth.conf']?.includes(data[`${name}.nk`] ?? ''), false);
    }
    assert.equal(natsAuthConf(data), data['auth.conf']);
  });
});

describe('setup on an API server', function () {
  this.timeout(60_000);
  let kube: KubeClient;
  const settings = { names: { admin: 'my-admin' }, natsHosts: HOSTS, postgresHost: 'pg.example', adminEmail: 'root@example.com' };
  const text = async (name: string, key: string) => Buffer.from((await kube.get(SECRETS, name)).data?.[key] ?? '', 'base64').toString('utf8');

  before(async () => {
    const server = await testApiServer();
    kube = await makeClient({ kubeconfig: server.kubeconfig, namespace: await server.namespace('setup') });
  });
  after(() => kube.close());

  it('makes everything once, and keeps it the second time', async () => {
    const first = await setup(kube, settings);
    assert.equal(first.made.length, 6);
    const token = await text('my-admin', 'token');
    assert.equal(await text('my-admin', 'email'), 'root@example.com');
    const second = await setup(kube, settings);
    assert.deepEqual([second.made, second.renewed, second.kept.length], [[], [], 6]);
    assert.equal(await text('my-admin', 'token'), token);
  });

  it('what the public key seals, the private one opens, also when only the private Secret was left', async () => {
    await kube.delete(SECRETS, 'probeyard-seal-public');
    await setup(kube, settings);
    const [open, secret] = [JSON.parse(await text('probeyard-seal-public', 'public.jwks')), JSON.parse(await text('probeyard-seal-private', 'private.jwks'))];
    assert.equal(JSON.stringify(open).includes(secret.keys[0].d), false);
    const sealed = await sealSource('http://user:pw@example.com/', { requestId: 'r', tokenId: 7 }, open);
    assert.equal(await openSealed(sealed, { requestId: 'r', tokenId: 7 }, secret), 'http://user:pw@example.com/');
  });

  it('takes a Secret that somebody gave as it is', async () => {
    await kube.delete(SECRETS, 'probeyard-postgres');
    await kube.create(SECRETS, { metadata: { name: 'probeyard-postgres' }, stringData: { url: 'given' } } as Secret);
    assert.ok((await setup(kube, settings)).kept.includes('probeyard-postgres'));
    assert.equal(await text('probeyard-postgres', 'url'), 'given');
  });

  it('writes the server\'s rules anew when the product needs others', async () => {
    await kube.mergePatch(SECRETS, 'probeyard-nats-auth', { stringData: { 'auth.conf': 'from an older version' } });
    assert.deepEqual((await setup(kube, settings)).renewed, ['probeyard-nats-auth']);
    assert.match(await text('probeyard-nats-auth', 'auth.conf'), /auth_callout/);
  });
});
