/** Assembles the API's own parts on given connections. */
import type { JSONWebKeySet } from 'jose';
import { makeAccounts } from '../accounts/accounts.ts';
import type { AccountSettings } from '../accounts/settings.ts';
import type { Bus } from '../../platform/bus/connect.ts';
import { SUBJECT, type Ended } from '../../platform/bus/messages.ts';
import { PROBE_TOOLS, type KubeClient } from '../../platform/kube/client.ts';
import { startReflector } from '../../platform/kube/reflector.ts';
import { boxKeyBytes } from '../../platform/seal/box.ts';
import { endedNotice } from '../result/ended_notice.ts';
import { MemoryBudget } from '../result/memory_budget.ts';
import { makePaces } from '../result/pace.ts';
import { WHOLE } from '../result/unpack.ts';
import type { Logger } from '../../base/log.ts';
import type { Store } from '../../platform/store/store.ts';
import { makeTracer, type TracerSettings } from '../../platform/tracing/tracer.ts';
import { startDelivery, type DeliverySettings } from '../webhooks/deliver.ts';
import { openUrl } from '../webhooks/kept_url.ts';
import { shared } from '../../base/health.ts';
import type { SourceException } from '../../base/source_settings.ts';
import { connectionMetrics } from '../../platform/metrics/connections.ts';
import { webhookMetrics } from '../webhooks/metrics.ts';
import { ofBatch } from './batch/batch_endpoints.ts';
import { BatchObjects } from './batch/batch_objects.ts';
import { BatchDriver } from './batch/driver.ts';
import { ProbeSources } from './source/probe_sources.ts';
import { takeServerEvents } from './source/server_events.ts';
import { SourceRounds } from './source/source_rounds.ts';
import { LIST_MS } from './batch/list_at_address.ts';
import { newestSnapshot } from './cluster/cluster_endpoint.ts';
import { catalogOf, type Catalog } from './probe/tool_versions.ts';
import type { Deps, Settings, Uploads } from './deps.ts';
import { type Drain, makeDrain, type ReadyChecks } from './health_routes.ts';
import { makeAccountRates } from './http/rate.ts';
import { makeOverload } from './http/overload.ts';
import { type ConnectOptions, trustedContext } from '../../source/http/connect.ts';
import { egressRoute } from '../../source/http/egress.ts';
import { makeGuard } from '../../source/address/guard.ts';
import { askIdentity } from '../../source/http/ask_identity.ts';
import { getWhole } from '../../source/http/once.ts';
import { askLeader, makeHandOver } from './probe/job.ts';
import { type CacheDeps, ResultCache } from './probe/result_cache.ts';
import { makeObjectRoom, makeQueueRoom, usualObjects } from './probe/room.ts';
import { makeStanding } from './probe/standing.ts';
import { makeMetrics } from './api_metrics.ts';
import { TokenCache } from './http/token_cache.ts';
import { makeWaiting } from './probe/waiting_callers.ts';
import { issuerFetch, placeOfIssuer } from './sso/issuer_fetch.ts';
import { makeIssuers } from './sso/issuers.ts';
import { makeWorkPool } from './work/pool.ts';

export interface Connections {
  store: Store;
  bus: Bus;
  kube: KubeClient;
  sealKeys(): JSONWebKeySet;
  log: Logger;
  settings: Settings;
  webhooks?: Omit<
    DeliverySettings,
    'allow' | 'denyCidrs' | 'makeSecret' | 'openSecret' | 'openUrl' | 'ofBatch' | 'publicUrl'
  >;
  accounts: AccountSettings;
  tracing?: Omit<TracerSettings, 'registry'>;
  uploads?: Uploads | undefined;
  processMetrics?: boolean;
}

const ASK_MS = 2_000;

/** Hosts are reached by the same rules as runners read from them, and on the same way out. */
function connectionsOf(
  { allowSources, denyCidrs }: Settings,
  { egress, ca, lookup }: NonNullable<Connections['webhooks']>,
) {
  const context = trustedContext(ca);
  const connect = {
    verify: true,
    context,
    egress: egress && egressRoute(egress, context),
    alpn: ['http/1.1'],
  };
  return (allow: readonly SourceException[], timeoutMs: number): ConnectOptions => ({
    ...connect,
    timeoutMs,
    guard: makeGuard({
      allow: [...allowSources, ...allow],
      denyExtra: denyCidrs,
      ...(lookup ? { lookup } : {}),
    }),
  });
}

/** What the API reads of origins by itself. */
function originsOf(
  parts: Pick<CacheDeps, 'store' | 'waiting' | 'metrics' | 'log'>,
  settings: Settings,
  { webhooks = {}, accounts }: Pick<Connections, 'webhooks' | 'accounts'>,
): Pick<Deps, 'cache' | 'fetchSource'> {
  const connecting = connectionsOf(settings, webhooks);
  return {
    cache: new ResultCache({
      ...parts,
      seenMs: settings.cacheSeenMs,
      ask: ({ source, allow }) => askIdentity(source, connecting(allow, ASK_MS), AbortSignal.timeout(ASK_MS)),
      secret: () => (settings.cacheEnabled ? boxKeyBytes(accounts.boxKeys()).at(-1) : undefined),
    }),
    fetchSource: (source, allow, { most, signal }) => getWhole(source, connecting(allow, LIST_MS), most, signal),
  };
}

/** Where webhooks may go. */
const receiversOf = ({ allowWebhooks: allow, denyCidrs }: Settings) => ({ allow, denyCidrs });

/** Issuers of single sign-on are reached like receivers of webhooks. */
const fetchOf = ({ denyCidrs }: Settings, { webhooks = {}, accounts }: Pick<Connections, 'webhooks' | 'accounts'>) =>
  issuerFetch({ ...webhooks, denyCidrs, allow: accounts.issuers.map(placeOfIssuer) });

/** Those of callers and those of objects. */
function driveBatches(deps: Deps, kube: KubeClient, ready: Promise<unknown>) {
  const driver = new BatchDriver(deps, ready);
  const { eventsServer } = deps.settings;
  const parts = [
    new BatchObjects(deps, kube, driver),
    new ProbeSources(deps, kube, driver),
    new SourceRounds(deps, driver),
    ...(eventsServer ? [takeServerEvents(deps, eventsServer)] : []),
  ];
  return {
    async stop(): Promise<void> {
      await Promise.all(parts.map((part) => part.stop()));
      await driver.stop();
    },
  };
}

export type Wired = ReturnType<typeof wire>;

export function wire({
  store,
  bus,
  kube,
  sealKeys,
  log,
  settings,
  accounts: accountSettings,
  webhooks = {},
  tracing,
  uploads,
  processMetrics = false,
}: Connections) {
  const waiting = makeWaiting({ look: async (ids) => (await store.endsFor(ids)).map((end) => endedNotice(end)), log });
  const told = bus.subscribe<Ended>(SUBJECT.ended(settings.replica), ({ message }) => waiting.ended(message));
  const metrics = makeMetrics(waiting.size, { defaults: processMetrics });

  const paceOf = makePaces();
  const overload = makeOverload(paceOf, metrics.overloadRefused);
  const memory = new MemoryBudget({
    totalBytes: settings.memoryBudgetBytes,
    wholeBytes: WHOLE,
    paceOf,
    onRefused: metrics.memoryRefused,
  });
  metrics.watchMemory(memory);
  const work = makeWorkPool({ paceOf, onDone: metrics.worked });
  connectionMetrics(metrics.registry, { store, bus });
  const tracer = tracing && makeTracer({ ...tracing, registry: metrics.registry });

  let catalog: Catalog | undefined;
  const changed = (): void => void (catalog = undefined);
  const tools = startReflector({
    client: kube,
    type: PROBE_TOOLS,
    namespace: settings.namespace,
    handlers: { add: changed, update: changed, delete: changed },
  });
  // Stopped before the first LIST: not an error.
  tools.synced.catch(() => {});

  // The cache asks the listener whether notifications arrive, and the listener invalidates the cache.
  const tokens = new TokenCache({
    find: store.findToken,
    listening: () => listener.listening(),
    onLookup: metrics.tokenLookup,
  });
  const listener = store.listenTokens((one) => tokens.changed(one));

  const accounts = makeAccounts({ store, log, settings: accountSettings });
  const leader = askLeader({ bus, log });
  const handOver = makeHandOver({ store, kube, metrics, log, ...leader });
  const delivery = startDelivery({
    store,
    memory,
    log,
    tracer,
    metrics: webhookMetrics(metrics.registry, { inHand: () => delivery.inHand(), backlog: store.webhookBacklog }),
    settings: {
      ...webhooks,
      makeSecret: accounts.makeWebhookSecret,
      openSecret: accounts.openWebhookSecret,
      openUrl: (kept, requestId) => openUrl(kept, requestId, accounts.box),
      ofBatch: (webhook) => ofBatch(store, webhook),
      publicUrl: accountSettings.publicUrl,
      ...receiversOf(settings),
    },
  });

  const deps: Deps = {
    store,
    accounts,
    issuers: makeIssuers(accountSettings, { fetch: fetchOf(settings, { webhooks, accounts: accountSettings }), log }),
    kube,
    tokens,
    waiting,
    standing: makeStanding({ kube, settings, log, store }),
    memory,
    paceOf,
    work,
    overload,
    metrics,
    tracer,
    log,
    sealKeys,
    settings,
    uploads,
    cluster: newestSnapshot({ bus, store, log }),
    drain: makeDrain(),
    ...originsOf({ store, waiting, metrics, log }, settings, { webhooks, accounts: accountSettings }),
    catalog: () => (catalog ??= catalogOf(tools.list())),
    ...leader,
    handOver,
    accountRates: makeAccountRates(),
    queueRoom: makeQueueRoom({ store, log }, settings.maxQueued),
    objectRoom: makeObjectRoom({ kube, log, namespace: settings.namespace }, usualObjects(settings)),
  };
  const batches = driveBatches(deps, kube, tools.synced);
  return {
    deps,
    checks: readyChecks({ store, bus, kube, settings }, tools, deps.drain),
    toolsRead: tools.synced,
    async stop() {
      waiting.stop();
      work.close();
      overload.stop();
      told.stop();
      await batches.stop();
      await Promise.allSettled([handOver.stop(), delivery.stop(), tools.stop(), listener.stop(), accounts.stop()]);
      await tracer?.stop();
    },
  };
}

/**
 * A replica that has lost a dependency answers 503, or holds its callers until the dependency is back. Unready, all
 * replicas would leave the Service at once, and callers would get refused connections instead.
 */
function readyChecks(
  { store, bus, kube, settings }: Pick<Connections, 'store' | 'bus' | 'kube' | 'settings'>,
  tools: { hasSynced(): boolean },
  drain: Drain,
): ReadyChecks {
  return {
    ready: {
      tools: () => (tools.hasSynced() ? null : 'the tool versions are not read yet'),
      drain: () => (drain.started ? 'this replica is shutting down' : null),
    },
    dependencies: {
      postgres: shared(async () => ((await store.healthy()) ? null : 'does not answer'), 1_000),
      nats: () => (bus.connected() ? null : 'not connected'),
      kubernetes: shared(
        () =>
          kube
            .list(PROBE_TOOLS, { namespace: settings.namespace, limit: 1, resourceVersion: '0', deadlineMs: 1_000 })
            .then(
              () => null,
              (error: { code?: string }) => `not reachable: ${error.code ?? 'failed'}`,
            ),
        5_000,
      ),
    },
  };
}
