/**
 * `/healthz`: the process responds. `/readyz`: it can do its work, or why not. `/metrics`. The same in every role; the
 * API also serves the first two to its callers.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';
import { within } from './retry.ts';

/** By name; each returns the problem, or null. */
export type Checks = Readonly<Record<string, () => string | null | Promise<string | null>>>;

export interface Health {
  status: 200 | 503;
  body: { ok?: boolean; ready?: boolean; reasons?: Record<string, string> };
}

const CHECK_MS = 1_500;

async function judge(check: Checks[string]): Promise<string | null> {
  try {
    return await within(CHECK_MS, Promise.resolve(check()));
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    // Error messages of clients may contain an address; a code never does.
    return code === 'deadline' ? message : (code ?? 'failed');
  }
}

/** `member`: whether the checks decide that the process is `ok` or `ready`. */
export async function healthOf(member: 'ok' | 'ready', checks: Checks): Promise<Health> {
  const found = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await judge(check)] as const),
  );
  const reasons = Object.fromEntries(found.filter((one): one is [string, string] => one[1] !== null));
  const well = Object.keys(reasons).length === 0;
  return { status: well ? 200 : 503, body: { [member]: well, ...(well ? {} : { reasons }) } };
}

export interface HealthSources {
  /** A failed check makes the kubelet restart the process. */
  live?: Checks;
  ready?: Checks;
  registry?: Registry;
}

/** Serves on a separate port that no Ingress exposes. */
export async function serveHealth(
  listen: { host: string | undefined; port: number },
  { live = {}, ready = {}, registry }: HealthSources,
): Promise<Server> {
  const json = ({ status, body }: { status: number; body: object }) => ({
    status,
    type: 'application/json',
    text: JSON.stringify(body),
  });
  const answer = async (method: string, path: string) => {
    if (method !== 'GET' && method !== 'HEAD') return json({ status: 405, body: { error: 'only GET and HEAD' } });
    if (path === '/healthz') return json(await healthOf('ok', live));
    if (path === '/readyz') return json(await healthOf('ready', ready));
    if (path === '/metrics' && registry)
      return { status: 200, type: registry.contentType, text: await registry.metrics() };
    return json({ status: 404, body: { error: 'not found' } });
  };
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? '';
    void answer(request.method ?? '', path).then(({ status, type, text }) =>
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text),
    );
  });
  server.listen(listen.port, listen.host);
  await once(server, 'listening');
  return server;
}
