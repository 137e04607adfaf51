import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Guard, GuardOptions } from './address/guard.ts';
import { hostText, resolveReference, type S3Settings } from './address/target.ts';
import { NEAR_MS } from './file/distance.ts';
import type { PaceOptions } from './file/pace.ts';
import { PageMemory } from './file/page_memory.ts';
import { type ConnectOptions, openSocket, trustedContext } from './http/connect.ts';
import { type Egress, egressRoute } from './http/egress.ts';
import { Pool } from './http/pool.ts';
import { Job, type Login } from './job.ts';
import type { JobOptions, SourceLog } from './job_options.ts';
import { makeRewriter, type RewriterOptions } from './playlist/rewriter.ts';
import { startRtspRelay } from './protocols/rtsp/relay.ts';
import { RECORDING_BYTES, RECORDING_MS } from './protocols/stream/recording.ts';
import { refuse, serveTool, serveUrl } from './serve.ts';

export type { JobOptions, JobStats, Prepared, Failure, SourceLog } from './job_options.ts';

/** Options for the whole installation. */
export type ProxyOptions = GuardOptions & {
  /** Certificates (PEM) to trust in addition to Node's own list and NODE_EXTRA_CA_CERTS. */
  ca?: string;
  egress?: Egress;
  /** A listening socket on 127.0.0.1 that this process was started with; by default a new one is opened. */
  listenFd?: number;
  s3?: S3Settings;
  log?: SourceLog;
  /** Page cache of one job, in bytes. */
  cacheBytes?: number;
  connectTimeoutMs?: number;
  headersTimeoutMs?: number;
  /** Maximum silence within a body. */
  idleTimeoutMs?: number;
  /** An origin that answers within this time is not read ahead. */
  nearMs?: number;
  /** Maximum number of connections to one host. */
  maxPerHost?: number;
  /** How long a stream may be silent at its beginning. */
  offlineMs?: number;
  rewriter?: RewriterOptions;
  /** Minimum rate of a source while a tool waits for it; no minimum if absent. */
  pace?: PaceOptions;
  /** How much of a stream is recorded for a tool that can only read files. */
  recording?: { ms: number; bytes: number };
};

const MOST_POOLS = 16;
/** How long an idle connection to an origin is kept. */
const KEEP_ALIVE_MS = 15_000;

export type SourceProxy = Awaited<ReturnType<typeof startProxy>>;

/** Starts the proxy: one per agent, on 127.0.0.1. A job is closed by its user. */
export async function startProxy(options: ProxyOptions = {}) {
  const jobs = new Set<Job>();
  const logins = new Map<string, Login>();
  const pools = new Map<string, Pool>();
  const memory = new PageMemory();
  const context = trustedContext(options.ca);
  // Created at start, so that the first job does not wait for it.
  context();
  const egress = options.egress === undefined ? undefined : egressRoute(options.egress, context);
  const ownHosts = options.s3?.endpoint === undefined ? [] : [new URL(options.s3.endpoint).hostname];
  const connecting = (guard: Guard, verify: boolean, alpn?: readonly string[]): ConnectOptions => ({
    guard,
    verify,
    context,
    egress,
    alpn,
    timeoutMs: options.connectTimeoutMs ?? 10_000,
  });

  // Connections are shared only among jobs with equivalent guards, and with none by a job that has credentials: a
  // server may take what a connection has said before for what it says later.
  const pool = (guard: Guard, verify: boolean, owner: string | undefined): Pool => {
    const key = `${owner ?? ''} ${verify} ${guard.key}`;
    const known = pools.get(key);
    if (known !== undefined) return known;
    const made = new Pool({
      ...connecting(guard, verify, ['http/1.1']),
      maxPerHost: options.maxPerHost ?? 6,
      idleMs: KEEP_ALIVE_MS,
      headersTimeoutMs: options.headersTimeoutMs ?? 20_000,
      nearMs: options.nearMs ?? NEAR_MS,
    });
    pools.set(key, made);
    return made;
  };

  const rewriter = makeRewriter(options.rewriter);

  const closePools = (owner?: string): void => {
    for (const [key, made] of pools) {
      if (owner !== undefined && !key.startsWith(`${owner} `)) continue;
      made.close();
      pools.delete(key);
    }
  };

  const forget = (job: Job): void => {
    jobs.delete(job);
    for (const secret of job.secrets) logins.delete(secret);
    closePools(job.id);
    if (jobs.size === 0 && pools.size > MOST_POOLS) closePools();
  };

  const server = createServer({ keepAliveTimeout: 5000, maxHeaderSize: 32768 }, (request, response) => {
    void handle(request, response, logins, port).catch(() => refuse(response, 500, 'internal error'));
  });
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    const login = loginOf(request.headers['proxy-authorization'], logins);
    if (login === undefined) answer(socket, 407, 'Proxy Authentication Required', CHALLENGE);
    else refuseTunnel(login, request.url ?? '', socket);
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  server.maxConnections = 512;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    if (options.listenFd) server.listen({ fd: options.listenFd }, resolve);
    else server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const rtsp = await startRtspRelay((secret) => logins.get(secret));

  return {
    port,
    open(given: JobOptions): Job {
      const job = new Job(given, {
        admit: (secret, login) => void logins.set(secret, login),
        closed: forget,
        port,
        rtspPort: rtsp.port,
        pool,
        log: options.log,
        guard: { ...options, ownHosts },
        s3: options.s3 ?? {},
        cacheBytes: options.cacheBytes ?? 32 << 20,
        memory,
        idleMs: options.idleTimeoutMs ?? 20_000,
        maxFetches: options.maxPerHost ?? 6,
        nearMs: options.nearMs ?? NEAR_MS,
        dial: (guard, verify, host, at, { secure, address }) =>
          openSocket(host, at, secure, { ...connecting(guard, verify), address }),
        throughEgress: (host) => egress?.applies(host) ?? false,
        rewriter,
        pace: options.pace ?? { minBytes: 0 },
        offlineMs: options.offlineMs ?? 10_000,
        recording: options.recording ?? { ms: RECORDING_MS, bytes: RECORDING_BYTES },
      });
      jobs.add(job);
      return job;
    },
    async close(): Promise<void> {
      for (const job of jobs) job.close();
      jobs.clear();
      logins.clear();
      closePools();
      rewriter.close();
      memory.clear();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await Promise.all([closed, rtsp.close()]);
    },
  };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  logins: ReadonlyMap<string, Login>,
  port: number,
): Promise<void> {
  response.on('error', () => {});
  let path = request.url ?? '/';
  const own = `http://127.0.0.1:${port}/`;
  if (path.startsWith(own)) path = path.slice(own.length - 1);
  if (!path.startsWith('/')) {
    const login = loginOf(request.headers['proxy-authorization'], logins);
    if (login === undefined) refuse(response, 407, 'proxy authentication required', CHALLENGE);
    else await serveAbsolute(login, request, response);
    return;
  }
  const match = /^\/([0-9a-f]{32})\/([A-Za-z0-9_-]{1,64})\/(.*)$/s.exec(path);
  const login = match === null ? undefined : logins.get(match[1]!);
  if (match === null || login === undefined || login.tool !== match[2]) {
    refuse(response, 404, 'no such address');
    return;
  }
  await serveTool({ job: login.job, tool: login.tool, request, response }, match[3]!);
}

// The HTTP proxy that tools use through http_proxy, for addresses that were not rewritten. It makes the same checks
// and never sends a credential.

/** The job and tool identified by the secret in the proxy's user name. */
function loginOf(header: string | undefined, logins: ReadonlyMap<string, Login>): Login | undefined {
  const encoded = /^Basic\s+([A-Za-z0-9+/=_-]+)$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const [secret = '', tool = ''] = Buffer.from(encoded, 'base64').toString('latin1').split(':');
  const login = logins.get(secret);
  return login?.tool === tool ? login : undefined;
}

const CHALLENGE = { 'proxy-authenticate': 'Basic realm="source"' };

/** `GET http://host/path` */
async function serveAbsolute({ job, tool }: Login, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = resolveReference('http://invalid/', request.url ?? '');
  if (url === undefined || !url.startsWith('http:')) refuse(response, 400, 'not an http address');
  else if (request.method !== 'GET' && request.method !== 'HEAD')
    refuse(response, 405, 'only GET and HEAD', { allow: 'GET, HEAD' });
  else await serveUrl({ job, tool, request, response }, url);
}

/**
 * `CONNECT host:443`: refused for every host, because a compromised tool could send anything anywhere through a tunnel.
 * No tool needs it: addresses in playlists are rewritten to this proxy, which speaks TLS itself.
 */
function refuseTunnel({ job }: Login, target: string, socket: Duplex): void {
  const [, text = '', port] = /^(\[[0-9a-f:.]+\]|[^:/?#@[\]\s]{1,255}):(\d{1,5})$/i.exec(target) ?? [];
  const host = hostOf(text);
  if (host === undefined) {
    answer(socket, 400, 'Bad Request');
    return;
  }
  job.refuse(`https://${hostText(host)}:${port}/`);
  answer(socket, 403, 'Forbidden');
}

function hostOf(text: string): string | undefined {
  try {
    return new URL(`http://${text}/`).hostname.replace(/^\[|\]$/g, '');
  } catch {
    return undefined;
  }
}

function answer(socket: Duplex, status: number, reason: string, headers: Record<string, string> = {}): void {
  const lines = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  socket.on('error', () => {});
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines}content-length: 0\r\nconnection: close\r\n\r\n`);
}
