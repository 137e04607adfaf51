/** /healthz, /readyz and /metrics of the controller: the truth, with its reasons. */
import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';

export interface Check {
  name: string;
  problem(): string | undefined | Promise<string | undefined>;
}

async function answer(checks: readonly Check[]): Promise<{ status: number; body: string }> {
  const results = await Promise.all(
    checks.map(async ({ name, problem }) => [name, (await problem()) ?? 'ok'] as const),
  );
  const ok = results.every(([, result]) => result === 'ok');
  return { status: ok ? 200 : 503, body: JSON.stringify({ ok, checks: Object.fromEntries(results) }) };
}

export function serveStatus(
  listen: { host: string | undefined; port: number },
  { registry, live, ready }: { registry: Registry; live: readonly Check[]; ready: readonly Check[] },
): Promise<Server> {
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0];
    const send = (status: number, type: string, body: string) =>
      response.writeHead(status, { 'content-type': type }).end(body);
    if (request.method !== 'GET' && request.method !== 'HEAD') send(405, 'application/json', '{"error":"only GET"}');
    else if (path === '/metrics') void registry.metrics().then((text) => send(200, registry.contentType, text));
    else if (path === '/healthz') void answer(live).then(({ status, body }) => send(status, 'application/json', body));
    else if (path === '/readyz') void answer(ready).then(({ status, body }) => send(status, 'application/json', body));
    else send(404, 'application/json', '{"error":"there is /healthz, /readyz and /metrics"}');
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen.port, listen.host, () => resolve(server));
  });
}
