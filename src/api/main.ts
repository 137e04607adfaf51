/** The role `api`: its connections, its servers, and how it goes. */
import { setTimeout as pause } from 'node:timers/promises';
import { connectBus } from '../bus/connect.ts';
import { SUBJECT, type Ended } from '../bus/messages.ts';
import { INBOX } from '../bus/permissions.ts';
import { loadConfig } from '../config.ts';
import { makeClient, PROBE_TOOLS } from '../kube/client.ts';
import { startReflector } from '../kube/reflector.ts';
import { makeLog } from '../log.ts';
import { openStore } from '../store/store.ts';
import { catalogOf, type Catalog } from './catalog.ts';
import { DEFAULTS, type Deps } from './deps.ts';
import { makeDrain } from './drain.ts';
import { endOf } from './ends.ts';
import type { Checks } from './health.ts';
import { listen } from './http_server.ts';
import { makeMetrics } from './metrics.ts';
import { makeMetricsApp } from './metrics_server.ts';
import { watchSealKeys } from './seal_keys.ts';
import { makeApp } from './server.ts';
import { makeTokenCache } from './token_cache.ts';
import { makeWaiting } from './waiting.ts';

/** Until load balancers have heard that this replica is not ready, it goes on taking requests. */
const LINGER_MS = 3_000;
/** For answers that are written while the rest is cut. */
const LAST_WORDS_MS = 5_000;

export async function run(): Promise<void> {
  const config = loadConfig('api');
  const log = makeLog('api', config);
  const stopping = signals();

  const store = await openStore({
    url: config.postgresUrl, directUrl: config.postgresDirectUrl, caFile: config.postgresCaFile, name: 'probeyard-api',
    onError: (error) => log.warn({ err: error }, 'postgres'),
  });
  const waiting = makeWaiting({ look: async (ids) => (await store.endsFor(ids)).map(endOf), log });
  const bus = await connectBus({
    url: config.natsUrl, caFile: config.natsCaFile, nkeyFile: config.natsNkeyFile, name: `api/${config.podName}`, inboxPrefix: INBOX.api,
    onStatus: (status) => {
      log.info({ status }, 'nats');
      // What was told while it was away is lost.
      if (status === 'connected') void waiting.lookNow();
    },
    onError: (error) => log.warn({ err: error }, 'nats'),
  });
  bus.subscribe<Ended>(SUBJECT.ended(config.replica), ({ message }) => waiting.ended(message));

  const kube = await makeClient({ namespace: config.namespace });
  let catalog: Catalog | undefined;
  const changed = (): void => { catalog = undefined; };
  const tools = startReflector({ client: kube, type: PROBE_TOOLS, namespace: config.namespace, handlers: { add: changed, update: changed, delete: changed } });

  const drain = makeDrain();
  const metrics = makeMetrics(waiting.size, { defaults: true });
  const tokens = makeTokenCache({ find: store.findToken, listening: () => listener.listening(), onLookup: metrics.tokenLookup });
  const listener = store.listenTokens(tokens.flush);

  const deps: Deps = {
    store, kube, tokens, waiting, drain, metrics, log,
    tellEarly: (early) => {
      try {
        bus.publish(SUBJECT.early, early);
      } catch (error) {
        log.debug({ err: error }, 'the leader was not told early');
      }
    },
    catalog: () => (catalog ??= catalogOf(tools.list())),
    sealKeys: watchSealKeys(config.sealPublicFile, (error) => log.error({ err: error }, 'the seal keys cannot be read again')),
    settings: { ...DEFAULTS, namespace: config.namespace, replica: config.replica, allowSources: config.allowSources, denyCidrs: config.denyCidrs },
  };
  const checks: Checks = {
    postgres: async () => ((await store.healthy()) ? null : 'does not answer'),
    nats: () => (bus.connected() ? null : 'not connected'),
    kubernetes: reachable(async () => { await kube.list(PROBE_TOOLS, { limit: 1, resourceVersion: '0', deadlineMs: 1_000 }); }),
    tools: () => (tools.hasSynced() ? null : 'the tool versions are not read yet'),
  };

  const newId = () => store.newRequest().id;
  const server = await listen(makeApp(deps, checks).callback(), config.listen, newId);
  const metricsServer = await listen(makeMetricsApp(metrics, checks, drain).callback(), config.metricsListen, newId);
  log.info({ port: server.port }, 'listening');

  const signal = await stopping.serving();
  log.info({ signal, waiting: waiting.size() }, 'draining');
  drain.start();
  await pause(LINGER_MS);
  const cut = setTimeout(drain.end, config.drainMs);
  await server.close(config.drainMs + LAST_WORDS_MS);
  clearTimeout(cut);
  waiting.stop();
  await Promise.allSettled([metricsServer.close(1_000), tools.stop(), bus.drain()]);
  await Promise.allSettled([store.close(), kube.close()]);
  log.info('drained');
}

/** The first process of a container ignores a signal that it has no handler for: one that comes while we start ends us here. */
function signals(): { serving(): Promise<string> } {
  let stop = (_signal: string): void => process.exit(0);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop(signal));
  return { serving: () => new Promise((resolve) => { stop = resolve; }) };
}

/** Readiness is asked for often, by several probes: one look every five seconds will do. */
function reachable(look: () => Promise<void>): () => Promise<string | null> {
  let at = -Infinity;
  let last: Promise<string | null> = Promise.resolve(null);
  return () => {
    if (performance.now() - at > 5_000) {
      at = performance.now();
      last = look().then(() => null, (error: { code?: string }) => `not reachable: ${error.code ?? 'failed'}`);
    }
    return last;
  };
}
