/** The API's pages alone: nothing that needs a database, a cluster or NATS is called. */
import { pino } from 'pino';
import type { Deps, Settings } from '../../src/service/api/deps.ts';
import { DEFAULTS } from './default_settings.ts';
import { makeDrain } from '../../src/service/api/health_routes.ts';
import { listen, type HttpServer } from '../../src/service/api/http/http_server.ts';
import { makeMetrics } from '../../src/service/api/api_metrics.ts';
import { makeApp } from '../../src/service/api/server.ts';

export async function servePages(change: Partial<Settings>): Promise<HttpServer> {
  const deps: Partial<Deps> = {
    metrics: makeMetrics(() => 0),
    drain: makeDrain(),
    log: pino({ level: 'silent' }) as Deps['log'],
    accounts: { ownHosts: [], settings: { trustedHops: 0, publicUrl: '' } } as unknown as Deps['accounts'],
    issuers: new Map(),
    store: { newRequest: () => ({ id: 'an-id' }) } as unknown as Deps['store'],
    settings: { ...DEFAULTS, namespace: 'none', replica: 'test', allowSources: [], denyCidrs: [], ...change },
  };
  const app = makeApp(deps as Deps, { ready: {}, dependencies: {} });
  return listen(app.callback(), { host: '127.0.0.1', port: 0 }, () => 'an-id');
}
