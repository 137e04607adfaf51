/** `postgres.cnpg`: the Cluster, checked strictly by an API server that has the operator's own CRD. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { testApiServer, type TestApiServer } from '../kube/apiserver.ts';
import { container, mountedAt, only, podsOf, refusal, render } from './render.ts';

const MODULE = 'github.com/cloudnative-pg/cloudnative-pg@v1.27.0';
const CRD = 'config/crd/bases/postgresql.cnpg.io_clusters.yaml';

/** The folder of the operator's Go module, from the cache or the module proxy. */
function operator(): string | undefined {
  const cache = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'probeyard/go/mod');
  const { status, stdout } = spawnSync('go', ['mod', 'download', '-json', MODULE], {
    cwd: homedir(),
    encoding: 'utf8',
    timeout: 120_000,
    env: { ...process.env, GOMODCACHE: cache, GOTOOLCHAIN: 'local' },
  });
  return status === 0 ? (JSON.parse(stdout) as { Dir: string }).Dir : undefined;
}

describe('chart: CloudNativePG', function () {
  this.timeout(180_000);
  let server: TestApiServer;
  let namespace: string;

  before(async function () {
    const folder = operator();
    if (folder === undefined) {
      console.log(`      skipped: Go cannot fetch ${MODULE}, whose CRD the Cluster is checked against`);
      this.skip();
    }
    server = await testApiServer({ own: true });
    namespace = await server.namespace('cnpg');
    const { status, stderr } = kubectl(['create', '-f', join(folder, CRD)]);
    assert.equal(status, 0, stderr);
    kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd/clusters.postgresql.cnpg.io']);
  });

  const kubectl = (args: string[], input = '') =>
    spawnSync('kubectl', ['--kubeconfig', server.kubeconfig, '--namespace', namespace, ...args], {
      encoding: 'utf8',
      input,
      timeout: 90_000,
    });

  for (const [title, cnpg, expected] of [
    ['its defaults', {}, { instances: 3, synchronous: { method: 'any', number: 1, dataDurability: 'preferred' } }],
    ['one server', { instances: 1 }, { instances: 1, synchronous: undefined }],
    [
      'everything set, and members of the spec by the operator of the cluster',
      {
        imageName: 'registry.example/postgresql:17',
        storage: { size: '50Gi', storageClass: 'fast' },
        spec: { postgresql: { parameters: { max_connections: '200' } }, monitoring: { enablePodMonitor: true } },
      },
      { instances: 3, synchronous: { method: 'any', number: 1, dataDurability: 'preferred' } },
    ],
  ] as const)
    it(`the API server accepts the Cluster with ${title}`, () => {
      const object = only(render({ postgres: { cnpg: { enabled: true, ...cnpg } } }), 'Cluster', 'probeyard-postgres');
      const { status, stderr } = kubectl(
        ['create', '--dry-run=server', '--validate=strict', '-f', '-'],
        stringify({ ...object, metadata: { ...object.metadata, namespace } }),
      );
      assert.equal(status, 0, stderr);
      const { instances, postgresql } = object['spec'];
      assert.deepEqual({ instances, synchronous: postgresql?.synchronous }, expected);
    });

  it('its Secrets are used as the operator makes them, and no PostgreSQL of the chart is installed', () => {
    const objects = render({ postgres: { cnpg: { enabled: true } } });
    assert.deepEqual(
      podsOf(objects).filter(({ owner }) => owner.includes('postgres')),
      [],
    );
    for (const name of ['api', 'controller', 'migrate']) {
      const { env = [] } = container(objects, name);
      const mounted = mountedAt(objects, name, '/etc/probeyard-postgres');
      assert.equal(mounted['url'], 'probeyard-postgres-app/uri');
      assert.equal(mounted['ca.crt'], 'probeyard-postgres-ca/ca.crt');
      assert.equal(env.find((one) => one.name === 'PY_POSTGRES_FOLDER')?.value, '/etc/probeyard-postgres');
      assert.equal(env.find((one) => one.name === 'PY_POSTGRES_CA_FILE')?.value, '/etc/probeyard-postgres/ca.crt');
    }
    assert.ok(!JSON.stringify(container(objects, 'setup').env).includes('PY_POSTGRES_HOST'));
  });

  it('cannot be combined with an address', () =>
    assert.match(
      refusal({ postgres: { cnpg: { enabled: true }, external: { existingSecret: 'mine' } } }),
      /set cnpg.enabled or external.existingSecret, not both/,
    ));
});

describe('chart: TLS to an external PostgreSQL', () => {
  const external = {
    existingSecret: 'url',
    caKey: 'root.crt',
    caSecret: 'authority',
    clientCertificate: { ownerSecret: 'owner-cert', apiSecret: 'api-cert' },
  };
  const files = (objects: ReturnType<typeof render>, name: string) => {
    const { 'other-password': _, 'direct-url': __, ...others } = mountedAt(objects, name, '/etc/probeyard-postgres');
    return others;
  };

  it('the CA comes from its own Secret, and each role has its certificate', () => {
    const objects = render({ postgres: { external } });
    const ca = 'authority/root.crt';
    const of = (secret: string) => ({ 'tls.crt': `${secret}/tls.crt`, 'tls.key': `${secret}/tls.key` });
    assert.deepEqual(files(objects, 'api'), { url: 'url/url', 'ca.crt': ca, ...of('api-cert') });
    for (const name of ['controller', 'migrate'])
      assert.deepEqual(files(objects, name), { url: 'url/url', 'ca.crt': ca, ...of('owner-cert') });
    const env = container(objects, 'api').env ?? [];
    assert.equal(env.find(({ name }) => name === 'PY_POSTGRES_CERT_FILE')?.value, '/etc/probeyard-postgres/tls.crt');
  });

  it('the address of the owner is mounted into the migration alone', () => {
    const objects = render();
    const url = (name: string) => files(objects, name)['url'];
    assert.deepEqual(['api', 'controller', 'migrate'].map(url), [
      'probeyard-postgres-api/url',
      'probeyard-postgres-controller/url',
      'probeyard-postgres/url',
    ]);
  });

  it('without a CA or a certificate only the address is mounted', () =>
    assert.deepEqual(files(render({ postgres: { external: { existingSecret: 'url' } } }), 'api'), { url: 'url/url' }));
});
