/**
 * `/healthz`: the process responds. `/readyz`: it should get work, or why not. `/metrics`. The same in every role; the
 * API also serves the first two to its callers.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Registry } from 'prom-client';
import { within } from './retry.ts';

/** Returns the problem, or null. */
export type Check = () => string | null | Promise<string | null>;
export type Checks = Readonly<Record<string, Check>>;

export interface Health {
  status: 200 | 503;
  body: {
    ok?: boolean;
    ready?: boolean;
    reasons?: Record<string, string>;
    /** Dependencies that do not respond, of a process that is ready nevertheless. */
    degraded?: Record<string, string>;
  };
}

const CHECK_MS = 1_500;
/** Shorter than the time-out of a readiness probe: a silent dependency must not make this process unready. */
const DEPENDENCY_MS = 500;

async function judge(check: Check, withinMs: number): Promise<string | null> {
  try {
    return await within(withinMs, Promise.resolve().then(check));
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    // Error messages of clients may contain an address; a code never does.
    return code === 'deadline' ? message : (code ?? 'failed');
  }
}

async function problems(checks: Checks, withinMs: number): Promise<Record<string, string> | undefined> {
  const found = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await judge(check, withinMs)] as const),
  );
  const failed = found.filter((one): one is [string, string] => one[1] !== null);
  return failed.length === 0 ? undefined : Object.fromEntries(failed);
}

/**
 * `member`: whether the checks decide that the process is `ok` or `ready`. The state of `dependencies` is reported, and
 * decides nothing.
 */
export async function healthOf(member: 'ok' | 'ready', checks: Checks, dependencies: Checks = {}): Promise<Health> {
  const [reasons, degraded] = await Promise.all([problems(checks, CHECK_MS), problems(dependencies, DEPENDENCY_MS)]);
  const body = { [member]: reasons === undefined, ...(reasons && { reasons }), ...(degraded && { degraded }) };
  return { status: reasons ? 503 : 200, body };
}

/** Callers share one check; its result is kept for `freshMs`. Health endpoints may be called very often. */
export function shared(check: Check, freshMs: number): () => Promise<string | null> {
  let last: Promise<string | null> | undefined;
  return () => {
    if (last) return last;
    const asked = Promise.resolve().then(check);
    const forget = (): void => void setTimeout(() => (last = undefined), freshMs).unref();
    asked.then(forget, forget);
    last = asked;
    return asked;
  };
}

export interface Refusal {
  status: 401 | 403 | 503;
  error: string;
}
/** Null: whoever sends this header may read the metrics. */
export type Gate = (authorization: string | undefined) => Promise<Refusal | null>;

export interface HealthSources {
  /** A failed check makes the kubelet restart the process. */
  live?: Checks;
  ready?: Checks;
  /** Reported by `/readyz`, without a say in it. */
  dependencies?: Checks;
  registry?: Registry;
  /** Absent: whoever reaches the port may read the metrics. */
  gate?: Gate | undefined;
  /** With tls.crt and tls.key. Empty: without TLS. */
  tlsFolder?: string;
}

const CERTIFICATE_MS = 60_000;

/** A renewed certificate is in use within a minute. One that cannot be read, or has another key, is not. */
function listenerOf(tlsFolder: string, renewMs: number, handle: RequestListener): Server | TlsServer {
  if (tlsFolder === '') return createServer(handle);
  const files = () => ({
    cert: readFileSync(join(tlsFolder, 'tls.crt')),
    key: readFileSync(join(tlsFolder, 'tls.key')),
  });
  const server = createTlsServer(files(), handle);
  const renew = (): void => {
    try {
      server.setSecureContext(files());
    } catch {
      // The Secret is being written.
    }
  };
  const timer = setInterval(renew, renewMs).unref();
  server.once('close', () => clearInterval(timer));
  return server;
}

/** Serves on a separate port that no Ingress exposes. */
export async function serveHealth(
  listen: { host: string | undefined; port: number },
  { live = {}, ready = {}, dependencies = {}, registry, gate, tlsFolder = '' }: HealthSources,
  { renewMs = CERTIFICATE_MS } = {},
): Promise<Server | TlsServer> {
  const json = ({ status, body }: { status: number; body: object }) => ({
    status,
    type: 'application/json',
    text: JSON.stringify(body),
  });
  const answer = async (method: string, path: string, authorization: string | undefined) => {
    if (method !== 'GET' && method !== 'HEAD') return json({ status: 405, body: { error: 'only GET and HEAD' } });
    if (path === '/healthz') return json(await healthOf('ok', live));
    if (path === '/readyz') return json(await healthOf('ready', ready, dependencies));
    const refused = path === '/metrics' ? await gate?.(authorization) : undefined;
    if (refused) return json({ status: refused.status, body: { error: refused.error } });
    if (path === '/metrics' && registry)
      return { status: 200, type: registry.contentType, text: await registry.metrics() };
    return json({ status: 404, body: { error: 'not found' } });
  };
  const server = listenerOf(tlsFolder, renewMs, (request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    void answer(request.method ?? '', path, request.headers.authorization).then(({ status, type, text }) => {
      const asks = status === 401 ? { 'www-authenticate': 'Bearer' } : {};
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', ...asks }).end(text);
    });
  });
  server.listen(listen.port, listen.host);
  await once(server, 'listening');
  return server;
}

const BEAT_MS = 1_000;
/** Work that holds the event loop for seconds is bad, and a restart makes it worse for everybody else. */
const MOST_SILENT_MS = 60_000;

interface LivenessThread {
  host: string | undefined;
  port: number;
  mostSilentMs: number;
}

/**
 * The program of the thread. It is passed as its text, and can name nothing of this module: loaded from a file in
 * TypeScript the thread takes 36 MB, and 14.5 MB so.
 */
function answerLiveness(): void {
  const { createServer: serve } = process.getBuiltinModule('node:http');
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  const { host, port, mostSilentMs } = workerData as LivenessThread;
  let heard = { at: performance.now(), health: { status: 200, body: { ok: true } } as Health };
  parentPort!.on('message', (health: Health) => (heard = { at: performance.now(), health }));
  const server = serve((_request, response) => {
    const silentMs = performance.now() - heard.at;
    const reasons = { loop: `has stood still for ${Math.round(silentMs / 1_000)} s` };
    const { status, body } = silentMs > mostSilentMs ? { status: 503, body: { ok: false, reasons } } : heard.health;
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(JSON.stringify(body));
  });
  server.listen(port, host, () => {
    const address = server.address();
    parentPort!.postMessage(typeof address === 'object' ? address?.port : undefined);
  });
}

export interface Liveness {
  port: number;
  close(): Promise<void>;
}

/**
 * Answers every path like `/healthz`, in a thread of its own: a loop that is busy is no reason for a restart, and one
 * that has stood still for a minute is. `live` may change.
 */
export async function serveLiveness(
  { host, port }: { host: string | undefined; port: number },
  live: Checks = {},
  { mostSilentMs = MOST_SILENT_MS } = {},
): Promise<Liveness> {
  const workerData: LivenessThread = { host, port, mostSilentMs };
  const thread = new Worker(`(${String(answerLiveness)})()`, { eval: true, workerData });
  const [bound] = (await once(thread, 'message')) as [number];
  const beat = (): void => void healthOf('ok', live).then((health) => thread.postMessage(health));
  const timer = setInterval(beat, BEAT_MS);
  timer.unref();
  thread.unref();
  return {
    port: bound,
    async close() {
      clearInterval(timer);
      await thread.terminate();
    },
  };
}
