/** The role `api`: its connections, its servers, and its shutdown. */
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { connectBus } from '../bus/connect.ts';
import { INBOX } from '../bus/permissions.ts';
import { limitsOf, loadConfig, type Config } from '../config.ts';
import { makeClient } from '../kube/client.ts';
import { makeLog } from '../log.ts';
import { openStore } from '../store/store.ts';
import { accountSettings } from './accounts/settings.ts';
import { CONSOLE_FOLDER } from './console/files.ts';
import { DEFAULTS } from './deps.ts';
import { listen } from './http/http_server.ts';
import { serveHealth } from '../health.ts';
import { watchSealKeys } from '../seal/watch_keys.ts';
import { makeApp } from './server.ts';
import { wire } from './wire.ts';

/** The replica continues to accept requests until load balancers have noticed that it is not ready. */
const LINGER_MS = 3_000;
/** Time for the responses that tell where to read a pending result. */
const LAST_WORDS_MS = 5_000;

export async function run(): Promise<void> {
  const config = loadConfig('api');
  const log = makeLog('api', config);
  const stopping = signals();

  const store = await openStore({
    url: config.postgresUrl,
    directUrl: config.postgresDirectUrl,
    caFile: config.postgresCaFile,
    name: 'probeyard-api',
    defaultLimits: limitsOf(config),
    onError: (error) => log.warn({ err: error }, 'postgres'),
  });
  let reconnected = (): void => {};
  const bus = await connectBus({
    url: config.natsUrl,
    caFile: config.natsCaFile,
    nkeyFile: config.natsNkeyFile,
    name: `api/${config.podName}`,
    inboxPrefix: INBOX.api,
    onStatus: (status) => {
      log.info({ status }, 'NATS connection status changed');
      // Notices of ends during the interruption are lost.
      if (status === 'connected') reconnected();
    },
    onError: (error) => log.warn({ err: error }, 'NATS error'),
  });
  const kube = await makeClient({ namespace: config.namespace });
  const wired = wire({
    store,
    bus,
    kube,
    log,
    processMetrics: true,
    sealKeys: watchSealKeys(config.sealPublicFile, (error) => log.error({ err: error }, 'cannot reload the seal keys')),
    accounts: accountSettings(config, (error) => log.error({ err: error }, 'cannot reload the account keys')),
    webhooks: wayOut(config),
    settings: {
      ...DEFAULTS,
      maxQueued: config.maxQueued,
      memoryBudgetBytes: config.memoryBudgetBytes,
      namespace: config.namespace,
      replica: config.replica,
      allowSources: config.allowSources,
      denyCidrs: config.denyCidrs,
      s3Hosts: config.s3Hosts,
      onlyReturnsRaw: config.onlyReturnsRaw,
      consoleFolder: config.console ? CONSOLE_FOLDER : null,
    },
  });
  const { deps, checks } = wired;
  reconnected = () => void deps.waiting.lookNow();

  const newId = () => store.newRequest().id;
  const server = await listen(makeApp(deps, checks).callback(), config.listen, newId, {
    onClosed: deps.metrics.slowSocketClosed,
  });
  const metricsServer = await serveHealth(config.metricsListen, { ready: checks, registry: deps.metrics.registry });
  log.info({ port: server.port }, 'listening');

  const signal = await stopping.serving();
  log.info({ signal, waiting: deps.waiting.size() }, 'draining');
  deps.drain.start();
  await pause(LINGER_MS);
  const cut = setTimeout(() => deps.drain.end(), config.drainMs);
  await server.close(config.drainMs + LAST_WORDS_MS);
  clearTimeout(cut);
  await wired.stop();
  metricsServer.close();
  metricsServer.closeAllConnections();
  await bus.drain().catch(() => {});
  await Promise.allSettled([store.close(), kube.close()]);
  log.info('drained');
}

/** Webhook receivers are reached like origins. The operator's CA file may appear later than this pod. */
const wayOut = ({
  egressProxy,
  noProxy,
  egressResolve,
  sourceCaFile,
}: Pick<Config<'api'>, 'egressProxy' | 'noProxy' | 'egressResolve' | 'sourceCaFile'>) => ({
  egress: egressProxy === '' ? undefined : { url: egressProxy, noProxy, resolve: egressResolve },
  ca: sourceCaFile !== '' && existsSync(sourceCaFile) ? readFileSync(sourceCaFile, 'utf8') : undefined,
});

/**
 * The first process of a container ignores signals without a handler: one that arrives during start ends the process
 * here.
 */
function signals(): { serving(): Promise<string> } {
  let stop = (_signal: string): void => process.exit(0);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop(signal));
  return {
    serving: () =>
      new Promise((resolve) => {
        stop = resolve;
      }),
  };
}
