/** `/metrics` on a port of its own, which no Ingress leads to. */
import Router from '@koa/router';
import Koa from 'koa';
import { healthz, readyz, type Checks } from './health.ts';
import type { Drain } from './http/drain.ts';
import type { Metrics } from './metrics.ts';

export function makeMetricsApp(metrics: Metrics, checks: Checks, drain: Drain): Koa {
  const router = new Router();
  router.get('/metrics', async (ctx) => {
    ctx.type = metrics.registry.contentType;
    ctx.body = await metrics.registry.metrics();
  });
  router.get('/healthz', ...(healthz as Koa.Middleware[]));
  router.get('/readyz', ...(readyz(checks, drain) as Koa.Middleware[]));
  const app = new Koa();
  app.use(router.routes());
  return app;
}
