/** The log lines and metrics of the API, compared with what its callers received. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { once } from 'node:events';
import { until } from '../until.ts';
import { startApi, tool, type ApiFixture } from './fixture.ts';

const result = { tools: [tool('ffprobe', '{}')], ioUsage: 1 };
const asked = [{ name: 'ffprobe' as const }];

interface Told {
  status: number;
  ms: number;
}
interface Line {
  request_id: string;
  method: string;
  route: string;
  status: number;
  ms: number;
  cut?: boolean;
  code?: string;
  msg: string;
}

describe('access log and metrics', function () {
  this.timeout(120_000);
  let api: ApiFixture;
  /** Responses by request id. */
  const told = new Map<string, Told & { method: string; route: string }>();
  /** Callers that disconnected before a response, by route: they never learned their request's id. */
  let left = 0;

  const call = async (method: string, route: string, path: string, init: RequestInit = {}): Promise<Response> => {
    const began = performance.now();
    const response = await fetch(`${api.url}${path}`, {
      method,
      ...init,
      headers: { Authorization: `Bearer ${api.token}`, ...init.headers },
    });
    await response.arrayBuffer();
    told.set(response.headers.get('x-request-id')!, {
      status: response.status,
      ms: performance.now() - began,
      method,
      route,
    });
    return response;
  };
  const answered = async (host: string, asking: Promise<Response>, status: number): Promise<void> => {
    const job = await api.job(host);
    await api.end(job.metadata.name, { result, asked });
    assert.equal((await asking).status, status);
  };
  const lines = (): Line[] => api.log.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === 'request');

  const FILE = '/v1/probe/file';
  const JSON_BODY = { 'Content-Type': 'application/json' };
  const fields = (host: string) => ({ url: `https://${host}/a`, only: 'ffprobe' });

  before(async () => {
    api = await startApi();
    const form = new FormData();
    for (const [name, value] of Object.entries(fields('multipart.test'))) form.set(name, value);
    await answered('get.test', call('GET', FILE, `${FILE}?${new URLSearchParams(fields('get.test'))}`), 200);
    await answered(
      'json.test',
      call('POST', FILE, FILE, { headers: JSON_BODY, body: JSON.stringify(fields('json.test')) }),
      200,
    );
    await answered('form.test', call('POST', FILE, FILE, { body: new URLSearchParams(fields('form.test')) }), 200);
    await answered('multipart.test', call('POST', FILE, FILE, { body: form }), 200);
    const webhook = await call('POST', FILE, FILE, {
      headers: JSON_BODY,
      body: JSON.stringify({ ...fields('hook.test'), webhook_url: 'https://receiver.test/' }),
    });
    assert.equal(webhook.status, 202);
    // Refusals of each kind, with and without a body.
    for (const [method, route, path, status, init] of [
      ['POST', FILE, FILE, 400, { headers: JSON_BODY, body: '{"url":1}' }],
      ['POST', FILE, FILE, 400, { headers: JSON_BODY, body: 'x'.repeat(1_100_000) }],
      ['POST', FILE, FILE, 401, { headers: { ...JSON_BODY, Authorization: 'Bearer none' }, body: '{}' }],
      ['GET', FILE, `${FILE}?url=https://a.test/&nonsense=1`, 400, {}],
      ['PUT', FILE, FILE, 405, { body: 'x' }],
      ['GET', 'other', '/nowhere', 404, {}],
      [
        'POST',
        '/frontend/api/v1/auth/sign-in',
        '/frontend/api/v1/auth/sign-in',
        401,
        { headers: JSON_BODY, body: '{"email":"nobody@example.test","password":"not this one"}' },
      ],
      ['GET', '/frontend/api/v1/user/current', '/frontend/api/v1/user/current', 200, {}],
      ['GET', '/v1/probe/:id', '/v1/probe/00000000-0000-7000-8000-000000000000', 404, {}],
    ] as const)
      assert.equal((await call(method, route, path, init)).status, status, `${method} ${path}`);
    // Callers that disconnect: after the whole request was sent, and in the middle of a body.
    const caller = new AbortController();
    const leaving = fetch(`${api.url}${FILE}`, {
      method: 'POST',
      signal: caller.signal,
      headers: { ...JSON_BODY, Authorization: `Bearer ${api.token}` },
      body: JSON.stringify(fields('leaves.test')),
    });
    await api.job('leaves.test');
    caller.abort();
    await assert.rejects(leaving);
    const socket = connect(api.server.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `POST ${FILE} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ` +
        `${api.token}\r\nContent-Type: application/json\r\nContent-Length: ` +
        `1000\r\n\r\n{`,
    );
    await until('the request is being read', () => api.server.port > 0 && socket.bytesWritten > 0);
    socket.destroy();
    left = 2;
    await until('every request is logged', () => lines().length >= told.size + left);
  });
  after(() => api.stop());

  it('one line per request, and no other', () => {
    assert.equal(lines().length, told.size + left);
  });

  it('a line has the status, method and route that the caller saw', () => {
    const byId = new Map(lines().map((line) => [line.request_id, line]));
    for (const [id, { status, method, route }] of told) {
      const line = byId.get(id);
      assert.deepEqual(
        line && [line.status, line.method, line.route, line.cut],
        [status, method, route, undefined],
        id,
      );
    }
  });

  it('a line has the cause of a refusal, and no other line has one', () => {
    const byId = new Map(lines().map((line) => [line.request_id, line]));
    const codes = [...told].map(([id, { status }]) => [status, byId.get(id)?.code] as const);
    const expected: Record<number, string | undefined> = { 200: undefined, 202: undefined, 404: 'not-found' };
    assert.deepEqual(
      codes.filter(([status, code]) => (status in expected ? code !== expected[status] : code === undefined)),
      [],
    );
    assert.ok(
      codes.some(([, code]) => code === 'bad-credential'),
      JSON.stringify(codes),
    );
  });

  it('the duration in a line is at most what the caller measured', () => {
    const byId = new Map(lines().map((line) => [line.request_id, line]));
    // The line is written one turn of the event loop after the last byte.
    for (const [id, { ms }] of told)
      assert.ok(byId.get(id)!.ms <= ms + 50, `${byId.get(id)!.ms} ms logged, ${ms} ms measured`);
  });

  it('only disconnected callers are logged as 499', () => {
    const others = lines().filter(({ request_id }) => !told.has(request_id));
    assert.deepEqual(
      others.map(({ status, route }) => [status, route]),
      Array.from({ length: left }, () => [499, FILE]),
    );
  });

  it('the counters agree with the lines, by route and class of status', async () => {
    const expected: Record<string, number> = {};
    for (const { route, status } of lines()) {
      const key = `${route} ${Math.floor(status / 100)}xx`;
      expected[key] = (expected[key] ?? 0) + 1;
    }
    const { values } = await api.wired.deps.metrics.registry.getSingleMetric('probeyard_api_requests_total')!.get();
    assert.deepEqual(
      Object.fromEntries(
        values
          // Each route has a 5xx from its first request on, at 0.
          .filter(({ value }) => value > 0)
          .map(({ labels, value }) => [`${labels['route']} ${labels['status']}`, value]),
      ),
      expected,
    );
    assert.equal(expected[`${FILE} 2xx`], 5);
  });
});
