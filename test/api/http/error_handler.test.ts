/** How each kind of error is answered, over HTTP, through Koa as the API uses it. */
import assert from 'node:assert/strict';
import Koa from 'koa';
import { pino } from 'pino';
import type { State } from '../../../src/service/api/http/request_context.ts';
import { errorHandler } from '../../../src/service/api/http/middleware.ts';
import { ApiError } from '../../../src/service/api/errors.ts';
import { listen, type HttpServer } from '../../../src/service/api/http/http_server.ts';
import { BusError } from '../../../src/platform/bus/errors.ts';
import { KubeError } from '../../../src/platform/kube/errors.ts';
import { StoreError } from '../../../src/platform/store/errors.ts';

const GATEWAY = '/v1/probe/file';
const MANAGEMENT = '/frontend/api/v1/user/current';
const AWAY = 'the service is not available; try again later';

describe('error handler', () => {
  let server: HttpServer;
  let thrown: unknown;
  const failures: string[] = [];
  const lines: { level: number; detail?: string }[] = [];
  before(async () => {
    const app = new Koa<State>();
    app.use((ctx, next) => {
      ctx.state.requestId = 'the-id';
      return next();
    });
    app.use(
      errorHandler(
        pino(
          { level: 'trace' },
          {
            write: (line: string) => {
              lines.push(JSON.parse(line));
            },
          },
        ),
        { failed: (reason) => failures.push(reason) },
      ),
    );
    app.use((ctx) => {
      if (typeof thrown === 'function') thrown(ctx);
      throw thrown;
    });
    server = await listen(app.callback(), { host: '127.0.0.1', port: 0 }, () => 'the-id');
  });
  after(() => server.close(1_000));
  beforeEach(() => {
    lines.length = 0;
    failures.length = 0;
  });

  const ask = async (path: string, error: unknown) => {
    thrown = error;
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() };
  };

  const DEPENDENCY = { StoreError: 'postgres', BusError: 'nats', KubeError: 'kubernetes' } as const;
  for (const error of [
    new StoreError('unreachable', 'open_request: Postgres cannot be reached (10.1.2.3)'),
    new StoreError('timeout', 'read_body: Query read timeout'),
    new BusError('disconnected', 'py.create: CONNECTION_CLOSED'),
    new BusError('no-responders', 'x'),
    new BusError('timeout', 'x'),
    new KubeError('unreachable', 'GET /apis: ECONNREFUSED'),
    new KubeError('timeout', 'x'),
    new KubeError('unavailable', 'x', { status: 503 }),
    new KubeError('too-many-requests', 'x', { status: 429 }),
  ]) {
    it(`${error.name} ${error.code}: 503 with Retry-After, no internals, and a warning with the cause`, async () => {
      assert.deepEqual(await ask(GATEWAY, error), { status: 503, retryAfter: '5', body: { error: AWAY } });
      assert.deepEqual(await ask(MANAGEMENT, error), {
        status: 503,
        retryAfter: '5',
        body: { code: 50300, context: {}, error: AWAY, status: 'Service Unavailable' },
      });
      assert.deepEqual(
        lines.map(({ level, detail }) => [level, detail]),
        [
          [40, error.message],
          [40, error.message],
        ],
      );
      const dependency = DEPENDENCY[error.name as keyof typeof DEPENDENCY];
      assert.deepEqual(failures, [dependency, dependency]);
    });
  }

  for (const error of [
    new StoreError('query-failed', 'secret'),
    new KubeError('forbidden', 'secret', { status: 403 }),
    new BusError('bad-message', 'secret'),
    new TypeError('secret'),
  ]) {
    const title = `${error.name} ${'code' in error ? String(error.code) : ''}`;
    it(`${title}: 500 with the request id, and an error in the log`, async () => {
      assert.deepEqual(await ask(GATEWAY, error), {
        status: 500,
        retryAfter: null,
        body: { error: 'internal error' },
      });
      const { body } = await ask(MANAGEMENT, error);
      assert.deepEqual(body, {
        code: 50000,
        context: { 'request-id': 'the-id' },
        error: 'internal error',
        status: 'Internal Server Error',
      });
      assert.deepEqual(
        lines.map(({ level }) => level),
        [50, 50],
      );
      assert.deepEqual(failures, ['internal', 'internal']);
    });
  }

  it('unavailable: 503 with its own text and Retry-After', async () => {
    assert.deepEqual(await ask(GATEWAY, new ApiError('unavailable', { text: 'full', retryAfterS: 7 })), {
      status: 503,
      retryAfter: '7',
      body: { error: 'full' },
    });
  });

  for (const [status, message, text] of [
    [400, 'Failed to decode param', 'Failed to decode param'],
    [413, 'too large', 'too large'],
    [415, '', 'Unsupported Media Type'],
  ] as const) {
    it(`an error of Koa with status ${status} keeps it, and is not logged as an internal error`, async () => {
      const error = (ctx: Koa.Context) => ctx.throw(status, ...(message === '' ? [] : [message]));
      assert.deepEqual(await ask(GATEWAY, error), { status, retryAfter: null, body: { error: text } });
      const { body } = await ask(MANAGEMENT, error);
      assert.equal((body as { code: number }).code, status * 100);
      assert.deepEqual(
        lines.map(({ level }) => level),
        [20, 20],
      );
      assert.deepEqual(failures, []);
    });
  }
  it('a private error with a 4xx status shows only the phrase of its status', async () => {
    assert.deepEqual(await ask(GATEWAY, (ctx: Koa.Context) => ctx.throw(403, 'secret', { expose: false })), {
      status: 403,
      retryAfter: null,
      body: { error: 'forbidden' },
    });
  });
  it('an error with a 5xx or invalid status is answered with 500', async () => {
    for (const status of [502, 200, 'x'])
      assert.equal((await ask(GATEWAY, Object.assign(new Error('secret'), { status, expose: true }))).status, 500);
  });
});
