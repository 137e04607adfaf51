/**
 * The capacity of the API alone, without a tool: requests per second of one replica, and one request at a time, beside
 * a bare Koa route in the same run. Real Postgres, NATS and API server (its etcd without fsync) share this machine with
 * the client. A request ends as soon as the leader would learn of its job.
 */
import Koa from 'koa';
import { Pool } from 'undici';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import type { ProbeJob } from '../../src/platform/kube/probe_job.ts';
import { listen } from '../../src/service/api/http/http_server.ts';
import { timeOf } from '../../src/platform/store/uuid.ts';
import { tool, startApi, type ApiFixture } from '../../test/api/fixture.ts';
import { stopApiServers } from '../../test/kube/apiserver.ts';
import type { Measurement, Row } from '../measurement.ts';
import { summary, type Summary } from '../statistics.ts';
import { packText, type TextBody } from '../../test/result/text_body.ts';

const AT_ONCE = 50;
const ROUNDS = 5;
const ROUND_MS = Number(process.env['BENCH_ROUND_MS'] ?? 2_000);
const SINGLE = Number(process.env['BENCH_COUNT'] ?? 150);
const WARM_UP = 50;

interface Asked {
  origin: string;
  path: string;
  headers?: Record<string, string>;
  status: number;
}

async function ask(pool: Pool, { path, headers = {}, status }: Asked): Promise<void> {
  const response = await pool.request({ method: 'GET', path, headers });
  await response.body.dump();
  if (response.statusCode !== status) throw new Error(`${path}: status ${response.statusCode} instead of ${status}`);
}

/** Requests per second, with several at once. */
async function rate(asked: Asked): Promise<number> {
  const pool = new Pool(asked.origin, { connections: AT_ONCE });
  const began = performance.now();
  let done = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (performance.now() - began < ROUND_MS) {
        await ask(pool, asked);
        done++;
      }
    }),
  );
  const rate_ = (done * 1_000) / (performance.now() - began);
  await pool.close();
  return rate_;
}

async function singly(asked: Asked): Promise<Summary> {
  const pool = new Pool(asked.origin, { connections: 1 });
  const times: number[] = [];
  for (let index = -WARM_UP; index < SINGLE; index++) {
    const began = performance.now();
    await ask(pool, asked);
    if (index >= 0) times.push(performance.now() - began);
  }
  await pool.close();
  return summary(times);
}

/** Ends every accepted request. With `record`, in Postgres, too. */
function endAll(api: ApiFixture, recording: () => boolean): void {
  const result: TextBody = {
    tools: [
      tool(
        'ffprobe',
        JSON.stringify({
          streams: Array.from({ length: 40 }, (_, index) => ({ index, codec_name: 'h264', width: 1920 })),
        }),
      ),
    ],
    ioUsage: 1,
  };
  const body = packText(result).packed;
  api.bus.subscribe<ProbeJob>(SUBJECT.create, async ({ message }) => {
    const job = message.metadata.name;
    if (recording())
      await api.stored.store.closeRequest({
        id: job,
        submittedAt: timeOf(job)!,
        state: 'success',
        status: 200,
        reason: 'Completed',
        error: null,
        attempt: 1,
        startedAt: null,
        tools: [],
        ioBytes: 1,
        body,
      });
    api.bus.publish(SUBJECT.ended(api.wired.deps.settings.replica), {
      id: job,
      status: 200,
      reason: 'Completed',
      queueTimeMs: 1,
      hasBody: true,
      body: body.toString('base64'),
    });
  });
}

export const gateway: Measurement = {
  name: 'gateway',
  title: 'the gateway without a tool, one API replica, beside a bare Koa route',
  async measure(report) {
    const api = await startApi();
    const bareServer = await listen(
      new Koa()
        .use((ctx) => {
          ctx.body = { ok: true };
        })
        .callback(),
      { host: '127.0.0.1', port: 0 },
      () => '',
    );
    try {
      await api.stored.sql('update users set requests_per_minute = 100000000, concurrency = 100000');
      let recording = false;
      endAll(api, () => recording);
      await api.bus.flush();
      const headers = { authorization: `Bearer ${api.token}` };
      const at = (query: string, status: number): Asked => ({
        origin: api.url,
        path: `/v1/probe/file?${query}`,
        headers,
        status,
      });
      const bare: Asked = { origin: `http://127.0.0.1:${bareServer.port}`, path: '/', status: 200 };
      const source = 'url=https://example.org/a.mp4&ffprobe[show_frames]=true&only=ffprobe';
      const cases = { bare, refused: at('url=file:///x', 400), admitted: at(source, 200), recorded: at(source, 200) };
      const rates: Record<keyof typeof cases, number[]> = { bare: [], refused: [], admitted: [], recorded: [] };
      // In turns, so that other load affects all of them. The first round is a warm-up.
      for (let round = -1; round < ROUNDS; round++) {
        for (const name of Object.keys(cases) as (keyof typeof cases)[]) {
          recording = name === 'recorded';
          const measured = await rate(cases[name]);
          if (round >= 0) rates[name].push(measured);
        }
        report(
          `round ${round + 1} of ${ROUNDS}: ${Object.entries(rates)
            .map(([name, list]) => `${name} ${Math.round(list.at(-1) ?? 0)}`)
            .join(', ')} requests/s`,
        );
      }
      recording = true;
      const [bareMs, refusedMs, recordedMs] = [
        await singly(cases.bare),
        await singly(cases.refused),
        await singly(cases.recorded),
      ];
      const against = { what: 'a bare Koa route', values: summary(rates.bare) };
      const row = (name: string, what: string, values: number[]): Row => ({
        name,
        what,
        unit: 'requests/s',
        values: summary(values),
        against,
      });
      const single = { what: 'a bare Koa route', values: bareMs };
      return [
        row('gateway-refused', 'read, authenticated, refused by its source and counted (400)', rates.refused),
        row(
          'gateway-admitted',
          'read, authenticated, opened in Postgres, ProbeJob created, answered; no tool, no record of the end',
          rates.admitted,
        ),
        row('gateway-recorded', 'the same, and the end recorded', rates.recorded),
        {
          name: 'gateway-refused-single',
          what: 'refused (400), one at a time',
          unit: 'ms',
          values: refusedMs,
          against: single,
        },
        {
          name: 'gateway-recorded-single',
          what: 'admitted and recorded, one at a time',
          unit: 'ms',
          values: recordedMs,
          against: single,
        },
      ];
    } finally {
      await bareServer.close(1_000);
      await api.stop();
      await stopApiServers();
    }
  },
};
