/** Assembles the API: every endpoint is a list of named middlewares. */
import Router from '@koa/router';
import Koa from 'koa';
import { clientRoutes, consoleRoutes, siteRoutes } from './pages/page_routes.ts';
import type { State } from './http/request_context.ts';
import type { Deps } from './deps.ts';
import { healthz, readyz, type ReadyChecks } from './health_routes.ts';
import { mount } from './http/endpoint.ts';
import { mcpEndpoint } from './mcp/mcp_endpoint.ts';
import { makeInside } from './mcp/calls.ts';
import { ENDPOINTS, OPERATIONS } from './endpoints.ts';
import { openapi } from './openapi/openapi_document.ts';
import { accessLog, errorHandler, requestId, strictTransport } from './http/middleware.ts';
import { acceptAccessTokens } from './sso/mcp_access.ts';

const DESCRIPTION = openapi(OPERATIONS);

export function makeApp(deps: Deps, checks: ReadyChecks): Koa<State> {
  const app = new Koa<State>();
  // Sockets that break while a response is written; all other errors end in the error handler.
  app.on('error', (error: unknown) => deps.log.debug({ err: error }, 'cannot write a response'));
  app.use(requestId(() => deps.store.newRequest().id));
  app.use(accessLog(deps.log, deps.metrics));
  app.use(strictTransport(deps.accounts.settings.publicUrl));
  app.use(errorHandler(deps.log, deps.metrics));
  app.use(async function closeWhileDraining(ctx, next) {
    try {
      await next();
    } finally {
      // While this replica drains, the next request of this connection should go to another one.
      if (deps.drain.started) ctx.set('Connection', 'close');
    }
  });

  for (const accept of acceptAccessTokens(deps)) app.use(accept);

  const router = new Router<State>({ strict: false });
  router.all('/healthz', ...healthz);
  router.all('/readyz', ...readyz(checks));
  router.all('/openapi.json', ...DESCRIPTION);
  router.all('/frontend/api/v1/openapi.json', ...DESCRIPTION);
  const { clientFolder, consoleFolder, siteFolder } = deps.settings;
  const pages = {
    ...(siteFolder === null ? {} : siteRoutes(siteFolder, deps.log)),
    ...(clientFolder === null ? {} : clientRoutes(clientFolder, deps.log)),
    ...(consoleFolder === null ? {} : consoleRoutes(consoleFolder, deps.log)),
  };
  for (const [path, handlers] of Object.entries(pages)) router.all(path, ...handlers);
  const inside = makeInside();
  const mcp = deps.settings.mcpAnswerMs === null ? [] : [mcpEndpoint(inside, () => OPERATIONS, deps.log)];
  mount(router, deps, [...ENDPOINTS, ...mcp]);
  app.use(router.routes());
  inside.handler = app.callback();
  return app;
}
