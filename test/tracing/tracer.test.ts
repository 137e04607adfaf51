/** Spans on their way to a real receiver. */
import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { traceJob, traceWebhook, type TracedJob } from '../../src/platform/tracing/job_trace.ts';
import { makeTracer, MOST_QUEUED, type Span, type Tracer } from '../../src/platform/tracing/tracer.ts';
import { requestTrace } from '../../src/platform/tracing/request_trace.ts';
import { parseTraceparent } from '../../src/platform/tracing/trace_context.ts';
import { until } from '../until.ts';
import { startReceiver, type Receiver } from './receiver.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = `00-${TRACE}-b7ad6b7169203331-01`;
const AT = 1_780_000_000_000;

const aSpan = (index = 0): Span => ({
  traceId: TRACE,
  spanId: (index + 1).toString(16).padStart(16, '0'),
  name: 'x',
  kind: 'internal',
  startMs: AT + 0.25,
  endMs: AT + 1.5,
  attributes: { text: 'a', whole: 7, part: 0.5, yes: true },
  failed: false,
});
const aJob = (change: Partial<TracedJob> = {}): TracedJob => ({
  parent: CALLER,
  id: 'the-id',
  attempt: 1,
  submittedMs: AT,
  startedMs: AT + 10,
  collectedMs: AT + 100,
  recordedMs: AT + 104,
  ioBytes: 5_000,
  reason: 'Succeeded',
  failed: false,
  tools: [
    { name: 'ffprobe', version: '9.0', success: true, durationMs: 40 },
    { name: 'mediainfo', version: '26.10', success: false, durationMs: 5_000 },
  ],
  ...change,
});

describe('traces', function () {
  this.timeout(30_000);
  let receiver: Receiver;
  let registry: Registry;
  let tracer: Tracer;
  beforeEach(async () => {
    receiver = await startReceiver();
    registry = new Registry();
    tracer = makeTracer({
      endpoint: receiver.endpoint,
      share: 0.25,
      service: 'probeyard-api',
      instance: 'api-0',
      registry,
      everyMs: 20,
      timeoutMs: 500,
    })!;
  });
  afterEach(async () => {
    await tracer.stop();
    receiver.stop();
  });

  const counted = async (outcome: string): Promise<number> =>
    Number(
      new RegExp(`probeyard_spans_total{outcome="${outcome}"} (\\d+)`).exec(await registry.metrics())?.[1] ??
        Number.NaN,
    );
  const received = async (count: number) => {
    await until(`${count} spans arrived`, () => receiver.spans.length >= count);
    assert.deepEqual(receiver.problems, []);
    return receiver.spans;
  };

  it('without an endpoint there is no tracer', () => {
    assert.equal(
      makeTracer({ endpoint: '', share: 1, service: 'x', instance: 'x', registry: new Registry() }),
      undefined,
    );
  });

  it('sends spans in the JSON form of OTLP, with times in nanoseconds', async () => {
    tracer.record(aSpan());
    const [span] = await received(1);
    assert.equal(span!.startTimeUnixNano, '1780000000000250000');
    assert.equal(span!.endTimeUnixNano, '1780000000001500000');
    assert.deepEqual(
      span!.attributes.map(({ value }) => value),
      [{ stringValue: 'a' }, { intValue: '7' }, { doubleValue: 0.5 }, { boolValue: true }],
    );
    assert.match(receiver.text(), /"service\.name","value":\{"stringValue":"probeyard-api"\}/);
    await until('it is counted', async () => (await counted('sent')) === 1);
  });

  it('sends a thousand in few batches, each once', async () => {
    for (let index = 0; index < 1_000; index++) tracer.record(aSpan(index));
    const spans = await received(1_000);
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, 1_000);
    assert.deepEqual(receiver.batches, [512, 488]);
  });

  it('a receiver that answers nothing costs spans, and neither memory nor time of a request', async () => {
    receiver.mode = 'stall';
    const began = performance.now();
    for (let index = 0; index < 20_000; index++) tracer.record(aSpan(index));
    assert.ok(performance.now() - began < 15_000);
    assert.equal(await counted('dropped'), 20_000 - MOST_QUEUED);
    await until('a batch was given up', async () => (await counted('refused')) > 0);
  });

  it('a receiver that refuses is counted, and later spans arrive', async () => {
    receiver.mode = 'refuse';
    tracer.record(aSpan(1));
    await until('it was refused', async () => (await counted('refused')) === 1);
    receiver.mode = 'take';
    tracer.record(aSpan(2));
    await received(1);
  });

  it('what is queued is sent at the end', async () => {
    tracer.record(aSpan());
    await tracer.stop();
    assert.equal(receiver.spans.length, 1);
  });

  describe('a request', () => {
    const begin = (header: string | undefined, random = 0) =>
      requestTrace(tracer, { header, name: 'POST /v1/probe/file', now: () => AT, random: () => random });

    it('goes on with the trace of its caller, and passes on its own span', async () => {
      const trace = begin(CALLER)!;
      trace.end(200, { 'http.route': '/v1/probe/file' });
      const [span] = await received(1);
      assert.equal(span!.traceId, TRACE);
      assert.equal(span!.parentSpanId, 'b7ad6b7169203331');
      assert.equal(span!.kind, 2);
      assert.deepEqual(parseTraceparent(trace.parent), { traceId: TRACE, spanId: span!.spanId, sampled: true });
    });

    it("the caller's decision stands, and without one the share decides", () => {
      assert.equal(begin(CALLER.replace(/01$/, '00')), undefined);
      assert.ok(begin(CALLER, 0.99));
      assert.ok(begin(undefined, 0.24));
      assert.equal(begin(undefined, 0.25), undefined);
      assert.ok(begin('not valid', 0.1));
      assert.equal(requestTrace(undefined, { header: CALLER, name: 'x' }), undefined);
    });

    it('fails with a 5xx alone', async () => {
      begin(CALLER)!.end(404, {});
      begin(CALLER)!.end(503, {});
      assert.deepEqual(
        (await received(2)).map(({ status }) => status.code),
        [1, 2],
      );
    });
  });

  describe('a job', () => {
    it('has spans of its admission, runner, tools and record, each below its parent and within it', async () => {
      traceJob(tracer, aJob());
      const spans = await received(5);
      const of = (name: string) => spans.find((span) => span.name === name)!;
      assert.deepEqual(
        spans.map(({ name }) => name),
        ['admission', 'runner', 'ffprobe', 'mediainfo', 'record'],
      );
      for (const name of ['admission', 'runner', 'record']) assert.equal(of(name).parentSpanId, 'b7ad6b7169203331');
      for (const name of ['ffprobe', 'mediainfo']) {
        assert.equal(of(name).parentSpanId, of('runner').spanId);
        assert.ok(BigInt(of(name).endTimeUnixNano) <= BigInt(of('runner').endTimeUnixNano), name);
      }
      assert.deepEqual([of('ffprobe').status.code, of('mediainfo').status.code], [1, 2]);
      assert.deepEqual(
        [of('record').startTimeUnixNano, of('record').endTimeUnixNano].map(
          (ns) => Number(BigInt(ns) / 1_000_000n) - AT,
        ),
        [100, 104],
      );
    });

    it('a tool that began before the admission has its duration, back to the submission', async () => {
      const tool = { name: 'ffprobe', version: '7.1', success: true };
      const [startedMs, collectedMs] = [AT + 90, AT + 100];
      for (const durationMs of [40, 5, 1e9])
        traceJob(tracer, aJob({ startedMs, collectedMs, tools: [{ ...tool, durationMs }] }));
      const spans = await received(12);
      const times = (name: string) =>
        spans
          .filter((span) => span.name === name)
          .map(({ startTimeUnixNano: from, endTimeUnixNano: to }) =>
            [from, to].map((ns) => Number(BigInt(ns) / 1_000_000n) - AT),
          );
      const submitted = aJob().submittedMs - AT;
      assert.deepEqual(times('ffprobe'), [
        [60, 100],
        [90, 95],
        [submitted, 100],
      ]);
      assert.deepEqual(
        times('runner').map(([from]) => from),
        [60, 90, submitted],
      );
    });

    it('a job without a trace, or whose annotation is not valid, has none', async () => {
      for (const parent of [undefined, 'x', CALLER.replace(/01$/, '00'), `${CALLER}-x`])
        traceJob(tracer, aJob({ parent }));
      traceJob(undefined, aJob());
      tracer.record(aSpan());
      assert.equal((await received(1)).length, 1);
    });

    it('many tools are bounded', async () => {
      const [tool] = aJob().tools;
      traceJob(tracer, aJob({ tools: Array.from({ length: 5_000 }, () => tool!) }));
      assert.equal((await received(3 + 32)).length, 3 + 32);
    });
  });

  it('a webhook carries its own span, which fails without an answer', async () => {
    const trace = traceWebhook(tracer, { parent: CALLER, requestId: 'the-id', attempt: 2 })!;
    trace.end(null);
    const [span] = await received(1);
    assert.equal(parseTraceparent(trace.traceparent)?.spanId, span!.spanId);
    assert.equal(span!.kind, 3);
    assert.equal(span!.status.code, 2);
    assert.equal(traceWebhook(tracer, { parent: undefined, requestId: 'x', attempt: 1 }), undefined);
  });
});
