/** Who may read /metrics: by a token, by reviews of a real API server, and over TLS. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { serveHealth, type Gate, type Refusal } from '../../src/base/health.ts';
import { SERVICE_ACCOUNTS } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { openGate, remembered } from '../../src/platform/metrics/gate.ts';
import { processMetrics } from '../../src/platform/metrics/process.ts';
import { natsTls } from '../../src/service/setup/certificates.ts';
import { testApiServer, type TestApiServer } from '../kube/apiserver.ts';
import { until } from '../until.ts';

const NO_TOKEN = '{"error":"metrics need an Authorization header: Bearer <token>"}';
const CONFIG = { metricsTokenFile: '', metricsTlsFolder: '', namespace: 'x', serviceAccount: '' };
const WRONG = '{"error":"the token is not valid"}';

describe('metrics: who may read them', function () {
  this.timeout(180_000);
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-gate-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function asked(gate: Gate | undefined, path: string, authorization?: string): Promise<[number, string]> {
    const server = await serveHealth({ host: '127.0.0.1', port: 0 }, { registry: new Registry(), gate });
    const { port } = server.address() as AddressInfo;
    try {
      const headers = authorization === undefined ? {} : { authorization };
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
      assert.equal(response.headers.get('www-authenticate'), response.status === 401 ? 'Bearer' : null);
      return [response.status, await response.text()];
    } finally {
      server.close();
      server.closeAllConnections();
    }
  }

  it('without a gate: whoever reaches the port', async () => {
    const { gate } = (await openGate({ ...CONFIG, metricsAuth: 'none' })).guard;
    assert.deepEqual(await asked(gate, '/metrics'), [200, '\n']);
  });

  it('token: the one in the file, as it is now; health needs none', async () => {
    const file = join(folder, 'token');
    const { gate } = (await openGate({ ...CONFIG, metricsAuth: 'token', metricsTokenFile: file })).guard;
    const missing = [503, '{"error":"the Secret of metrics.tokenSecret has no key token"}'];
    assert.deepEqual(await asked(gate, '/metrics', 'Bearer a'), missing);
    writeFileSync(file, '\n');
    assert.deepEqual(await asked(gate, '/metrics', 'Bearer a'), missing);
    writeFileSync(file, 'first\n');
    for (const [authorization, expected] of [
      [undefined, [401, NO_TOKEN]],
      ['Basic first', [401, NO_TOKEN]],
      ['Bearer ', [401, NO_TOKEN]],
      [`Bearer ${'a'.repeat(9_000)}`, [401, NO_TOKEN]],
      ['Bearer second', [401, WRONG]],
      ['Bearer first', [200, '\n']],
      ['bearer first', [200, '\n']],
    ] as const)
      assert.deepEqual(await asked(gate, '/metrics', authorization), expected, authorization?.slice(0, 20));
    writeFileSync(file, 'second');
    assert.deepEqual(await asked(gate, '/metrics', 'Bearer first'), [401, WRONG]);
    assert.deepEqual(await asked(gate, '/metrics', 'Bearer second'), [200, '\n']);
    assert.equal((await asked(gate, '/healthz'))[0], 200);
    assert.equal((await asked(gate, '/readyz'))[0], 200);
  });

  describe('kubernetes', () => {
    let api: TestApiServer;
    before(async () => {
      api = await testApiServer({ own: true });
    });

    const post = <T>(path: string, body: object): Promise<T> => api.client.request<T>({ method: 'POST', path, body });
    const RBAC = '/apis/rbac.authorization.k8s.io/v1';

    async function tokenOf(namespace: string, name: string): Promise<string> {
      await api.client.create(SERVICE_ACCOUNTS, { metadata: { name } }, { namespace });
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
      const { status } = await post<{ status: { token: string } }>(path, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: {},
      });
      return status.token;
    }

    it('those whom RBAC lets get /metrics', async () => {
      const namespace = await api.namespace('gate');
      const [reader, other] = await Promise.all([tokenOf(namespace, 'reader'), tokenOf(namespace, 'other')]);
      const apiGroup = 'rbac.authorization.k8s.io';
      await post(`${RBAC}/clusterroles`, {
        apiVersion: `${apiGroup}/v1`,
        kind: 'ClusterRole',
        metadata: { name: namespace },
        rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
      });
      await post(`${RBAC}/clusterrolebindings`, {
        apiVersion: `${apiGroup}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name: namespace },
        roleRef: { apiGroup, kind: 'ClusterRole', name: namespace },
        subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace }],
      });
      const kube = await kubeClient({ kubeconfig: api.kubeconfig, namespace });
      const { guard, close } = await openGate({ ...CONFIG, metricsAuth: 'kubernetes' }, () => kube);
      const { gate } = guard;
      try {
        await until(
          'the binding is in force',
          async () => (await asked(gate, '/metrics', `Bearer ${reader}`))[0] === 200,
        );
        assert.deepEqual(await asked(gate, '/metrics', `Bearer ${other}`), [
          403,
          `{"error":"system:serviceaccount:${namespace}:other may not get the non-resource URL /metrics"}`,
        ]);
        assert.deepEqual(await asked(gate, '/metrics', 'Bearer a.b.c'), [401, WRONG]);
        assert.deepEqual(await asked(gate, '/metrics'), [401, NO_TOKEN]);
      } finally {
        await close();
      }
      // Without its client no token can be reviewed, and the one that was is remembered.
      assert.deepEqual(await asked(gate, '/metrics', `Bearer ${reader}`), [200, '\n']);
      const [status, body] = await asked(gate, '/metrics', 'Bearer new');
      assert.equal(status, 503);
      assert.match(body, /the API server did not review the token \(\w+\)/);
    });
  });

  it('a decision is remembered for its time, reviews at once and tokens are bounded', async () => {
    let now = 0;
    const reviewed: string[] = [];
    let answer: Refusal | null = null;
    const decide = remembered(
      (token) => {
        reviewed.push(token);
        return answer;
      },
      () => now,
    );
    const reviews = async (token: string): Promise<number> => {
      const before = reviewed.length;
      await decide(token);
      return reviewed.length - before;
    };
    for (const [status, holdsMs] of [
      [undefined, 60_000],
      [401, 10_000],
      [403, 10_000],
      [503, 0],
    ] as const) {
      answer = status === undefined ? null : { status, error: 'x' };
      const token = `token ${status}`;
      assert.equal(await reviews(token), 1);
      if (holdsMs > 0) {
        now += holdsMs - 1;
        assert.equal(await reviews(token), 0, token);
        now += 1;
      }
      assert.equal(await reviews(token), 1, token);
    }
    answer = null;
    for (let index = 0; index < 64; index++) await decide(`other ${index}`);
    assert.equal(await reviews('token undefined'), 1, 'the oldest is forgotten');

    const held: (() => void)[] = [];
    const slow = remembered(() => new Promise((resolve) => held.push(() => resolve(null))));
    const first = Array.from({ length: 8 }, (_, index) => slow(`${index}`));
    assert.deepEqual(await slow('ninth'), { status: 503, error: 'too many tokens are being reviewed' });
    const joined = slow('0');
    for (const one of held) one();
    assert.deepEqual(await Promise.all([...first, joined]), Array(9).fill(null));
    assert.equal(held.length, 8);
  });

  it('TLS: by the certificate of the folder, and by its renewed one without a restart', async () => {
    const put = async (): Promise<string> => {
      const made = await natsTls(['probeyard-metrics.probeyard.svc']);
      for (const file of ['tls.crt', 'tls.key']) writeFileSync(join(folder, file), made[file]!);
      return made['ca.crt']!;
    };
    const first = await put();
    const registry = new Registry();
    processMetrics(registry);
    const server = await serveHealth({ host: '127.0.0.1', port: 0 }, { registry, tlsFolder: folder }, { renewMs: 20 });
    const { port } = server.address() as AddressInfo;
    const read = (ca: string) =>
      new Promise<string>((resolve, reject) => {
        const servername = 'probeyard-metrics.probeyard.svc';
        request({ host: '127.0.0.1', port, path: '/metrics', ca, servername, agent: false }, (response) => {
          let text = '';
          response
            .setEncoding('utf8')
            .on('data', (part: string) => (text += part))
            .on('end', () => resolve(text));
        })
          .on('error', reject)
          .end();
      });
    try {
      const text = await read(first);
      assert.match(text, /^probeyard_build_info\{version="\d+\.\d+\.\d+[^"]*"\} 1$/m);
      assert.match(text, /^probeyard_event_loop_busy_seconds_total \d/m);
      await assert.rejects(read((await natsTls(['other']))['ca.crt']!));
      writeFileSync(join(folder, 'tls.key'), 'half written');
      const second = await put();
      await until('the renewed certificate is in use', () =>
        read(second).then(
          () => true,
          () => false,
        ),
      );
      await assert.rejects(read(first));
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});
