/**
 * What the gateway itself costs, one request at a time, against a bare Koa route in the same run: real Postgres, NATS and API
 * server (its etcd without fsync), no runner. The end is recorded and told as soon as the leader would hear of the job.
 * `npm exec -- node bench/api/gateway.ts [requests]`
 */
import { zstdCompressSync } from 'node:zlib';
import Koa from 'koa';
import { SUBJECT, type Early, type ResultBody } from '../../src/bus/messages.ts';
import { listen } from '../../src/api/http_server.ts';
import { timeOf } from '../../src/store/uuid.ts';
import { stopApiServers } from '../../test/kube/apiserver.ts';
import { startApi, tool } from '../../test/api/fixture.ts';

const count = Number(process.argv[2] ?? 300);
const WARM_UP = 50;

function quantiles(times: number[]): string {
  const sorted = times.slice(WARM_UP).sort((a, b) => a - b);
  const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!.toFixed(2).padStart(8);
  return `p10 ${at(0.1)}  p50 ${at(0.5)}  p90 ${at(0.9)}  p99 ${at(0.99)} ms`;
}

async function timed(call: () => Promise<Response>): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count + WARM_UP; index++) {
    const began = performance.now();
    await (await call()).arrayBuffer();
    times.push(performance.now() - began);
  }
  return times;
}

const api = await startApi();
const bare = await listen(new Koa().use((ctx) => { ctx.body = { ok: true }; }).callback(), { host: '127.0.0.1', port: 0 }, () => '');
const { store } = api.stored;
const result: ResultBody = { tools: [tool('ffprobe', JSON.stringify({ streams: Array.from({ length: 40 }, (_, index) => ({ index, codec_name: 'h264', width: 1920 })) }))], ioUsage: 1 };
const body = zstdCompressSync(JSON.stringify(result));
let closing: number[] = [];
api.bus.subscribe<Early>(SUBJECT.early, async ({ message: { job } }) => {
  const began = performance.now();
  const { queueTimeMs } = await store.closeRequest({
    id: job, submittedAt: timeOf(job)!, state: 'success', status: 200, reason: 'Completed', error: null, attempt: 1, startedAt: null, tools: [], ioBytes: 1, body,
  });
  closing.push(performance.now() - began);
  api.bus.publish(SUBJECT.ended(api.wired.deps.settings.replica), { id: job, status: 200, reason: 'Completed', queueTimeMs, hasBody: true, body: body.toString('base64') });
});
await api.bus.flush();

console.log(`bare Koa route          ${quantiles(await timed(() => fetch(`http://127.0.0.1:${bare.port}/`)))}`);
console.log(`refused (400)           ${quantiles(await timed(() => api.get('url=file:///x')))}`);
closing = [];
console.log(`probe, without a runner ${quantiles(await timed(() => api.get('url=https://example.org/a.mp4&ffprobe[show_frames]=true')))}`);
console.log(`  of it: record the end ${quantiles(closing)}`);
const AT_ONCE = 50;
const began = performance.now();
let left = count * 3;
const worker = async () => {
  while (left-- > 0) {
    const response = await api.get('url=https://example.org/a.mp4');
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`status ${response.status}`);
  }
};
await Promise.all(Array.from({ length: AT_ONCE }, worker));
console.log(`${AT_ONCE} at once: ${Math.round((count * 3 * 1000) / (performance.now() - began))} probes/s, all servers and the client on this machine`);
for (const line of (await api.wired.deps.metrics.registry.getSingleMetricAsString('probeyard_api_step_seconds')).split('\n')) {
  if (/_(sum|count)/.test(line)) console.log(`  ${line}`);
}
await bare.close(1_000);
await api.stop();
await stopApiServers();
