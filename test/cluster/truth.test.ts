/**
 * Metrics and logs of all parts under a mixed load, compared with the records of the callers, the origin and the
 * receiver.
 */
import assert from 'node:assert/strict';
import { PODS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { NAMESPACE, cluster, eventually, fixtures, type Cluster } from './fixture.ts';
import { serveFile } from '../node/origin.ts';

type Samples = Map<string, number>;

/** `name{labels}` of the text format, with the values of all replicas of a part added up. */
async function metricsOf(c: Cluster, component: 'api' | 'controller'): Promise<Samples> {
  const { items } = await c.kube.listAll(PODS, {
    namespace: NAMESPACE,
    labelSelector: `${LABEL.component}=${component}`,
  });
  const sums: Samples = new Map();
  for (const { metadata } of items) {
    const text = await c.kubectl(
      'get',
      '--raw',
      `/api/v1/namespaces/${NAMESPACE}/pods/${metadata.name}:9090/proxy/metrics`,
    );
    for (const [, name, value] of text.matchAll(/^([a-z_]+(?:\{[^}]*\})?) (\S+)$/gm))
      sums.set(name!, (sums.get(name!) ?? 0) + Number(value));
  }
  return sums;
}

/** The increase of the samples of one name, by one label (or ''), without unchanged ones. */
function added(before: Samples, after: Samples, name: string, label?: string): Record<string, number> {
  const out: Record<string, number> = {};
  for (const [key, value] of after) {
    if (key !== name && !key.startsWith(`${name}{`)) continue;
    const more = value - (before.get(key) ?? 0);
    const of = label === undefined ? '' : (new RegExp(`\\b${label}="([^"]*)"`).exec(key)?.[1] ?? '');
    if (more !== 0) out[of] = (out[of] ?? 0) + more;
  }
  return out;
}
const total = (counts: Record<string, number>): number => Object.values(counts).reduce((sum, count) => sum + count, 0);
const tally = <T>(items: readonly T[], by: (item: T) => string): Record<string, number> => {
  const out: Record<string, number> = {};
  for (const item of items) out[by(item)] = (out[by(item)] ?? 0) + 1;
  return out;
};

interface Row {
  id: string;
  status: number;
  reason: string;
  has_body: boolean;
  queue_time_ms: number;
  io_bytes: number;
  usage_ms: number;
  ran: boolean;
  state: string;
}
interface Line {
  msg: string;
  token?: number;
  request_id?: string;
  status?: number;
  route?: string;
  ms?: number;
}

const FILE = '/v1/probe/file';

/** Created through the API, which gives it a webhook signing secret. It ends with the token that created it. */
async function tokenWithSecret(c: Cluster): Promise<{ id: number; token: string }> {
  const { token } = await c.newToken(4);
  const answer = await fetch(`${c.url}/frontend/api/v1/auth/api-token`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"name":"truth"}',
  });
  assert.equal(answer.status, 201, await answer.clone().text());
  return (await answer.json()) as { id: number; token: string };
}

describe('metrics, logs and statistics', function () {
  this.timeout(400_000);
  let c: Cluster;
  let rows: Row[];
  let api: { before: Samples; after: Samples };
  let controller: { before: Samples; after: Samples };
  let lines: Line[];
  const told: { id: string; status: number; ms: number }[] = [];
  let hungUp = 0;
  let sentBytes = 0;
  const delivered: string[] = [];
  let usage: Record<string, number> = {};

  const ask = async (
    token: string,
    path: string,
    init: RequestInit = {},
  ): Promise<{ status: number; json: { metadata?: { request_id?: string; io_usage?: number } } }> => {
    const began = performance.now();
    const response = await fetch(`${c.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, ...init.headers },
      signal: init.signal ?? AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    told.push({
      id: response.headers.get('x-request-id') ?? '',
      status: response.status,
      ms: performance.now() - began,
    });
    return { status: response.status, json: JSON.parse(text) as { metadata?: { request_id?: string } } };
  };

  before(async () => {
    c = await cluster();
    const since = new Date(Date.now() - 1_000);
    const { id: tokenId, token } = await tokenWithSecret(c);
    const origin = await c.origin(async (request, response) => {
      // Setting a header makes writeHead keep the others where they can be read.
      response.setHeader('x-origin', 'truth');
      response.once('close', () => {
        sentBytes += Number(response.getHeader('content-length') ?? 0);
      });
      await serveFile(fixtures, request, response);
    });
    const never = await c.origin(() => {});
    const receiver = await c.origin((request, response) => {
      delivered.push(String(request.headers['webhook-id']));
      response.writeHead(204).end();
    });
    const url = `${origin.url}/tiny.mp4`;
    const json = (body: object): RequestInit => ({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    // What earlier tests left would be counted, too: webhooks whose receivers are gone, and jobs, the last of them
    // after they are recorded.
    await c.sql("update webhook_outbox set next_at = now() + interval '1 hour' where state = 'pending'");
    let counted = '';
    await eventually('nothing waits or runs, and nothing more is counted', 60, async () => {
      const before = counted;
      const [gauges, open] = [
        await metricsOf(c, 'controller'),
        await c.sql("select count(*) from requests where state = 'open'"),
      ];
      const counters = [...gauges, ...(await metricsOf(c, 'api'))].filter(([key]) =>
        /^probeyard_(?:jobs|queue_seconds|results_collected|webhook_attempts)_/.test(key),
      );
      counted = JSON.stringify(counters);
      return (
        open === '0' &&
        counted === before &&
        [...gauges].filter(([key]) => key.startsWith('probeyard_jobs{')).every(([, value]) => value === 0)
      );
    });
    [api, controller] = [
      { before: await metricsOf(c, 'api'), after: new Map() },
      { before: await metricsOf(c, 'controller'), after: new Map() },
    ];

    const form = new FormData();
    form.set('url', url);
    const kinds: (() => Promise<unknown>)[] = [
      () => ask(token, `${FILE}?url=${encodeURIComponent(url)}&only=ffprobe`),
      () => ask(token, FILE, json({ url })),
      () => ask(token, FILE, { method: 'POST', body: new URLSearchParams({ url, only: 'mediainfo' }) }),
      () => ask(token, FILE, { method: 'POST', body: form }),
      () => ask(token, FILE, json({ url: `${origin.url}/none.mp4` })),
      () => ask(token, FILE, json({ url, only: 'ffprobe', webhook_url: `${receiver.url}/hook` })),
      () => ask(token, FILE, json({ url: 1 })),
      () => ask('wrong'.padEnd(64, 'x'), FILE, json({ url })),
      () => ask(token, FILE, { method: 'PUT', body: 'x' }),
      async () => {
        const caller = new AbortController();
        const leaving = fetch(`${c.url}${FILE}`, {
          ...json({ url: `${never.url}/${hungUp}.mp4` }),
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          signal: caller.signal,
        });
        const path = `/${hungUp}.mp4`;
        hungUp += 1;
        // By this request: a tool of the one before may still ask.
        await eventually('the origin is asked', 60, () => never.requests.some((one) => one.path === path));
        caller.abort();
        await leaving.catch(() => {});
      },
    ];
    for (let round = 0; round < 5; round++) {
      await Promise.all(kinds.slice(0, -1).map((kind) => kind()));
      await kinds.at(-1)!();
    }

    await eventually(
      'no request is open',
      60,
      async () => (await c.sql(`select count(*) from requests where token_id = ${tokenId} and state = 'open'`)) === '0',
    );
    await eventually('the webhooks are delivered', 60, () => delivered.length >= 5);
    rows = JSON.parse(
      await c.sql(
        `select json_agg(json_build_object('id', id, 'status', status, 'reason', reason, 'has_body', has_body,
        'queue_time_ms', queue_time_ms, 'io_bytes', io_bytes, 'usage_ms', usage_ms,
        'ran', started_at is not null, 'state', state)) from requests where token_id = ${tokenId}`,
      ),
    ) as Row[];
    await eventually('the controllers and the log have followed', 150, async () => {
      [api.after, controller.after] = [await metricsOf(c, 'api'), await metricsOf(c, 'controller')];
      const text = await c.kubectl(
        '-n',
        NAMESPACE,
        'logs',
        '-l',
        `${LABEL.component}=api`,
        '--tail=-1',
        `--since-time=${since.toISOString()}`,
      );
      lines = text
        .split('\n')
        .flatMap((line) => {
          try {
            return [JSON.parse(line) as Line];
          } catch {
            return [];
          }
        })
        .filter(({ msg, route }) => msg === 'request' && route === FILE);
      const ids = new Set(told.map(({ id }) => id));
      lines = lines.filter(({ request_id, token: by }) => by === tokenId || ids.has(request_id ?? ''));
      const finished = total(added(controller.before, controller.after, 'probeyard_jobs_finished_total'));
      const attempts = total(added(api.before, api.after, 'probeyard_webhook_attempts_total'));
      if (lines.length >= told.length + hungUp && finished >= rows.length && attempts >= delivered.length) return true;
      // The cause if the deadline passes.
      throw new Error(
        `${lines.length} of ${told.length + hungUp} lines logged, ${finished} of ${rows.length} ends and ` +
          `${attempts} of ${delivered.length} webhooks counted`,
      );
    });
    const { text } = await c.get(`/frontend/api/v1/statistics/usage?aggregation=no-aggregation&token-id=${tokenId}`);
    usage =
      (JSON.parse(text) as { 'users-usage': { 'aggregated-usage': { resources: Record<string, number> }[] }[] })[
        'users-usage'
      ][0]?.['aggregated-usage'][0]?.resources ?? {};
  });
  after(() => c.close());

  it('the API counts each request by the status that its caller got', () => {
    const expected = tally(told, ({ status }) => `${Math.floor(status / 100)}xx`);
    expected['4xx'] = (expected['4xx'] ?? 0) + hungUp;
    const of = (samples: Samples) => new Map([...samples].filter(([key]) => key.includes(`route="${FILE}"`)));
    assert.deepEqual(added(of(api.before), of(api.after), 'probeyard_api_requests_total', 'status'), expected);
    assert.equal(
      total(added(of(api.before), of(api.after), 'probeyard_api_request_seconds_count')),
      told.length + hungUp,
    );
  });

  it('the API logs each request once, with the status and duration that its caller saw', () => {
    const byId = new Map(lines.map((line) => [line.request_id, line]));
    assert.equal(lines.length, told.length + hungUp);
    for (const { id, status } of told) {
      assert.equal(byId.get(id)?.status, status, id);
    }
    // Both processes share a busy machine, so only the sums are compared. The caller's duration includes the network
    // and its own waits.
    const sum = (values: number[]) => values.reduce((all, value) => all + value, 0);
    const [logged, measured] = [sum(told.map(({ id }) => byId.get(id)?.ms ?? 0)), sum(told.map(({ ms }) => ms))];
    assert.ok(logged <= measured && logged >= measured * 0.5, `${logged} ms logged, ${measured} ms measured`);
    assert.equal(lines.filter(({ status }) => status === 499).length, hungUp);
  });

  it('the controllers count each end by its recorded reason', () => {
    assert.deepEqual(
      added(controller.before, controller.after, 'probeyard_jobs_finished_total', 'reason'),
      tally(rows, ({ reason }) => reason),
    );
    assert.deepEqual(
      added(controller.before, controller.after, 'probeyard_results_collected_total', 'outcome')['recorded'],
      rows.filter(({ has_body }) => has_body).length,
    );
  });

  it('the controllers count admissions and queue times as recorded', () => {
    const ran = rows.filter(({ ran: admitted }) => admitted);
    assert.equal(total(added(controller.before, controller.after, 'probeyard_jobs_admitted_total')), ran.length);
    assert.equal(total(added(controller.before, controller.after, 'probeyard_queue_seconds_count')), ran.length);
    const recorded = ran.reduce((sum, { queue_time_ms }) => sum + queue_time_ms, 0) / 1000;
    const counted = total(added(controller.before, controller.after, 'probeyard_queue_seconds_sum'));
    // A recorded time is cut to whole milliseconds.
    assert.ok(Math.abs(counted - recorded) <= ran.length * 0.002, `${counted} s counted, ${recorded} s recorded`);
  });

  it('the gauges show that nothing waits or runs any more', async () => {
    await eventually('the gauges are zero', 30, async () => {
      const now = await metricsOf(c, 'controller');
      return [...now].filter(([key]) => key.startsWith('probeyard_jobs{')).every(([, value]) => value === 0);
    });
    const now = await metricsOf(c, 'api');
    assert.equal(now.get('probeyard_api_waiting'), 0);
    assert.equal(now.get('probeyard_webhooks_in_hand'), 0);
  });

  it('each webhook is delivered once and counted once', () => {
    assert.equal(new Set(delivered).size, 5);
    assert.equal(delivered.length, 5);
    assert.deepEqual(added(api.before, api.after, 'probeyard_webhook_attempts_total', 'outcome'), { delivered: 5 });
  });

  it('the recorded bytes are those that the origin sent', () => {
    const recorded = rows
      .filter(({ has_body, status }) => has_body && status === 200)
      .reduce((sum, { io_bytes }) => sum + io_bytes, 0);
    // Heads are recorded, and not counted by the origin.
    const heads = 500 * rows.length;
    assert.ok(recorded > 0 && recorded <= sentBytes + heads, `${recorded} recorded, ${sentBytes} sent`);
  });

  it('the statistics of the token are the sums of its requests', () => {
    const sum = (of: (row: Row) => number) => rows.reduce((all, row) => all + of(row), 0);
    assert.deepEqual(
      {
        count: usage['request-count'],
        time: usage['processing-time'],
        bytes: usage['data-processed'],
        queue: usage['queue-time'],
      },
      {
        count: rows.length,
        time: sum((row) => row.usage_ms ?? 0),
        bytes: sum((row) => row.io_bytes ?? 0),
        queue: sum((row) => row.queue_time_ms ?? 0),
      },
    );
  });
});
