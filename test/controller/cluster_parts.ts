/**
 * What surrounds the controller, all real: an API server with our kinds, Postgres and NATS. Runners are simulated
 * (simulated_runners.ts). Each cluster has its own namespaces; all tests of a process share the servers.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair, type JSONWebKeySet } from 'jose';
import { connectBus, type Bus } from '../../src/platform/bus/connect.ts';
import { CREATE_ANSWER_MS, SUBJECT, type CreateAnswer, type Ended } from '../../src/platform/bus/messages.ts';
import { IMPOSSIBLE } from '../../src/service/controller/leader/term_state.ts';
import { verifyName } from '../../src/service/controller/pools/pod.ts';
import {
  isKubeError,
  PODS,
  PROBE_JOBS,
  PROBE_POOLS,
  PROBE_TOOLS,
  type KubeClient,
  type Pod,
} from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { startReflector } from '../../src/platform/kube/reflector.ts';
import { API_VERSION, LABEL } from '../../src/platform/kube/resource.ts';
import type { Kind, ProbeJob, ProbeJobSpec } from '../../src/platform/kube/probe_job.ts';
import type { ProbePoolSpec } from '../../src/platform/kube/probe_pool.ts';
import type { ProbeToolSpec } from '../../src/platform/kube/probe_tool.ts';
import { sealSource } from '../../src/platform/seal/seal.ts';
import type { RequestRecord } from '../../src/platform/store/requests.ts';
import { atEnd } from '../at_end.ts';
import { testApiServer, type TestApiServer } from '../kube/apiserver.ts';
import { startNats, type NatsServer } from '../servers.ts';
import { startStore, type StoreFixture } from '../store/fixture.ts';
import { until } from '../until.ts';
import {
  startCandidate,
  startController,
  type Candidate,
  type Controller,
  type ControllerOptions,
} from './controller_part.ts';
import { simulateRunners, type Behaviour, type SimulatedRunners } from './simulated_runners.ts';

export const RUNNER_IMAGE = 'probeyard:test';

interface Servers {
  api: TestApiServer;
  stored: StoreFixture;
  nats: NatsServer;
  bus: Bus;
  keys: { public: JSONWebKeySet; private: JSONWebKeySet };
}
let servers: Promise<Servers> | undefined;

async function startServers(): Promise<Servers> {
  const [api, stored, nats] = await Promise.all([
    testApiServer({ own: true }),
    startStore({ retryMs: 2_000 }),
    startNats({ jetstream: true }),
  ]);
  const bus = await connectBus({ url: nats.url, name: 'test', inboxPrefix: '_INBOX_test' });
  await stored.sql('update users set requests_per_minute = 1000000, concurrency = 100000');
  const { publicKey, privateKey } = await generateKeyPair('ECDH-ES', { crv: 'X25519', extractable: true });
  return {
    api,
    stored,
    nats,
    bus,
    keys: {
      public: { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] },
      private: { keys: [{ ...(await exportJWK(privateKey)), kid: 'one' }] },
    },
  };
}

function sharedServers(): Promise<Servers> {
  servers ??= startServers();
  return servers;
}

export async function stopServers(): Promise<void> {
  const started = await servers;
  servers = undefined;
  if (!started) return;
  await started.bus.connection.close();
  await Promise.all([started.stored.close(), started.nats.stop()]);
}

atEnd(stopServers);

export const TOOLS: ProbeToolSpec[] = [
  { tool: 'ffprobe', version: '7.0', image: 'tools/ffprobe:7.0', latest: true, command: ['{root}/bin/ffprobe'] },
  {
    tool: 'mediainfo',
    version: '24.06',
    image: 'tools/mediainfo:24.06',
    latest: true,
    command: ['{root}/bin/mediainfo'],
  },
];

export const POOL: ProbePoolSpec = {
  serves: { kinds: ['file'] },
  minReady: 2,
  maxPods: 10,
  reuse: { scope: 'any', maxJobs: 100_000, maxAgeSeconds: 3600, idleSeconds: 600 },
};

export interface Submitted {
  id: string;
  submittedAt: Date;
  token: number;
}
export interface SubmitOptions {
  token?: number;
  kind?: Kind;
  queueTimeoutMs?: number;
  timeoutMs?: number;
  /** The leader is told, and creates the job if it can. */
  announce?: boolean;
  /** Without it, nobody waits for the leader's answer. */
  create?: boolean;
  open?: boolean;
  spec?: Partial<ProbeJobSpec>;
  /** In place of one source: the two of a comparison. */
  sources?: readonly [string, string?];
  name?: string;
}

export interface Cluster extends Servers, Pick<StoreFixture, 'store' | 'sql' | 'admin'> {
  servers: Servers;
  kube: KubeClient;
  namespace: string;
  runnerNamespace: string;
  runners: SimulatedRunners;
  /** End notices sent to callers, by request id. */
  told: Map<string, Ended[]>;
  newToken(concurrency: number, user?: number): Promise<number>;
  /** A root user with an account of its own. */
  newAccount(): Promise<number>;
  submit(options?: SubmitOptions): Promise<Submitted>;
  /** Creates the job of a request that was submitted without one. */
  create(of: Submitted): Promise<void>;
  /** The most jobs of a token that a watch ever saw running at once. */
  most(token: number): number;
  /** The job as the watch shows it. */
  job(id: string): ProbeJob | undefined;
  pods(): Promise<Pod[]>;
  reason(id: string): string;
  record(id: string): Promise<RequestRecord>;
  ended(...ids: string[]): Promise<RequestRecord[]>;
  controller(options?: Partial<ControllerOptions>): Promise<Controller>;
  /** A replica that stands for election. */
  candidate(options?: Partial<ControllerOptions>): Promise<Candidate>;
  /** Resolves when the controller that was started last can use so many runners. */
  ready(count?: number, ms?: number): Promise<void>;
  setPool(name: string, change: Partial<ProbePoolSpec>): Promise<void>;
  stop(): Promise<void>;
}

export const stateOf = (job: ProbeJob | undefined): string =>
  job?.status?.conditions?.find(({ type }) => type === 'Succeeded')?.reason ?? '';
const isRunning = (job: ProbeJob): boolean => {
  const condition = (type: string) => job.status?.conditions?.find((one) => one.type === type)?.status;
  return condition('Admitted') === 'True' && condition('Succeeded') === 'Unknown';
};

/** Creates a tool that is proven already. Beside a running controller: only after it has begun to prove the tool. */
export async function makeTool(
  kube: KubeClient,
  namespace: string,
  spec: ProbeToolSpec,
  proving = false,
): Promise<void> {
  const name = `${spec.tool}-${spec.version}`;
  const made = await kube.create(PROBE_TOOLS, { metadata: { name, namespace }, spec });
  const isProving = async () =>
    (await kube.get(PROBE_TOOLS, name, { namespace })).status?.conditions?.some(({ reason }) => reason === 'Proving');
  if (proving) await until(`${name} is being proven`, isProving);
  await showProven(kube, namespace, made.spec);
}

/** `spec`: as the API server gives it back. */
export async function showProven(kube: KubeClient, namespace: string, spec: ProbeToolSpec): Promise<void> {
  const conditions = [
    { type: 'Available', status: 'True', reason: 'Proven', message: '', lastTransitionTime: new Date().toISOString() },
  ];
  await kube.mergePatchStatus(
    PROBE_TOOLS,
    `${spec.tool}-${spec.version}`,
    { proof: verifyName(spec, RUNNER_IMAGE), observedGeneration: 1, conditions },
    { namespace },
  );
}

export interface ClusterOptions {
  pools?: Record<string, Partial<ProbePoolSpec>>;
  runners?: Partial<Behaviour>;
  tools?: ProbeToolSpec[];
}

export async function startCluster({
  pools = { short: {} },
  runners: behaviour = {},
  tools = TOOLS,
}: ClusterOptions = {}): Promise<Cluster> {
  const shared = await sharedServers();
  const { api, stored, bus, keys } = shared;
  const { store, sql } = stored;
  const [namespace, runnerNamespace] = await Promise.all([api.namespace('ctl'), api.namespace('ctl-runners')]);
  const kube = await kubeClient({ kubeconfig: api.kubeconfig, namespace });
  for (const tool of tools) await makeTool(kube, namespace, tool);
  for (const [name, change] of Object.entries(pools))
    await kube.create(PROBE_POOLS, { metadata: { name, namespace }, spec: { ...POOL, ...change } });
  const waiter = `test-${randomBytes(4).toString('hex')}`;
  const told = new Map<string, Ended[]>();
  const hearing = bus.subscribe<Ended>(SUBJECT.ended(waiter), ({ message }) => {
    told.set(message.id, [...(told.get(message.id) ?? []), message]);
  });
  const runners = await simulateRunners(kube, bus, runnerNamespace, behaviour);
  const running = new Map<number, Set<string>>();
  const most = new Map<number, number>();
  const note = (job: ProbeJob, gone: boolean): void => {
    const token = job.spec.token?.id ?? 0;
    const set = running.get(token) ?? new Set();
    running.set(token, set);
    if (!gone && isRunning(job)) set.add(job.metadata.name);
    else set.delete(job.metadata.name);
    most.set(token, Math.max(most.get(token) ?? 0, set.size));
  };
  const jobs = startReflector<ProbeJob>({
    client: kube,
    type: PROBE_JOBS,
    namespace,
    handlers: { add: (job) => note(job, false), update: (job) => note(job, false), delete: (job) => note(job, true) },
  });
  await jobs.synced;
  const controllers: Promise<Controller>[] = [];
  const candidates: Promise<Candidate>[] = [];
  let over = false;
  const fallback = stored.admin.tokenId;

  const objects = new Map<string, ProbeJob>();
  const createJob = async ({ id }: Submitted): Promise<void> => {
    await kube.create(PROBE_JOBS, objects.get(id)!);
  };
  /** As the API does. */
  const createTold = async (of: Submitted): Promise<void> => {
    const answer = bus.request<CreateAnswer>(SUBJECT.create, objects.get(of.id), CREATE_ANSWER_MS);
    const { created } = await answer.catch(() => ({ created: false }));
    if (created) return;
    await createJob(of).catch((error: unknown) => {
      if (!isKubeError(error, 'already-exists')) throw error;
    });
  };

  const replicaOptions = () => {
    // A test that timed out must not start a controller beside those of the next test.
    if (over) throw new Error('this cluster is over');
    return {
      kube,
      bus,
      store,
      namespace,
      runnerNamespace,
      natsUrl: shared.nats.url,
      postgresUrl: stored.server.url,
      keys: keys.private,
    };
  };

  const record = async (id: string): Promise<RequestRecord> => {
    const found = await store.readRequest(id);
    if (!found) throw new Error(`no request ${id}`);
    return found;
  };

  return {
    ...shared,
    servers: shared,
    store,
    sql,
    admin: stored.admin,
    kube,
    namespace,
    runnerNamespace,
    runners,
    told,
    record,
    async newAccount() {
      const [row] = await sql<{ id: string }>(
        'insert into users (email, status, role, permissions, requests_per_minute, concurrency) select $1, ' +
          "'active', 'user', permissions, 1000000, 100000 from users where id = $2 returning id",
        [`${randomBytes(6).toString('hex')}@example.invalid`, stored.admin.userId],
      );
      return Number(row!.id);
    },
    async newToken(concurrency, user = stored.admin.userId) {
      const [row] = await sql<{ id: string }>(
        'insert into tokens (user_id, name, sha256, concurrency) values ($1, $2, $3, $4) returning id',
        [user, 'test', randomBytes(32), concurrency],
      );
      return Number(row!.id);
    },
    async submit({
      token = fallback,
      kind = 'file',
      queueTimeoutMs = 60_000,
      timeoutMs = 65_000,
      announce = false,
      create = true,
      open = true,
      spec = {},
      sources,
      name,
    } = {}) {
      const request = store.newRequest();
      const { submittedAt } = request;
      const id = name ?? request.id;
      const toolsAsked = [{ name: 'ffprobe' as const, version: '7.0' }];
      if (open) {
        await store.openRequest({
          id,
          submittedAt,
          tokenId: token,
          userId: stored.admin.userId,
          kind,
          display: 'https://media.example.org/a.mp4',
          scheme: 'https',
          // As the API does: an end that is read from the record has its verdict, too.
          request: spec.policy ? { policy: spec.policy } : {},
          tools: toolsAsked,
          queueTimeoutMs,
          timeoutMs,
          waiter,
          webhookUrl: null,
          idempotency: null,
          requestsPerMinute: 0,
        });
      }
      const [first = `https://media.example.org/${id}.mp4`, second] = sources ?? [];
      const seal = (address: string) => sealSource(address, { requestId: id, tokenId: token }, keys.public);
      const whole: ProbeJobSpec = {
        kind,
        source: { display: 'https://media.example.org/a.mp4', sealed: await seal(first) },
        ...(second === undefined ? {} : { other: { sealed: await seal(second) } }),
        token: { id: token, user: stored.admin.userId },
        submittedAt: submittedAt.toISOString(),
        queueTimeoutMs,
        timeoutMs,
        tools: toolsAsked,
        ...spec,
      };
      const metadata = { name: id, namespace, labels: { [LABEL.token]: String(token) } };
      objects.set(id, { apiVersion: API_VERSION, kind: 'ProbeJob', metadata, spec: whole });
      const submitted = { id, submittedAt, token };
      if (announce && create) await createTold(submitted);
      else if (announce) bus.publish(SUBJECT.create, objects.get(id));
      else if (create) await createJob(submitted);
      return submitted;
    },
    create: createJob,
    most: (token) => most.get(token) ?? 0,
    job: (id) => jobs.get(`${namespace}/${id}`),
    reason: (id) => stateOf(jobs.get(`${namespace}/${id}`)),
    async pods() {
      return (await kube.listAll(PODS, { namespace: runnerNamespace, labelSelector: `${LABEL.component}=runner` }))
        .items;
    },
    async ended(...ids) {
      await until(
        `${ids.length} requests have an end`,
        async () => (await store.endsFor(ids)).length === ids.length,
        20_000,
      );
      return Promise.all(ids.map(record));
    },
    controller(options = {}) {
      const made = startController({ ...replicaOptions(), ...options });
      controllers.push(made);
      return made;
    },
    candidate(options = {}) {
      const made = startCandidate({ ...replicaOptions(), ...options });
      candidates.push(made);
      return made;
    },
    async ready(count = 1, ms = 30_000) {
      const controller = await controllers.at(-1);
      if (!controller) throw new Error('no controller was started');
      // A leader answers runners, too, that its watch has not shown yet, and cannot use those.
      const usable = await until(
        `${count} runners are ready`,
        () => {
          const seen = runners.all().filter(({ state, pod }) => state.epoch > 0 && controller.sees(pod));
          return seen.length >= count && seen;
        },
        ms,
      ).catch((error: unknown) => {
        // Which of them is missing, and what the leader did to it, is gone when the test has ended.
        const found = runners
          .all()
          .map(({ pod, uid, state }) => ({ uid, epoch: state.epoch, seen: controller.sees(pod) }));
        const done = controller.log.slice(-30).map((line) => JSON.stringify(line));
        throw new Error(`${String(error)}\n${JSON.stringify(found)}\n${done.join('\n')}`, { cause: error });
      });
      await Promise.all(usable.map((runner) => runner.beat()));
    },
    async setPool(name, change) {
      const pool = await kube.get(PROBE_POOLS, name, { namespace });
      await kube.mergePatch(PROBE_POOLS, name, { spec: { ...pool.spec, ...change } }, { namespace });
    },
    async stop() {
      if (over) return;
      over = true;
      const impossible: unknown[] = [];
      for (const controller of [...controllers, ...candidates])
        await controller.then(
          async (started) => {
            await started.stop();
            impossible.push(...started.log.filter(({ msg }) => msg === IMPOSSIBLE));
          },
          () => {},
        );
      await runners.stop();
      hearing.stop();
      await jobs.stop();
      for (const pod of (await kube.listAll(PODS, { namespace: runnerNamespace })).items)
        await kube
          .delete(PODS, pod.metadata.name, { namespace: runnerNamespace, gracePeriodSeconds: 0 })
          .catch(() => {});
      await kube.close();
      assert.deepEqual(impossible, [], IMPOSSIBLE);
    },
  };
}

const ONE: Partial<ProbePoolSpec> = { minReady: 1, maxPods: 1 };

/** For a suite whose tests have a cluster each: it is stopped behind its test. */
export function clusterOfEach({ go }: { go?: Behaviour['go'] } = {}) {
  let cluster: Cluster | undefined;
  afterEach(() => cluster?.stop());
  /** That of the test. */
  const current = (): Cluster => cluster!;

  async function start(options: ClusterOptions = {}): Promise<Cluster> {
    cluster = await startCluster(options);
    if (go) cluster.runners.behaviour.go = go;
    return cluster;
  }
  /** With a leader, and with the runners that the pool keeps ready. */
  async function led(short = ONE, options: Partial<ControllerOptions> = {}) {
    const made = await start({ pools: { short } });
    const leader = await made.controller(options);
    await made.ready(short.minReady);
    return { ...leader, ...made, leader };
  }
  /** With a job that a runner has begun and does not end by itself. */
  async function held(short = ONE) {
    const made = await led(short);
    made.runners.behaviour.go = () => 'hold';
    const one = await made.submit();
    return { ...made, ...one, runner: await until('it runs', () => made.runners.of(one.id)) };
  }
  return { start, led, held, current, ready: (count = 1) => current().ready(count) };
}
