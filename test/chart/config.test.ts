/** The product accepts the settings that the chart passes. */
import assert from 'node:assert/strict';
import { poolsIn, toolsIn } from '../../src/service/controller/catalog/apply.ts';
import { limitsOf, loadConfig } from '../../src/base/config.ts';
import { DEFAULT_LIMITS } from '../../src/base/limits.ts';
import { EVERYTHING, SAMPLES } from './everything.ts';
import { container, containersOf, environmentOf, mountedAt, only, podsOf, render } from './render.ts';

describe("product with the chart's settings", function () {
  this.timeout(60_000);
  const renderings = {
    'by default': {},
    'with everything on': EVERYTHING,
    'with bundled tools': { tools: { delivery: 'bundled' } },
  };

  for (const [title, values] of Object.entries(renderings)) {
    for (const role of ['api', 'controller', 'migrate', 'setup'] as const) {
      it(`starts as ${role} with its settings ${title}`, () => {
        const one = container(render(values), role);
        assert.deepEqual(one.args, [role]);
        assert.ok(loadConfig(role, environmentOf(one)));
      });
    }

    it(`reads the catalog and the pools ${title}`, () => {
      const objects = render(values);
      const { chartName } = loadConfig('controller', environmentOf(container(objects, 'controller')));
      const map = (file: string) => only(objects, 'ConfigMap', `${chartName}-${file}`);
      assert.ok(toolsIn(map('catalog')).length > 10);
      assert.deepEqual(
        poolsIn(map('pools')).map(({ name, spec }) => `${name}: ${spec.serves.kinds.join(' ')}`),
        ['checks: qc', 'long: msv', 'short: file c2pa compare'],
      );
    });
  }

  it('passes how lines are sampled', () => {
    const objects = render({ logSample: { perSecond: 3, oneIn: 7 } });
    for (const role of ['api', 'controller'] as const)
      assert.deepEqual(loadConfig(role, environmentOf(container(objects, role))).logSample, {
        perSecond: 3,
        oneIn: 7,
      });
  });

  it('starts as samples with its settings', () => {
    const one = container(render(SAMPLES), 'samples');
    assert.deepEqual(one.args, ['samples']);
    assert.equal(loadConfig('samples', environmentOf(one)).listen.port, 8080);
  });

  it('finds every file that its settings refer to', () => {
    for (const role of ['api', 'controller', 'migrate'] as const) {
      const objects = render({ postgres: { external: { existingSecret: 'pg', caKey: 'ca.crt' } } });
      const { volumes } = podsOf(objects).find((pod) => containersOf(pod).some(({ name }) => name === role))!
        .spec as unknown as { volumes: Volume[] };
      const one = container(objects, role);
      const files = new Set(
        (one.volumeMounts ?? []).flatMap(({ name, mountPath }) =>
          filesOf(
            volumes.find((volume) => volume.name === name)!,
            objects,
          ).map((file) => `${mountPath}/${file}`),
        ),
      );
      const wanted = Object.entries(environmentOf(one))
        .filter(([name]) => name.endsWith('_FILE'))
        .map(([, path]) => path);
      assert.ok(wanted.length >= 3);
      for (const path of wanted) assert.ok(files.has(path), `${role}: ${path} is not among ${[...files].join(', ')}`);
    }
  });

  it('gets limits, S3 and egress as set', () => {
    const objects = render(EVERYTHING);
    const api = loadConfig('api', environmentOf(container(objects, 'api')));
    const controller = loadConfig('controller', environmentOf(container(objects, 'controller')));
    const limits = {
      requestsPerMinute: 1_000,
      concurrency: 50,
      queueTimeoutMs: 30_000,
      fileBytes: 20_000_000_000,
      accountConcurrency: 120,
    };
    assert.deepEqual([limitsOf(api), limitsOf(controller)], [limits, limits]);
    assert.deepEqual(
      [api.onlyReturnsRaw, api.s3Hosts, controller.s3Hosts],
      [true, ['minio.example.com:9000'], ['minio.example.com:9000']],
    );
    assert.deepEqual(
      [controller.s3Endpoint, controller.s3Region, controller.noProxy],
      ['https://minio.example.com', 'eu-west-1', ['.example.com', '10.0.0.0/8']],
    );
    assert.deepEqual([api.egressResolve, controller.egressResolve], ['proxy', 'proxy']);
    assert.deepEqual(
      [
        controller.minBytesPerMinute,
        loadConfig('controller', environmentOf(container(render({}), 'controller'))).minBytesPerMinute,
      ],
      [65_536, 16_384],
    );
    const plain = loadConfig('api', environmentOf(container(render({}), 'api')));
    assert.deepEqual([plain.onlyReturnsRaw, limitsOf(plain)], [false, DEFAULT_LIMITS]);
    assert.deepEqual([api.console, plain.console], [false, true]);
    assert.deepEqual([api.cacheEnabled, plain.cacheEnabled], [false, true]);
    assert.deepEqual([api.batchMaxItems, plain.batchMaxItems], [5_000_000, 1_000_000]);
    assert.deepEqual(
      [
        [api.mostSubUsers, api.mostTokens],
        [plain.mostSubUsers, plain.mostTokens],
      ],
      [
        [20, 30],
        [1_000, 2_000],
      ],
    );
    const without = loadConfig(
      'controller',
      environmentOf(container(render({ limits: { accountConcurrency: 0 } }), 'controller')),
    );
    assert.equal(limitsOf(without).accountConcurrency, 0, 'said in so many words: no bound');
  });

  it('gets issuers of single sign-on, with their defaults, and their secrets as files', () => {
    const objects = render(EVERYTHING);
    const api = loadConfig('api', environmentOf(container(objects, 'api')));
    const [corp, google] = api.issuers;
    assert.deepEqual(corp, {
      name: 'corp',
      issuer: 'https://id.example/realms/main',
      clientId: 'probeyard',
      hasSecret: true,
      scopes: ['email', 'profile'],
      claims: { email: 'email', groups: 'realm_access.roles' },
      groups: { '/staff': 'user', admins: 'admin', north: 7 },
      allowedDomains: ['example.org'],
      linkByEmail: false,
      audience: 'https://probe.example/mcp',
    });
    assert.deepEqual([google?.hasSecret, google?.scopes, google?.claims.groups], [false, ['email'], 'groups']);
    assert.deepEqual([api.passwords, api.absenceDays], [true, 30]);
    assert.equal(mountedAt(objects, 'api', '/etc/probeyard')['oidc/corp'], 'sso/secret');
    const off = render({ api: EVERYTHING.api, accounts: { ...EVERYTHING.accounts, passwords: false } });
    assert.equal(loadConfig('api', environmentOf(container(off, 'api'))).passwords, false);
    const plain = loadConfig('api', environmentOf(container(render({}), 'api')));
    assert.deepEqual([plain.issuers, plain.passwords, plain.absenceDays], [[], true, null]);
  });

  it('gets the authorities of sources, as API and as controller', () => {
    const objects = render(EVERYTHING);
    for (const role of ['api', 'controller'] as const) {
      const one = container(objects, role);
      assert.equal(loadConfig(role, environmentOf(one)).sourceCaFile, '/etc/probeyard/sources/ca.crt');
      const pod = podsOf(objects).find((each) => containersOf(each).includes(one))!;
      const config = (pod.spec['volumes'] as Volume[]).find(({ name }) => name === 'config')!;
      assert.ok(config.projected!.sources.some(({ configMap }) => configMap?.name === 'probeyard-source-ca'));
    }
  });

  it('gets the server of events, with what is there of its Secret', () => {
    const objects = render(EVERYTHING);
    const api = loadConfig('api', environmentOf(container(objects, 'api')));
    assert.deepEqual([api.eventsNatsUrl, api.eventsNatsSubject], ['tls://events.example:4223', 'buckets.>']);
    const mounted = mountedAt(objects, 'api', '/etc/probeyard');
    for (const key of ['user', 'password', 'token', 'ca.crt']) assert.equal(mounted[`events/${key}`], `events/${key}`);
    assert.equal(api.eventsNatsFolder, '/etc/probeyard/events');
    assert.equal(loadConfig('api', environmentOf(container(render({}), 'api'))).eventsNatsUrl, '');
  });

  it('gets the secrets and addresses of external servers', () => {
    const objects = render({
      postgres: { external: { existingSecret: 'pg', urlKey: 'pooled', directUrlKey: 'direct' } },
      nats: { external: { url: 'tls://nats.example:4222', runnerUrl: 'tls://nats.internal:4222' } },
    });
    const one = container(objects, 'controller');
    assert.deepEqual(mountedAt(objects, 'controller', '/etc/probeyard-postgres'), {
      url: 'pg/pooled',
      'direct-url': 'pg/direct',
      'other-password': 'pg/other-password',
    });
    const roles = render({
      postgres: { external: { existingSecret: 'owner', apiSecret: 'api', controllerSecret: 'controller' } },
    });
    assert.deepEqual(
      ['api', 'controller', 'migrate'].map((name) => secretsOf(name, roles)),
      [['api'], ['controller'], ['owner', 'api', 'controller']],
    );
    assert.deepEqual(
      ['api', 'controller', 'migrate'].map((name) => secretsOf(name, render())),
      [
        ['probeyard-postgres-api'],
        ['probeyard-postgres-controller'],
        ['probeyard-postgres', 'probeyard-postgres-api', 'probeyard-postgres-controller'],
      ],
    );
    const settings = loadConfig('controller', environmentOf(one));
    assert.equal(settings.natsUrl, 'tls://nats.example:4222');
    assert.equal(settings.runnerNatsUrl, 'tls://nats.internal:4222');
    assert.deepEqual(
      objects.filter(({ kind }) => kind === 'StatefulSet'),
      [],
    );
    assert.deepEqual(
      objects.filter(({ kind, metadata }) => kind === 'Service' && /nats|postgres/.test(metadata.name)),
      [],
    );
  });
});

/** Those with an address of Postgres. */
const secretsOf = (name: string, objects: ReturnType<typeof render>) => [
  ...new Set([
    ...Object.values(mountedAt(objects, name, '/etc/probeyard-postgres')).map((source) => source.split('/')[0]),
    ...(container(objects, name).env?.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? []) ?? []),
  ]),
];

interface Volume {
  name: string;
  secret?: { secretName: string; items?: { path: string }[] };
  projected?: { sources: { secret?: { items: { path: string }[] }; configMap?: { name: string } }[] };
}

/** The Secret of the first administrator is mounted completely, with fixed keys. */
const ADMIN = ['email', 'password', 'token'];
const filesOf = ({ secret, projected }: Volume, objects: ReturnType<typeof render>): string[] => [
  ...(secret ? (secret.items?.map(({ path }) => path) ?? ADMIN) : []),
  ...(projected?.sources ?? []).flatMap((source) => [
    ...(source.secret?.items.map(({ path }) => path) ?? []),
    ...(source.configMap ? Object.keys(only(objects, 'ConfigMap', source.configMap.name)['data'] as object) : []),
  ]),
];
