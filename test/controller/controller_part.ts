/** One controller replica, wired as in main.ts: caches, a collector, and a term: its lease is the test's, or is won. */
import type { JSONWebKeySet } from 'jose';
import { pino } from 'pino';
import type { BodyRoom } from '../../src/platform/bus/body_room.ts';
import type { Bus } from '../../src/platform/bus/connect.ts';
import { consumeResults } from '../../src/platform/bus/collect.ts';
import { loadConfig } from '../../src/base/config.ts';
import { standForElection, type Candidacy } from '../../src/service/controller/candidacy.ts';
import { startCaches } from '../../src/service/controller/caches.ts';
import { collect, collectorRoom } from '../../src/service/controller/collect/collect.ts';
import { floods } from '../../src/service/controller/floods.ts';
import { controllerMetrics } from '../../src/service/controller/metrics.ts';
import { ServedNamespaces } from '../../src/platform/kube/served_namespaces.ts';
import { startTerm, type RunningTerm, type TermDeps } from '../../src/service/controller/term.ts';
import type { KubeClient } from '../../src/platform/kube/client.ts';
import type { Store } from '../../src/platform/store/store.ts';
import { RUNNER_IMAGE } from './cluster_parts.ts';
import { noCredentials } from './no_credentials.ts';

/** A lease that ages only when the test says so: `ageMs` stands in for the election's answer. */
export interface HeldLease {
  epoch: number;
  holder: string;
  ageMs: number;
}
const DURATION_MS = 6_000;

export interface ControllerOptions {
  kube: KubeClient;
  /** Client for the writes of the term, for tests that observe or block them. The caches read through `kube`. */
  writes: KubeClient;
  bus: Bus;
  store: Store;
  namespace: string;
  runnerNamespace: string;
  natsUrl: string;
  postgresUrl: string;
  keys: JSONWebKeySet;
  epoch: number;
  env: Record<string, string>;
  /** Whether this replica collects results. */
  collects: boolean;
  /** Bus that the collector publishes to. */
  collectorBus: Bus;
  /** Room of the collector for bodies in chunks. */
  room: BodyRoom;
  /** Keeps neither log lines nor the list of calls: for measurements of memory. */
  quiet: boolean;
}

export interface Controller {
  term: RunningTerm;
  lease: HeldLease;
  /** Calls of the term to the API server in order, such as `create Pod` or `status ProbeJob`. */
  calls: { what: string; name: string }[];
  log: { level: number; msg: string; [member: string]: unknown }[];
  /** Whether its watch has shown the pod. */
  sees(pod: string): boolean;
  stop(): Promise<void>;
}

/** Wraps the client and records its writes. */
function counting(kube: KubeClient, calls: Controller['calls']): KubeClient {
  const noted =
    <Type extends { kind: string }, Rest extends unknown[], Out>(
      what: string,
      call: (type: Type, ...rest: Rest) => Out,
      nameOf: (...rest: Rest) => string,
    ) =>
    (type: Type, ...rest: Rest): Out => {
      calls.push({ what: `${what} ${type.kind}`, name: nameOf(...rest) });
      return call(type, ...rest);
    };
  return {
    ...kube,
    create: noted(
      'create',
      kube.create as never,
      (object: { metadata: { name: string } }) => object.metadata.name,
    ) as KubeClient['create'],
    mergePatchStatus: noted(
      'status',
      kube.mergePatchStatus as never,
      (name: string) => name,
    ) as KubeClient['mergePatchStatus'],
    delete: noted('delete', kube.delete as never, (name: string) => name) as KubeClient['delete'],
    deleteAll: noted('delete', kube.deleteAll as never, (selector: string) => selector) as KubeClient['deleteAll'],
  };
}

type ReplicaOptions = Omit<
  ControllerOptions,
  'writes' | 'epoch' | 'env' | 'collects' | 'collectorBus' | 'room' | 'quiet'
> &
  Partial<ControllerOptions>;

interface Replica {
  deps: TermDeps;
  calls: Controller['calls'];
  log: Controller['log'];
  stop(): Promise<unknown>;
}

/** Everything of a replica but its term; `term` is the one that gets its events. */
export async function startReplica(options: ReplicaOptions, term: () => RunningTerm | undefined): Promise<Replica> {
  const { kube, bus, store, namespace, runnerNamespace, collects = true, quiet = false } = options;
  const { collectorBus = bus, room = collectorRoom() } = options;
  const lines: Controller['log'] = [];
  const log = pino(
    { level: quiet ? 'silent' : 'debug' },
    {
      write: (line: string) => {
        lines.push(JSON.parse(line) as Controller['log'][number]);
      },
    },
  );
  const config = loadConfig('controller', {
    PY_NAMESPACE: namespace,
    PY_RUNNER_NAMESPACE: runnerNamespace,
    PY_RUNNER_IMAGE: RUNNER_IMAGE,
    PY_NATS_URL: options.natsUrl,
    PY_POSTGRES_URL: options.postgresUrl,
    PY_NATS_NKEY_FILE: '/none',
    PY_NATS_ISSUER_FILE: '/none',
    PY_SEAL_PRIVATE_FILE: '/none',
    ...options.env,
  });
  const metrics = controllerMetrics();
  const calls: Controller['calls'] = [];
  const caches = startCaches({
    kube,
    config,
    log,
    metrics,
    term,
    podGone: () => {},
    podRenewed: () => {},
  });
  const { jobs, pods } = caches;
  await Promise.all([jobs.synced, pods.synced]);
  const results = collects
    ? consumeResults(bus, {
        handle: (result, confirm) =>
          collect(
            {
              kube,
              bus: collectorBus,
              store,
              log,
              metrics,
              served: new ServedNamespaces(config),
              cached: (key) => jobs.get(key),
              room,
            },
            result,
            confirm,
          ),
        onError: (error) => log.warn({ err: error }, 'cannot collect a result, will retry'),
      })
    : undefined;
  const endFlooding = floods({
    kube,
    log,
    metrics,
    namespace: runnerNamespace,
    podOf: (uid) => pods.by('uid', uid)[0],
    kick: async () => {},
  });
  const listener = store.listenTokens((change) => {
    void term()?.leader.tokensChanged('token' in change ? [change.token] : 'all');
  });
  const deps: TermDeps = {
    kube: quiet ? kube : counting(options.writes ?? kube, calls),
    bus,
    store,
    log,
    namespace,
    config,
    metrics,
    ...caches,
    endFlooding,
    tokensFresh: () => listener.listening(),
    intake: { keys: () => options.keys, s3Hosts: [], named: noCredentials },
  };
  const stop = () =>
    Promise.all([results?.stop(), ...Object.values(caches).map((cache) => cache.stop()), listener.stop()]);
  return { deps, calls, log: lines, stop };
}

export interface Candidate {
  candidacy: Candidacy;
  log: Controller['log'];
  stop(): Promise<void>;
}

/** A replica that stands for election, and leads when it is elected. */
export async function startCandidate(options: ReplicaOptions): Promise<Candidate> {
  const standing: { candidacy?: Candidacy } = {};
  const { deps, log, stop } = await startReplica(options, () => standing.candidacy?.term());
  const candidacy = standForElection(options.kube, deps);
  standing.candidacy = candidacy;
  let stopped: Promise<void> | undefined;
  return {
    candidacy,
    log,
    stop() {
      stopped ??= candidacy.stop().then(async () => {
        await stop();
      });
      return stopped;
    },
  };
}

export async function startController(options: ReplicaOptions): Promise<Controller> {
  const { epoch = 1, runnerNamespace } = options;
  let term: RunningTerm | undefined;
  const { deps, calls, log, stop } = await startReplica(options, () => term);
  const lease: HeldLease = { epoch, holder: `controller-${epoch}`, ageMs: 0 };
  const stillLeading = (marginMs = 1_000): boolean => lease.ageMs + marginMs < DURATION_MS;
  const started = await startTerm(
    deps,
    { holder: lease.holder, epoch, stillLeading, terms: () => [], over: new AbortController() },
    (running) => {
      term = running;
    },
  );
  let stopped: Promise<void> | undefined;
  return {
    term: started,
    lease,
    calls,
    log,
    sees: (pod) => deps.pods.get(`${runnerNamespace}/${pod}`) !== undefined,
    stop() {
      stopped ??= (async () => {
        term = undefined;
        await started.stop();
        await stop();
      })();
      return stopped;
    },
  };
}
