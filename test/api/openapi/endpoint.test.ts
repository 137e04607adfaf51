import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import type { Logger } from '../../../src/base/log.ts';
import type { State } from '../../../src/service/api/http/request_context.ts';
import { errorHandler } from '../../../src/service/api/http/middleware.ts';
import { openapi } from '../../../src/service/api/openapi/openapi_document.ts';
import { OPERATIONS } from '../../../src/service/api/endpoints.ts';

describe('endpoint of the OpenAPI description', () => {
  let server: Server;
  let url: string;
  before(async () => {
    const app = new Koa<State>();
    const log = { error: () => {}, debug: () => {} } as unknown as Logger;
    app.use(errorHandler(log, { failed: () => {} }));
    for (const step of openapi(OPERATIONS)) app.use(step);
    server = createServer(app.callback());
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/openapi.json`;
  });
  after(() => {
    server.close();
  });

  it('serves it without authentication, and 304 to a caller that has it', async () => {
    const response = await fetch(url);
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/json; charset=utf-8']);
    assert.equal(((await response.json()) as { openapi: string }).openapi, '3.1.1');
    const again = await fetch(url, { headers: { 'If-None-Match': response.headers.get('etag')! } });
    assert.deepEqual([again.status, await again.text()], [304, '']);
    assert.equal((await fetch(url, { method: 'HEAD' })).status, 200);
  });

  it('allows no other methods', async () => {
    const response = await fetch(url, { method: 'POST' });
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD']);
  });
});
