import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CONFIG_MAPS,
  isKubeError,
  KubeError,
  makeClient,
  outcomeUnknown,
  PODS,
  PROBE_JOBS,
  SERVICE_ACCOUNTS,
  type KubeClient,
  type KubeErrorCode,
  type ResourceType,
} from '../../src/platform/kube/client.ts';
import { ofServiceAccount } from '../../src/platform/kube/credentials.ts';
import { kubeClient, ofKubeconfig } from './kubeconfig.ts';
import { freePort } from '../free_port.ts';
import { testApiServer, type TestApiServer } from './apiserver.ts';
import { until } from '../until.ts';
import { startRelay, type Relay } from './relay.ts';

const job = (name: string) => ({
  metadata: { name },
  spec: { kind: 'file' as const, source: { url: 'https://origin.example/a.mp4' } },
});

async function rejectsWith(code: KubeErrorCode, promise: Promise<unknown>, pattern = /./): Promise<KubeError> {
  let caught: unknown;
  await promise.catch((error: unknown) => {
    caught = error;
  });
  assert.ok(caught instanceof KubeError, `expected a KubeError, got ${String(caught)}`);
  assert.equal(caught.code, code, caught.message);
  assert.match(caught.message, pattern);
  return caught;
}

describe('kube client', function () {
  this.timeout(60_000);
  let server: TestApiServer;
  let client: KubeClient;
  let namespace: string;
  const opened: { close(): Promise<void> }[] = [];

  before(async () => {
    server = await testApiServer({ alone: true });
    namespace = await server.namespace('client');
    client = await kubeClient({ kubeconfig: server.kubeconfig, namespace });
    opened.push(client);
  });
  after(async () => {
    for (const one of opened.toReversed()) await one.close();
    await server.stop();
  });

  async function throughRelay(): Promise<{ relay: Relay; client: KubeClient }> {
    const relay = await startRelay(server.host, server.port);
    const own = await kubeClient({ kubeconfig: server.kubeconfigAt(relay.port), namespace });
    opened.push(relay, own);
    return { relay, client: own };
  }

  async function withToken(token: string): Promise<KubeClient> {
    const admin = await ofKubeconfig(server.kubeconfig);
    const read = () => ({ ...admin.read(), headers: { authorization: `Bearer ${token}` } });
    const own = makeClient({ namespace, credentials: { ...admin, read } });
    opened.push(own);
    return own;
  }

  describe('calls', () => {
    it('create, get, patch, status, list and delete one object', async () => {
      const made = await client.create(PROBE_JOBS, job('round'));
      assert.equal(made.kind, 'ProbeJob');
      const admitted = await client.mergePatchStatus(
        PROBE_JOBS,
        'round',
        { attempts: 1 },
        { resourceVersion: made.metadata.resourceVersion },
      );
      assert.equal(admitted.status?.attempts, 1);
      const labelled = await client.mergePatch(PROBE_JOBS, 'round', {
        metadata: { labels: { 'probeyard.dev/kind': 'file' } },
      });
      assert.equal(labelled.metadata.labels?.['probeyard.dev/kind'], 'file');
      assert.equal((await client.get(PROBE_JOBS, 'round')).status?.attempts, 1);
      assert.deepEqual(
        (await client.list(PROBE_JOBS, { labelSelector: 'probeyard.dev/kind=file' })).items.map(
          ({ metadata }) => metadata.name,
        ),
        ['round'],
      );
      await client.delete(PROBE_JOBS, 'round');
      await rejectsWith('not-found', client.get(PROBE_JOBS, 'round'), /get ProbeJob round/);
    });

    it('delete only the object that was meant', async () => {
      const made = await client.create(CONFIG_MAPS, { metadata: { name: 'meant' } });
      await rejectsWith(
        'conflict',
        client.delete(CONFIG_MAPS, 'meant', { uid: '00000000-0000-0000-0000-000000000000' }),
      );
      await rejectsWith('conflict', client.delete(CONFIG_MAPS, 'meant', { resourceVersion: '1' }));
      await client.delete(CONFIG_MAPS, 'meant', { uid: made.metadata.uid });
    });

    it('apply owns fields, and takes them over only by force', async () => {
      const draft = (value: string) => ({ metadata: { name: 'applied' }, data: { key: value } });
      await client.apply(CONFIG_MAPS, draft('1'), { fieldManager: 'one' });
      await rejectsWith('conflict', client.apply(CONFIG_MAPS, draft('2'), { fieldManager: 'two' }), /conflict/);
      const taken = await client.apply(CONFIG_MAPS, draft('2'), { fieldManager: 'two', force: true });
      assert.deepEqual(taken.data, { key: '2' });
    });

    it('list in pages, and all of them', async () => {
      const inPages = await server.namespace('pages');
      for (let n = 0; n < 7; n++)
        await client.create(CONFIG_MAPS, {
          metadata: { name: `page-${n}`, namespace: inPages, labels: { page: 'yes' } },
        });
      const first = await client.list(CONFIG_MAPS, { namespace: inPages, limit: 3 });
      assert.equal(first.items.length, 3);
      assert.ok(first.continue);
      const all = await client.listAll(CONFIG_MAPS, { namespace: inPages, limit: 3 });
      assert.deepEqual(
        all.items.map(({ metadata }) => metadata.name),
        [0, 1, 2, 3, 4, 5, 6].map((n) => `page-${n}`),
      );
      assert.equal(
        (await client.listAll(CONFIG_MAPS, { namespace: null, labelSelector: 'page=yes', limit: 2 })).items.length,
        7,
      );
    });

    it('return the issuer and the keys of service account tokens', async () => {
      assert.match(await client.issuer(), /^https:\/\//);
      const { keys } = await client.jwks();
      assert.ok(keys.length > 0 && keys.every((key) => typeof key['kid'] === 'string'));
    });
  });

  describe('errors', () => {
    const cases: [KubeErrorCode, number, string, () => Promise<unknown>][] = [
      ['not-found', 404, 'a missing object', () => client.get(PODS, 'none')],
      ['not-found', 404, 'logs of a missing pod', () => client.logs('none')],
      [
        'not-found',
        404,
        'an unknown kind',
        () => client.list({ ...PROBE_JOBS, plural: 'probenothings' } as ResourceType),
      ],
      [
        'invalid',
        422,
        'a job without a source',
        () => client.create(PROBE_JOBS, { metadata: { name: 'bad' }, spec: { kind: 'file', source: {} } }),
      ],
      ['bad-request', 400, 'an invalid label selector', () => client.list(PODS, { labelSelector: '===' })],
      [
        'not-allowed',
        405,
        'a method that the path does not support',
        () => client.request({ method: 'POST', path: '/version', body: {} }),
      ],
      [
        'already-exists',
        409,
        'a second object of the same name',
        async () => {
          await client.create(CONFIG_MAPS, { metadata: { name: 'twice' } });
          await client.create(CONFIG_MAPS, { metadata: { name: 'twice' } });
        },
      ],
      [
        'conflict',
        409,
        'a patch of an outdated version',
        async () => {
          const { metadata } = await client.create(CONFIG_MAPS, { metadata: { name: 'stale' } });
          await client.mergePatch(CONFIG_MAPS, 'stale', { data: { a: '1' } });
          await client.mergePatch(
            CONFIG_MAPS,
            'stale',
            { data: { a: '2' } },
            { resourceVersion: metadata.resourceVersion },
          );
        },
      ],
      [
        'too-large',
        413,
        'an object over the limit of the API server',
        () => client.create(CONFIG_MAPS, { metadata: { name: 'large' }, data: { a: 'x'.repeat(4_000_000) } }),
      ],
    ];
    for (const [code, status, what, call] of cases) {
      it(`${code}: ${what}`, async () => assert.equal((await rejectsWith(code, call())).status, status));
    }

    it('gone: a page token from before a compaction', async () => {
      const old = await server.namespace('gone');
      for (const name of ['a', 'b', 'c']) await client.create(CONFIG_MAPS, { metadata: { name, namespace: old } });
      const first = await client.list(CONFIG_MAPS, { namespace: old, limit: 1 });
      await client.mergePatch(CONFIG_MAPS, 'a', { data: { now: 'newer' } }, { namespace: old });
      await server.compact();
      await rejectsWith('gone', client.list(CONFIG_MAPS, { namespace: old, limit: 1, continue: first.continue }));
    });

    it('forbidden: a service account without rights; unauthorized: an invalid token', async () => {
      await client.create(SERVICE_ACCOUNTS, { metadata: { name: 'poor' } });
      const { status } = await client.request<{ status: { token: string } }>({
        method: 'POST',
        path: `/api/v1/namespaces/${namespace}/serviceaccounts/poor/token`,
        body: { spec: { audiences: [], expirationSeconds: 600 } },
      });
      for (const [token, code] of [
        [status.token, 'forbidden'],
        ['nonsense', 'unauthorized'],
      ] as const) {
        const poor = await withToken(token);
        await rejectsWith(code, poor.list(PODS));
      }
    });

    it('too-many-requests: returned with its pause, and retried after it', async () => {
      // A priority level without seats refuses every request of its flow schema.
      const flow = (kind: string, spec: object) => ({
        apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
        kind,
        metadata: { name: 'no-seats' },
        spec,
      });
      const path = '/apis/flowcontrol.apiserver.k8s.io/v1';
      await client.create(SERVICE_ACCOUNTS, { metadata: { name: 'crowd' } });
      const { status } = await client.request<{ status: { token: string } }>({
        method: 'POST',
        path: `/api/v1/namespaces/${namespace}/serviceaccounts/crowd/token`,
        body: { spec: { audiences: [], expirationSeconds: 600 } },
      });
      await client.request({
        method: 'POST',
        path: `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
        body: {
          metadata: { name: 'crowd' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
          subjects: [{ kind: 'ServiceAccount', name: 'crowd', namespace }],
        },
      });
      const crowd = await withToken(status.token);
      await client.request({
        method: 'POST',
        path: `${path}/prioritylevelconfigurations`,
        body: flow('PriorityLevelConfiguration', {
          type: 'Limited',
          limited: {
            nominalConcurrencyShares: 0,
            lendablePercent: 0,
            borrowingLimitPercent: 0,
            limitResponse: { type: 'Reject' },
          },
        }),
      });
      try {
        await client.request({
          method: 'POST',
          path: `${path}/flowschemas`,
          body: flow('FlowSchema', {
            priorityLevelConfiguration: { name: 'no-seats' },
            matchingPrecedence: 2,
            rules: [
              {
                subjects: [{ kind: 'ServiceAccount', serviceAccount: { name: 'crowd', namespace } }],
                resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }],
              },
            ],
          }),
        });
        // An idle level lets one call run. The test gives it one that waits for etcd, so that all others are refused
        // until etcd resumes.
        await until('the flow schema takes effect', async () => {
          const schema = await client.request<{ status: { conditions?: { type: string; status: string }[] } }>({
            method: 'GET',
            path: `${path}/flowschemas/no-seats`,
          });
          return schema.status.conditions?.some(({ type, status: is }) => type === 'Dangling' && is === 'False');
        });
        // The server asks etcd for the identity only the first time.
        await until('its rights take effect', () =>
          crowd.list(CONFIG_MAPS).then(
            () => true,
            (caught: unknown) => !isKubeError(caught, 'forbidden'),
          ),
        );
        await server.pauseEtcd();
        try {
          const held: Promise<unknown>[] = [];
          const refused = () => crowd.list(CONFIG_MAPS, { deadlineMs: 500 }).catch((caught: unknown) => caught);
          const error = await until('a refusal', async () => {
            // Either call may get the seat. One that holds it for long follows soon.
            held.push(crowd.get(CONFIG_MAPS, 'none', { deadlineMs: 20_000 }).catch(() => {}));
            const caught = await refused();
            return isKubeError(caught, 'too-many-requests') && caught;
          });
          assert.ok((error.retryAfterMs ?? 0) >= 1000, `Retry-After ${error.retryAfterMs}`);
          const startedAt = performance.now();
          const waiting = crowd.list(CONFIG_MAPS, { deadlineMs: 30_000 });
          // On a busy machine a call may time out instead. Any other result is an error.
          let told = 0;
          const other = await until('three more refusals', async () => {
            const caught = await refused();
            if (isKubeError(caught, 'timeout')) return false;
            if (!isKubeError(caught, 'too-many-requests')) return { caught };
            return ++told === 3 && {};
          });
          assert.deepEqual(other, {});
          server.resumeEtcd();
          await waiting;
          const tookMs = performance.now() - startedAt;
          // A Node timer may fire a millisecond early.
          assert.ok(tookMs >= 998, `${tookMs} ms: sooner than the server asked for`);
          await Promise.all(held);
        } finally {
          server.resumeEtcd();
        }
        await client.request({ method: 'DELETE', path: `${path}/flowschemas/no-seats` });
      } finally {
        await client.request({ method: 'DELETE', path: `${path}/prioritylevelconfigurations/no-seats` });
      }
    });
  });

  describe('connections', () => {
    it('one serves 300 calls, one after the other and 50 at once', async () => {
      const { relay, client: own } = await throughRelay();
      for (let n = 0; n < 100; n++) await own.get(CONFIG_MAPS, 'kube-root-ca.crt').catch(() => {});
      assert.equal(relay.opened, 1);
      for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: 50 }, () => own.list(PODS)));
      assert.equal(relay.opened, 1);
    });

    it('a watch has a separate one', async () => {
      const { relay, client: own } = await throughRelay();
      await own.list(PODS);
      const stop = new AbortController();
      const open = Promise.withResolvers<void>();
      const watching = own
        .watch(PODS, { signal: stop.signal, onOpen: open.resolve }, () => {})
        .catch((error: unknown) => error);
      await open.promise;
      assert.equal(relay.opened, 2);
      stop.abort();
      assert.ok(isKubeError(await watching, 'aborted'));
    });

    it('a silent one fails the calls on it, and the next call opens a new one', async () => {
      const { relay, client: own } = await throughRelay();
      await own.list(PODS);
      relay.freeze();
      await rejectsWith('timeout', own.list(PODS, { deadlineMs: 300 }), /no answer within/);
      await own.list(PODS, { deadlineMs: 5000 });
      assert.equal(relay.opened, 2);
    });

    it('a cut one is reopened for a read without the caller noticing', async () => {
      const { relay, client: own } = await throughRelay();
      for (let n = 0; n < 5; n++) {
        await own.list(PODS);
        relay.cut();
      }
      await own.list(PODS);
      assert.ok(relay.opened >= 2);
    });

    it('refused: unreachable, after the last retry', async () => {
      const own = await kubeClient({ kubeconfig: server.kubeconfigAt(await freePort()), namespace });
      opened.push(own);
      await rejectsWith('unreachable', own.list(PODS), /ECONNREFUSED/);
    });

    it("end with the caller's signal", async () => {
      const { relay, client: own } = await throughRelay();
      await own.list(PODS);
      relay.freeze();
      const stop = new AbortController();
      const call = own.list(PODS, { signal: stop.signal });
      stop.abort();
      await rejectsWith('aborted', call);
    });

    it('use the files of a service account after they change', async () => {
      const account = join(server.folder!, 'account');
      mkdirSync(account);
      const [ca, tokenFile] = [join(account, 'ca.crt'), join(account, 'token')];
      copyFileSync(join(server.folder!, 'apiserver.crt'), ca);
      const { headers } = (await ofKubeconfig(server.kubeconfig)).read();
      const token = headers['authorization']!.replace('Bearer ', '');
      writeFileSync(tokenFile, token);
      const relay = await startRelay(server.host, server.port);
      opened.push(relay);
      const credentials = ofServiceAccount(account, {
        KUBERNETES_SERVICE_HOST: '127.0.0.1',
        KUBERNETES_SERVICE_PORT: String(relay.port),
      });
      const own = makeClient({ credentials, namespace });
      opened.push(own);
      await own.list(PODS);
      // A bundle of two, which is another file with the same trust.
      writeFileSync(ca, readFileSync(ca, 'utf8').repeat(2));
      own.config.reload();
      await own.list(PODS);
      assert.equal(relay.opened, 2, 'new trust, new connection');
      writeFileSync(tokenFile, 'expired');
      own.config.reload();
      await rejectsWith('unauthorized', own.list(PODS));
      writeFileSync(tokenFile, token);
      await own.list(PODS);
    });
  });

  it('a write that the server timed out does not land later, even when etcd resumes', async () => {
    await client.create(CONFIG_MAPS, { metadata: { name: 'slow' } });
    await server.pauseEtcd();
    let failed: unknown;
    try {
      failed = await client
        .mergePatch(CONFIG_MAPS, 'slow', { data: { late: 'yes' } }, { serverTimeoutMs: 300 })
        .catch((error: unknown) => error);
    } finally {
      server.resumeEtcd();
    }
    assert.ok(isKubeError(failed) && outcomeUnknown(failed), String(failed));
    // The status is the server's. If only the client had timed out, the server could still write.
    assert.equal(failed.status, 504);
    for (let n = 0; n < 20; n++) await client.mergePatch(CONFIG_MAPS, 'slow', { data: { after: String(n) } });
    assert.equal((await client.get(CONFIG_MAPS, 'slow')).data?.['late'], undefined);
  });
});
