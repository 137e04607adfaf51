/**
 * The cost of the spans of one request to the API and to a collector: made, queued and turned into JSON, and with no
 * endpoint set. `npm exec -- node bench/tracing/cost.ts [runs]`.
 */
import { Registry } from 'prom-client';
import { traceJob, type TracedJob } from '../../src/platform/tracing/job_trace.ts';
import { makeTracer, otlpBody, type Span, type Tracer } from '../../src/platform/tracing/tracer.ts';
import { requestTrace } from '../../src/platform/tracing/request_trace.ts';
import { inWords, undisturbed } from '../undisturbed.ts';

const runs = Number(process.argv[2] ?? 2_000);
const HEADER = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const AT = Date.now();

let spans: Span[] = [];
const collecting: Tracer = {
  share: 1,
  record: (span) => {
    spans.push(span);
  },
  stop: async () => {},
};
const job = (parent: string): TracedJob => ({
  parent,
  id: '0197f2a4-0000-7000-8000-000000000000',
  attempt: 1,
  submittedMs: AT,
  startedMs: AT + 10,
  collectedMs: AT + 100,
  recordedMs: AT + 104,
  ioBytes: 21_358,
  reason: 'Succeeded',
  failed: false,
  tools: [
    { name: 'ffprobe', version: '9.0', success: true, durationMs: 18 },
    { name: 'mediainfo', version: '26.10', success: true, durationMs: 41 },
  ],
});

function request(tracer: Tracer | undefined): void {
  const trace = requestTrace(tracer, { header: HEADER, name: 'POST /v1/probe/file' });
  trace?.end(200, { 'http.route': '/v1/probe/file' });
  if (trace) traceJob(tracer, job(trace.parent));
}

/** Of one request each work is too short for the clock. */
const EACH = 20;
const off = makeTracer({ endpoint: '', share: 1, service: 'x', instance: 'x', registry: new Registry() });
request(collecting);
const six = spans.slice(-6);
const times = undisturbed(
  {
    'no endpoint': () => {
      for (let index = 0; index < EACH; index++) request(off);
    },
    'six spans, made and queued': () => {
      spans = [];
      for (let index = 0; index < EACH; index++) request(collecting);
    },
    'six spans, as JSON': () => {
      for (let index = 0; index < EACH; index++)
        JSON.stringify(otlpBody({ service: 'probeyard-api', instance: 'api-0' }, six));
    },
  },
  runs,
);
console.log(`of ${EACH} requests:`);
for (const [what, taken] of Object.entries(times)) console.log(`${what}: ${inWords(taken)}`);
