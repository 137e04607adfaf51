/** Assembles the API: every endpoint is a list of named middlewares. */
import Router from '@koa/router';
import Koa from 'koa';
import { consoleRoutes } from './console/endpoint.ts';
import { accessLog } from './http/access_log.ts';
import type { State } from './http/context.ts';
import type { Deps } from './deps.ts';
import { DOCS } from './openapi/page/endpoint.ts';
import { errorHandler } from './http/error_handler.ts';
import type { Checks } from '../health.ts';
import { healthz, readyz } from './health.ts';
import { mount } from './http/endpoint.ts';
import { ENDPOINTS } from './endpoints.ts';
import { openapi } from './openapi/endpoint.ts';
import { OPERATIONS } from './openapi/operations.ts';
import { requestId } from './http/middleware.ts';

export function makeApp(deps: Deps, checks: Checks): Koa<State> {
  const app = new Koa<State>();
  // Sockets that break while a response is written; all other errors end in the error handler.
  app.on('error', (error: unknown) => deps.log.debug({ err: error }, 'cannot write a response'));
  app.use(requestId(() => deps.store.newRequest().id));
  app.use(accessLog(deps.log, deps.metrics));
  app.use(errorHandler(deps.log));
  app.use(async function closeWhileDraining(ctx, next) {
    try {
      await next();
    } finally {
      // While this replica drains, the next request of this connection should go to another one.
      if (deps.drain.started) ctx.set('Connection', 'close');
    }
  });

  const router = new Router<State>({ strict: false });
  router.all('/healthz', ...healthz);
  router.all('/readyz', ...readyz(checks));
  const description = openapi(OPERATIONS);
  router.all('/openapi.json', ...description);
  router.all('/frontend/api/v1/openapi.json', ...description);
  for (const [path, handlers] of Object.entries(DOCS)) router.all(path, ...handlers);
  if (deps.settings.consoleFolder !== null)
    for (const [path, handlers] of Object.entries(consoleRoutes(deps.settings.consoleFolder, deps.log)))
      router.all(path, ...handlers);
  mount(router, deps, ENDPOINTS);
  app.use(router.routes());
  return app;
}
