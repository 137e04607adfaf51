/** The role `controller`: every replica collects results and answers for runners' identities; one of them leads. */
import { readFile } from 'node:fs/promises';
import { connectBus } from '../bus/connect.ts';
import { serveCallout } from '../bus/callout.ts';
import { INBOX } from '../bus/permissions.ts';
import { podTokenVerifier } from '../bus/podtoken.ts';
import { watchShares } from '../bus/shares.ts';
import { consumeResults } from '../bus/collect.ts';
import { limitsOf, loadConfig } from '../config.ts';
import { PODS, PROBE_JOBS, isKubeError, makeClient, type Pod } from '../kube/client.ts';
import { startElection } from '../kube/lease.ts';
import { startReflector } from '../kube/reflector.ts';
import { LABEL, type ProbeJob } from '../kube/resources.ts';
import { slimJob, slimPod } from '../kube/slim.ts';
import { serveHealth } from '../health.ts';
import { makeLog, runnerFields } from '../log.ts';
import { watchOpeningKeys } from '../seal/watch_keys.ts';
import { openStore } from '../store/store.ts';
import { watchCertificate } from './certificate_watch.ts';
import { collect, collectorRoom } from './collect/collect.ts';
import { floods } from './floods.ts';
import { idOf } from './leader/job.ts';
import { controllerMetrics } from './metrics.ts';
import { startTerm, type RunningTerm } from './term.ts';
import { isRunnerPod } from './catalog/prove.ts';
import { startUpkeep } from './upkeep.ts';

/** A cache that heard nothing for so long, bookmarks included, is no cache any more. */
const CACHE_SILENCE_MS = 150_000;

export async function run(): Promise<void> {
  const config = loadConfig('controller');
  const log = makeLog('controller', config);
  const metrics = controllerMetrics();
  const kube = await makeClient({ namespace: config.namespace });
  // A renewal must not wait behind a thousand other calls.
  const leaseClient = await makeClient({ namespace: config.namespace });
  const keys = watchOpeningKeys(config.sealPrivateFile, (error) =>
    log.error({ err: error }, 'cannot read the private seal keys again'),
  );
  const issuerSeed = (await readFile(config.natsIssuerFile, 'utf8')).trim();
  const store = await openStore({
    url: config.postgresUrl,
    directUrl: config.postgresDirectUrl,
    caFile: config.postgresCaFile || undefined,
    name: `probeyard-controller ${config.podName}`,
    defaultLimits: limitsOf(config),
    onError: (error) => log.warn({ err: error }, 'Postgres'),
  });
  const bus = await connectBus({
    url: config.natsUrl,
    caFile: config.natsCaFile || undefined,
    nkeyFile: config.natsNkeyFile,
    name: `controller/${config.podName}`,
    inboxPrefix: INBOX.controller,
    onStatus: (status) => log.info({ status }, 'NATS'),
    onError: (error) => log.warn({ err: error }, 'NATS'),
  });

  let term: RunningTerm | undefined;
  const hooks = (resource: string) => ({
    listed: ({ reason }: { reason: string }) => metrics.listed(resource, reason),
    failed: (error: unknown) => log.debug({ err: error, resource }, 'a cache starts over'),
  });
  const jobs = startReflector<ProbeJob>({
    client: kube,
    type: PROBE_JOBS,
    namespace: config.namespace,
    transform: slimJob,
    indexes: { id: idOf },
    hooks: hooks('probejobs'),
    handlers: {
      add: (job) => term?.jobSeen(job),
      update: (job) => term?.jobSeen(job),
      delete: (job) => term?.jobGone(job),
    },
  });
  const pods = startReflector<Pod>({
    client: kube,
    type: PODS,
    namespace: config.runnerNamespace,
    labelSelector: `${LABEL.managedBy}=probeyard`,
    transform: slimPod,
    indexes: { uid: (pod) => pod.metadata.uid },
    hooks: hooks('pods'),
    handlers: {
      add: (pod, { relist }) => term?.podSeen(pod, relist),
      update: (pod) => term?.podSeen(pod, false),
      delete: (pod) => {
        term?.podGone(pod);
        if (!isRunnerPod(pod)) return;
        const { name, uid = '' } = pod.metadata;
        void callout.kick(uid).catch((error: unknown) => {
          log.debug({ err: error, ...runnerFields({ pod: name, uid }) }, 'cannot kick a runner');
        });
      },
    },
  });

  const isOurPod = async ({ uid, pod }: { uid: string; pod: string }): Promise<boolean> => {
    const known =
      pods.by('uid', uid)[0] ??
      (await kube.get(PODS, pod, { namespace: config.runnerNamespace }).catch((error: unknown) => {
        if (isKubeError(error, 'not-found')) return undefined;
        throw error;
      }));
    return known !== undefined && known.metadata.uid === uid && isRunnerPod(known);
  };
  const callout = serveCallout(bus, {
    issuerSeed,
    account: config.natsAccount,
    authorise: podTokenVerifier({
      jwks: () => kube.jwks(),
      issuer: () => kube.issuer(),
      namespace: config.runnerNamespace,
      serviceAccount: config.runnerServiceAccount,
      isOurPod,
    }),
    onDecision: (decision) => {
      metrics.callout(decision.ok ? 'accepted' : 'refused');
      if (decision.ok) log.info(runnerFields(decision), 'a runner was let into NATS');
      else log.warn({ code: decision.code, reason: decision.message }, 'a connection to NATS was refused');
    },
  });
  const endFlooding = floods({
    kube,
    log,
    metrics,
    namespace: config.runnerNamespace,
    podOf: (uid) => pods.by('uid', uid)[0],
    kick: (uid) => callout.kick(uid),
  });
  await Promise.all([jobs.synced, pods.synced]);

  const room = collectorRoom();
  const results = consumeResults(bus, {
    handle: (delivery) =>
      collect(
        {
          kube,
          bus,
          store,
          log,
          metrics,
          namespace: config.namespace,
          cached: (name) => jobs.get(`${config.namespace}/${name}`),
          room,
        },
        delivery,
      ),
    onError: (error) => log.warn({ err: error }, 'collecting'),
    onFlood: (uid) => void endFlooding(uid, 'results'),
  });
  const certificates = watchCertificate(bus, {
    url: config.natsUrl,
    caFile: config.natsCaFile || undefined,
    log,
    metrics,
  });
  const shares = watchShares(bus, {
    onOver: (uid) => endFlooding(uid, 'chunks'),
    onError: (error) => log.warn({ err: error }, 'NATS'),
  });

  const listener = store.listenTokens((change) => {
    if ('all' in change)
      void term?.leader.tokensChanged('all').catch((error: unknown) => log.warn({ err: error }, 'limits'));
    else
      void term?.leader
        .tokensChanged('token' in change ? [change.token] : 'all')
        .catch((error: unknown) => log.warn({ err: error }, 'limits'));
  });

  let starting: Promise<void> = Promise.resolve();
  const endTerm = async (): Promise<void> => {
    const ending = term;
    term = undefined;
    metrics.lead(undefined);
    await ending?.stop();
    // What another leads now is no longer counted here.
    for (const state of ['waiting', 'running'] as const) metrics.jobs(state, 0);
  };
  const election = startElection({
    client: leaseClient,
    name: 'probeyard-controller',
    namespace: config.namespace,
    holder: config.podName,
    // Where somebody deleted the Lease: runners refuse a term that is older than one that they have seen.
    epochFloor: () => jobs.list().reduce((most, { status }) => Math.max(most, status?.admittedBy?.epoch ?? 0), 0),
    onLead: ({ epoch }) => {
      log.info({ epoch }, 'elected');
      metrics.lead(epoch);
      const lead = async (): Promise<void> => {
        await endTerm();
        metrics.lead(epoch);
        const mine = () => election.leading() === epoch;
        if (!mine()) return;
        term = await startTerm(
          {
            kube,
            bus,
            store,
            log,
            namespace: config.namespace,
            config,
            metrics,
            pods,
            jobs,
            endFlooding,
            tokensFresh: () => listener.listening(),
            intake: { store, kube, keys, s3Hosts: config.s3Hosts },
          },
          { holder: election.identity, epoch, stillLeading: (margin) => mine() && election.stillLeading(margin) },
          (running) => {
            term = running;
          },
        );
      };
      starting = starting.then(lead).catch(async (error: unknown) => {
        // A leader that cannot begin must not keep the others from it.
        log.error({ err: error, epoch }, 'the term could not begin');
        process.exit(1);
      });
    },
    onLost: async (why) => {
      log.warn({ why }, 'no longer leading');
      await starting;
      await endTerm();
    },
    onError: (error) => log.warn({ err: error }, 'lease'),
  });

  await store.ensurePartitions();
  const upkeep = startUpkeep({
    store,
    log,
    retention: { envelopeDays: config.keepEnvelopeDays, requestMonths: config.keepRequestMonths },
  });

  const silence = (ms: number) => (): string | null =>
    jobs.silentMs() > ms ? `no event from the API server for ${ms / 1000} s` : null;
  const server = await serveHealth(config.metricsListen, {
    registry: metrics.registry,
    live: { 'jobs-cache': silence(2 * CACHE_SILENCE_MS) },
    ready: {
      postgres: async () => ((await store.healthy()) ? null : 'does not answer'),
      nats: () => (bus.connected() ? null : 'not connected'),
      collecting: () => (results.active() ? null : 'not collecting results'),
      'jobs-cache': silence(CACHE_SILENCE_MS),
    },
  });
  log.info({ listen: config.metricsListen }, 'controller is up');

  await new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
  });
  log.info('ending');
  await upkeep.stop();
  await election.stop();
  shares.stop();
  certificates.stop();
  await results.stop();
  callout.stop();
  await Promise.allSettled([jobs.stop(), pods.stop()]);
  await bus.drain();
  await store.close();
  server.close();
  await Promise.allSettled([kube.close(), leaseClient.close()]);
}
