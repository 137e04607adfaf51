/** The role `api`: its connections, its servers, and its shutdown. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { uuidv7 } from '../../platform/store/uuid.ts';
import { ApiError } from './errors.ts';
import { errorBody } from './http/middleware.ts';
import { isManagement } from './http/endpoint_access.ts';
import type { AccountSettings, MailSettings } from '../accounts/settings.ts';
import { type Config, limitsOf, loadConfig, postgresOf } from '../../base/config.ts';
import { boxKey } from '../../platform/seal/box.ts';
import { watchKeys, watchSealKeys } from '../../platform/seal/watch_keys.ts';
import { connectBus, type Bus } from '../../platform/bus/connect.ts';
import { INBOX } from '../../platform/bus/permissions.ts';
import { clientOfPod } from '../../platform/kube/client.ts';
import { makeLog, type Logger } from '../../base/log.ts';
import { serveMetrics } from '../../platform/metrics/gate.ts';
import { openStore } from '../../platform/store/store.ts';
import { foldersOf } from './pages/page_routes.ts';
import type { Uploads } from './deps.ts';
import { listen } from './http/http_server.ts';
import { serveLiveness } from '../../base/health.ts';
import { signals } from '../../base/signals.ts';
import { wayOut } from '../../source/http/way_out.ts';
import { serveUploads } from '../../source/upload/serve.ts';
import { openSpool } from '../../source/upload/spool.ts';
import type { Metrics } from './api_metrics.ts';
import { makeApp } from './server.ts';
import { wire } from './wire.ts';

// Answers of a replica that does not yet have its connections: alive, not ready, and 503 for callers.

/** By this process' clock: the clock of the record is not known yet. */
const provisionalId = (): string => uuidv7(Date.now());

const HEALTH: Readonly<Record<string, [status: number, body: object]>> = {
  '/healthz': [200, { ok: true }],
  '/readyz': [503, { ready: false, reasons: { start: 'this replica is starting' } }],
};

function answerWhileStarting(request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '').split('?')[0] ?? '';
  const id = provisionalId();
  const error = new ApiError('unavailable');
  const health = HEALTH[path];
  const [status, body] = health ?? [error.status, isManagement(path) ? errorBody(error, id) : { error: error.message }];
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Request-Id': id,
    ...(health ? {} : error.headers),
    // The next request of this connection should reach the started application.
    Connection: 'close',
  });
  response.end(request.method === 'HEAD' ? undefined : JSON.stringify(body));
}

const readSecret = (file: string): string => (file === '' ? '' : readFileSync(file, 'utf8').trim());

const mailSettings = (config: Config<'api'>): MailSettings | null =>
  config.smtpHost === ''
    ? null
    : {
        host: config.smtpHost,
        port: config.smtpPort,
        tls: config.smtpTls,
        from: config.smtpFrom || `probeyard@${config.smtpHost}`,
        user: readSecret(config.smtpUserFile),
        password: readSecret(config.smtpPasswordFile),
        ca: readSecret(config.smtpCaFile),
      };

const accountSettings = (config: Config<'api'>, onError: (error: unknown) => void): AccountSettings => ({
  ...config,
  boxKeys: watchKeys(config.boxFile, boxKey, onError),
  mail: mailSettings(config),
  issuerSecret: (name) => readSecret(join(config.issuersFolder, name)),
});

/** The replica continues to accept requests until load balancers have noticed that it is not ready. */
const LINGER_MS = 3_000;
/** Time for the responses that tell where to read a pending result. */
const LAST_WORDS_MS = 5_000;

export async function run(): Promise<void> {
  const config = loadConfig('api');
  const log = makeLog('api', config);
  const stopping = signals();
  // Answers from the start: the kubelet must not restart a process that waits for Postgres.
  let handle: RequestListener = answerWhileStarting;
  const liveness = await serveLiveness(config.livenessListen);
  const metrics: { counted?: Metrics } = {};
  const server = await listen((request, response) => void handle(request, response), config.listen, provisionalId, {
    onClosed: () => metrics.counted?.slowSocketClosed(),
    connections: {
      most: config.maxConnections,
      // Behind proxies all callers have their addresses.
      byAddress: config.trustedHops === 0,
      onRefused: (by) => metrics.counted?.connectionRefused(by),
    },
  });
  log.info({ port: server.port }, 'listening');

  const store = await openStore({
    ...postgresOf(config),
    name: 'probeyard-api',
    defaultLimits: limitsOf(config),
    waitForServer: true,
    onError: (error) => log.warn({ err: error }, 'postgres'),
  });
  let reconnected = (): void => {};
  const bus = await connect(config, log, () => reconnected());
  const kube = clientOfPod(config);
  const uploads = await takeUploads(config);
  const wired = wire({ store, bus, kube, log, processMetrics: true, ...wiringOf(config, log, uploads?.offered) });
  const { deps, checks } = wired;
  reconnected = () => void deps.waiting.lookNow();

  metrics.counted = deps.metrics;
  handle = makeApp(deps, checks).callback();
  const metricsServer = await serveMetrics(config, { ...checks, registry: deps.metrics.registry });
  log.info('started');

  const signal = await stopping.serving();
  log.info({ signal, waiting: deps.waiting.size() }, 'draining');
  deps.drain.start();
  await pause(LINGER_MS);
  const cut = setTimeout(() => deps.drain.end(), config.drainMs);
  const until = performance.now() + config.drainMs;
  await server.close(config.drainMs + LAST_WORDS_MS);
  clearTimeout(cut);
  // Requests without a waiting caller still read theirs.
  await uploads?.released(until);
  await wired.stop();
  await uploads?.close();
  await liveness.close();
  await metricsServer.close();
  await bus.drain().catch(() => {});
  await Promise.allSettled([store.close(), kube.close()]);
  log.info('drained');
}

const connect = (config: Config<'api'>, log: Logger, onConnected: () => void): Promise<Bus> =>
  connectBus({
    url: config.natsUrl,
    caFile: config.natsCaFile,
    credentialsFile: config.natsNkeyFile,
    name: `api/${config.podName}`,
    inboxPrefix: INBOX.api,
    onStatus: (status) => {
      log.info({ status }, 'NATS connection status changed');
      // Notices of ends during the interruption are lost.
      if (status === 'connected') onConnected();
    },
    onError: (error) => log.warn({ err: error }, 'NATS error'),
  });

const MCP_ANSWER_MS = 45_000;
const GRACE_MS = 60_000;
const CACHE_SEEN_MS = 5_000;

const eventsServerOf = ({
  eventsNatsUrl: url,
  eventsNatsSubject: subject,
  eventsNatsFolder: folder,
  podName,
}: Config<'api'>) => (url === '' ? undefined : { url, subject, folder, name: `api/${podName}` });

const wiringOf = (config: Config<'api'>, log: Logger, uploads: Uploads | undefined) => ({
  uploads,
  sealKeys: watchSealKeys(config.sealPublicFile, (error) => log.error({ err: error }, 'cannot reload the seal keys')),
  accounts: accountSettings(config, (error) => log.error({ err: error }, 'cannot reload the account keys')),
  webhooks: wayOut(config),
  tracing: {
    endpoint: config.tracingEndpoint,
    share: config.tracingPercent / 100,
    service: 'probeyard-api',
    instance: config.podName,
  },
  settings: {
    ...config,
    ...foldersOf(config),
    samplesUrl: config.samplesUrl || null,
    eventsServer: eventsServerOf(config),
    mcpAnswerMs: config.mcp ? MCP_ANSWER_MS : null,
    cacheSeenMs: CACHE_SEEN_MS,
    graceMs: GRACE_MS,
  },
});

/** The port that runners read files from, on the address that they reach this pod by. */
async function takeUploads({
  uploadFolder: folder,
  uploadListen,
  uploadMaxBytes: maxBytes,
  uploadRoomBytes,
  podIp,
}: Config<'api'>) {
  if (folder === '' || isIP(podIp) === 0) return undefined;
  const spool = await openSpool({ folder, maxBytes: uploadRoomBytes });
  const server = await serveUploads(spool, uploadListen);
  const offered: Uploads = { spool, maxBytes, host: podIp, port: server.port };
  return {
    offered,
    async released(until: number): Promise<void> {
      while (spool.figures().files > 0 && performance.now() < until) await pause(100);
    },
    close: () => Promise.allSettled([server.close(), spool.close()]),
  };
}
