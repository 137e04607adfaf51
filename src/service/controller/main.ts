/** The role `controller`: every replica collects results and authenticates runners; one of them leads. */
import { consumeResults } from '../../platform/bus/collect.ts';
import { watchShares } from '../../platform/bus/shares.ts';
import { type Config, loadConfig } from '../../base/config.ts';
import { serveLiveness, type Check, type Checks } from '../../base/health.ts';
import { type Identities, keepIdentities, postBy } from '../../platform/identity/identities.ts';
import { type Logger, makeLog } from '../../base/log.ts';
import { signals } from '../../base/signals.ts';
import { trustedContext } from '../../source/http/connect.ts';
import { egressRoute } from '../../source/http/egress.ts';
import { wayOut } from '../../source/http/way_out.ts';
import { admitRunners, cutOff } from './admit_runners.ts';
import { controllerMetrics, leaseMetrics, transportMetrics, watchBackups } from './metrics.ts';
import { startCaches } from './caches.ts';
import { standForElection, type Candidacy } from './candidacy.ts';
import { watchCertificate } from './certificate_watch.ts';
import { connect } from './clients.ts';
import { collect, collectorRoom, type CollectDeps } from './collect/collect.ts';
import { floods } from './floods.ts';
import { connectionMetrics } from '../../platform/metrics/connections.ts';
import { ServedNamespaces } from '../../platform/kube/served_namespaces.ts';
import { serveMetrics } from '../../platform/metrics/gate.ts';
import type { RunningTerm } from './term.ts';
import { makeTracer } from '../../platform/tracing/tracer.ts';
import { termMetrics } from './term_figures.ts';
import { startUpkeep } from './upkeep.ts';

/** A cache without any event for this long, bookmarks included, counts as stale. */
const CACHE_SILENCE_MS = 150_000;

/** Token services are reached as origins are: by the authorities of sources, and through the egress proxy. */
function identitiesOf(config: Config<'controller'>, log: Logger): Identities {
  const { credentials, identityFolder: folder } = config;
  const { egress, ca } = wayOut(config);
  const context = trustedContext(ca);
  const route = egress && egressRoute(egress, context);
  const onRefused = (credential: string, err: Error) =>
    log.warn({ credential, err }, 'the identity of this controller was granted no access');
  return keepIdentities({ credentials, folder, post: postBy(route, context), onRefused });
}

export async function run(): Promise<void> {
  const config = loadConfig('controller');
  const log = makeLog('controller', config);
  const metrics = controllerMetrics({ defaults: true });
  const tracer = makeTracer({
    endpoint: config.tracingEndpoint,
    share: config.tracingPercent / 100,
    service: 'probeyard-controller',
    instance: config.podName,
    registry: metrics.registry,
  });
  // Alive from the start: the kubelet must not restart a process that waits for Postgres, NATS or the API server.
  const live: Record<string, Check> = {};
  const ready: Record<string, Check> = { start: () => 'this replica is starting' };
  const server = await serveMetrics(config, { live, ready, registry: metrics.registry });
  const liveness = await serveLiveness(config.livenessListen, live);
  const stopping = signals();
  const certificates = watchCertificate({
    url: config.natsUrl,
    caFile: config.natsCaFile || undefined,
    credentialsFile: config.natsNkeyFile,
    stageFiles: config.natsStageFiles,
    log,
    metrics,
  });
  const { leaseClient, keys, issuerSeed, ...clients } = await connect(config, log);
  const { kube, store, bus } = clients;
  const deps = { config, log, metrics, ...clients };
  const standing: { candidacy?: Candidacy } = {};
  const term = (): RunningTerm | undefined => standing.candidacy?.term();
  const caches = startCaches({
    ...deps,
    term,
    podGone: (pod) => cutOff(callout, log, pod, 'all'),
    podRenewed: (pod) => cutOff(callout, log, pod, 'former'),
  });
  const { jobs, pods } = caches;
  const endFlooding = floods({
    ...deps,
    namespace: config.runnerNamespace,
    podOf: (uid) => pods.by('uid', uid)[0],
    kick: (uid) => callout.kick(uid),
  });
  const callout = admitRunners({ ...deps, pods, issuerSeed, endFlooding });
  await Promise.all([jobs.synced, pods.synced]);

  const collecting: CollectDeps = {
    ...deps,
    tracer,
    served: new ServedNamespaces(config),
    cached: (key) => jobs.get(key),
    room: collectorRoom(),
  };
  const results = consumeResults(bus, {
    handle: (result, confirm) => collect(collecting, result, confirm),
    onError: (error) => log.warn({ err: error }, 'cannot collect a result, will retry'),
    onFlood: (uid) => void endFlooding(uid, 'results'),
    replicas: config.natsStreamReplicas ?? undefined,
    onReplicas: (stream, replicas) => log.info({ stream, replicas }, 'stream has further copies'),
  });
  const shares = watchShares(bus, {
    onOver: (uid) => endFlooding(uid, 'chunks'),
    onError: (error) => log.warn({ err: error }, 'cannot check the share of a runner in the chunk stream'),
  });

  const listener = store.listenTokens((change) => {
    const which = !('all' in change) && 'token' in change ? [change.token] : 'all';
    term()
      ?.leader.tokensChanged(which)
      .catch((error: unknown) => log.warn({ err: error }, 'cannot load token limits'));
  });

  const identities = identitiesOf(config, log);
  const candidacy = standForElection(leaseClient, {
    ...deps,
    ...caches,
    namespace: config.namespace,
    endFlooding,
    tokensFresh: () => listener.listening(),
    intake: {
      keys,
      s3Hosts: config.s3Hosts,
      named: { credentials: config.credentials, folder: config.credentialsFolder, identities },
    },
  });
  standing.candidacy = candidacy;
  leaseMetrics(metrics.registry, () => candidacy.leaseAgeMs());
  termMetrics(metrics.registry, () => term()?.figures());
  connectionMetrics(metrics.registry, { store, bus });
  transportMetrics(metrics.registry, bus, store);

  await store.ensurePartitions();
  const upkeep = startUpkeep({ store, log, keep: config });
  const backups = watchBackups(store, metrics.backups, log);

  const silence = (ms: number) => (): string | null =>
    jobs.silentMs() > ms ? `no event from the API server for ${ms / 1000} s` : null;
  live['jobs-cache'] = silence(2 * CACHE_SILENCE_MS);
  delete ready['start'];
  Object.assign(ready, {
    postgres: async () => ((await store.healthy()) ? null : 'does not answer'),
    nats: () => (bus.connected() ? null : 'not connected'),
    collecting: () => (results.active() ? null : 'not collecting results'),
    'jobs-cache': silence(CACHE_SILENCE_MS),
  } satisfies Checks);
  log.info({ listen: config.metricsListen }, 'controller started');

  await stopping.serving();
  log.info('shutting down');
  // First: the other replica waits for the lease, and a turn of the upkeep may take long.
  await candidacy.stop();
  backups.stop();
  await upkeep.stop();
  identities.stop();
  shares.stop();
  certificates.stop();
  await results.stop();
  callout.stop();
  await Promise.allSettled(Object.values(caches).map((cache) => cache.stop()));
  await bus.drain();
  await tracer?.stop();
  await store.close();
  await server.close();
  await liveness.close();
  await Promise.allSettled([kube.close(), leaseClient.close()]);
}
