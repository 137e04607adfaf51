/** Finished jobs are deleted on a real API server: many by one call, and nothing else. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { FinishedJobs } from '../../src/controller/leader/finished_jobs.ts';
import {
  makeClient,
  PROBE_JOBS,
  SERVICE_ACCOUNTS,
  type KubeClient,
  type KubeObject,
  type ResourceType,
} from '../../src/kube/client.ts';
import type { ProbeJob } from '../../src/kube/probe_job.ts';
import { startReflector, type Reflector } from '../../src/kube/reflector.ts';
import { LABEL } from '../../src/kube/resource.ts';
import { makeLog } from '../../src/log.ts';
import { testApiServer, type TestApiServer } from '../kube/apiserver.ts';
import { until } from '../until.ts';

const rbac = (plural: string, kind: string): ResourceType => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
  kind,
  namespaced: true,
});

/** The kubeconfig of another user of the same server. */
function kubeconfigOf(server: TestApiServer, token: string, folder: string): string {
  const config = parse(readFileSync(server.kubeconfig, 'utf8')) as { users: { user: object }[] };
  config.users[0]!.user = { token };
  const file = join(folder, 'kubeconfig');
  writeFileSync(file, stringify(config), { mode: 0o600 });
  return file;
}

describe('deletion of finished jobs', function () {
  this.timeout(60_000);
  let server: TestApiServer;
  let namespace: string;
  let kube: KubeClient;
  let jobs: Reflector<ProbeJob>;
  let finished: FinishedJobs;
  let calls: string[];
  let sweeps = 0;
  let opened: KubeClient[];
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-finished-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  before(async () => {
    server = await testApiServer({ own: true });
  });
  beforeEach(async () => {
    namespace = await server.namespace('finished');
    kube = await makeClient({ kubeconfig: server.kubeconfig, namespace });
    opened = [kube];
    calls = [];
  });
  afterEach(async () => {
    finished?.stop();
    await jobs?.stop();
    await Promise.all(opened.map((client) => client.close()));
  });

  const start = async (by: KubeClient, objects = () => jobs.size): Promise<void> => {
    finished = new FinishedJobs({
      kube: {
        ...by,
        delete: (...given) => {
          calls.push('one');
          return by.delete(...given);
        },
        deleteAll: (...given) => {
          calls.push('many');
          return by.deleteAll(...given);
        },
      },
      namespace,
      limits: { finishedSeconds: 600, finishedMax: 0, finishedMaxPerToken: 0 },
      log: makeLog('controller', { podName: 'test', logLevel: 'silent' }),
      now: () => Date.now(),
      stillLeading: () => true,
    });
    jobs = startReflector<ProbeJob>({
      client: kube,
      type: PROBE_JOBS,
      namespace,
      handlers: { delete: ({ metadata }) => finished.forget(metadata.name) },
    });
    await jobs.synced;
    finished.start(() => {
      sweeps++;
      return objects();
    });
  };
  const create = (name: string, labels: Record<string, string> = { [LABEL.request]: name }): Promise<ProbeJob> =>
    kube.create(PROBE_JOBS, {
      metadata: { name, namespace, labels },
      spec: { kind: 'file', source: { url: 'https://example.com/a.mp4' } },
    });
  const createMany = (count: number): Promise<ProbeJob[]> =>
    Promise.all(Array.from({ length: count }, () => create(randomUUID())));
  const left = (): string[] => jobs.list().map(({ metadata }) => metadata.name);
  const until0 = (): Promise<unknown> => until('no finished job is kept', () => finished.size === 0);

  it('many go by few calls, and no other job', async () => {
    const done = await createMany(30);
    const other = await create(randomUUID());
    await start(kube);
    for (const job of done) finished.add(job);
    await until0();
    assert.deepEqual(left(), [other.metadata.name]);
    assert.deepEqual(calls, ['many', 'many']);
  });

  it('an API server that does not answer gets no further calls with each sweep', async () => {
    const done = await createMany(50);
    const answers = Promise.withResolvers<void>();
    const held: KubeClient = {
      ...kube,
      delete: async (...given) => {
        await answers.promise;
        return kube.delete(...given);
      },
    };
    // So many that each is deleted by a call of its own.
    await start(held, () => 1_000_000);
    for (const job of done) finished.add(job);
    const from = sweeps;
    await until('there were some sweeps', () => sweeps > from + 3);
    assert.ok(calls.length <= 4, `${calls.length} calls`);
    answers.resolve();
    await until0();
  });

  it('a job made by hand goes by its name, whatever label it has', async () => {
    const [first, second] = await createMany(2);
    const byHand = await create('by-hand', { [LABEL.request]: 'another' });
    await start(kube);
    for (const job of [first!, byHand, second!]) finished.add(job);
    await until0();
    assert.deepEqual(left(), []);
    assert.deepEqual(calls.toSorted(), ['many', 'one']);
  });

  it('a job whose label was removed goes by its name', async () => {
    const done = await createMany(3);
    await start(kube);
    await kube.mergePatch(PROBE_JOBS, done[1]!.metadata.name, { metadata: { labels: { [LABEL.request]: null } } });
    for (const job of done) finished.add(job);
    await until0();
    assert.deepEqual(left(), []);
    assert.deepEqual(calls, ['many', 'one']);
  });

  it('each goes by its name where the role does not allow more', async () => {
    const bind = async (type: ResourceType, object: object): Promise<void> => {
      await server.client.create(type, { metadata: { name: 'old', namespace }, ...object } as KubeObject);
    };
    await bind(SERVICE_ACCOUNTS, {});
    await bind(rbac('roles', 'Role'), {
      rules: [{ apiGroups: ['probeyard.dev'], resources: ['probejobs'], verbs: ['delete'] }],
    });
    await bind(rbac('rolebindings', 'RoleBinding'), {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'old' },
      subjects: [{ kind: 'ServiceAccount', name: 'old', namespace }],
    });
    const { status } = await server.client.request<{ status: { token: string } }>({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/old/token`,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 600 } },
    });
    const old = await makeClient({ kubeconfig: kubeconfigOf(server, status.token, folder), namespace });
    opened.push(old);
    const done = await createMany(3);
    await start(old);
    for (const job of done) finished.add(job);
    await until0();
    await until('the watch has it', () => jobs.size === 0);
    assert.deepEqual(calls, ['many', 'one', 'one', 'one']);

    const [next, last] = await createMany(2);
    for (const job of [next!, last!]) finished.add(job);
    await until0();
    assert.deepEqual(calls.slice(4), ['one', 'one'], 'it is not tried again');
  });
});
