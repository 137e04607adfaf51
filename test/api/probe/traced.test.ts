/** The trace of a probe request: from the caller's header to the span, the ProbeJob, and the webhook. */
import assert from 'node:assert/strict';
import { TRACE_ANNOTATION, parseTraceparent } from '../../../src/platform/tracing/trace_context.ts';
import { startReceiver as startSpans, type Receiver as Spans } from '../../tracing/receiver.ts';
import { until } from '../../until.ts';
import { startReceiver, type Receiver } from '../../webhooks/receiver.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = `00-${TRACE}-b7ad6b7169203331-01`;

describe('traced requests', function () {
  this.timeout(60_000);
  let spans: Spans;
  let receiver: Receiver;
  let api: ApiFixture;
  before(async () => {
    [spans, receiver] = await Promise.all([startSpans(), startReceiver()]);
    api = await startApi(
      { allowWebhooks: [{ cidr: '127.0.0.0/8' }] },
      { tracing: { endpoint: spans.endpoint, share: 0, service: 'probeyard-api', instance: 'api-0', everyMs: 20 } },
    );
  });
  after(async () => {
    await api.stop();
    await receiver.close();
    spans.stop();
  });
  const result = { tools: [tool('ffprobe', '{"format":{}}')], ioUsage: 5 };
  const ended = (id: string) => api.end(id, { result, asked: [{ name: 'ffprobe' }] });
  const named = (name: string) => spans.spans.filter((span) => span.name === name);

  it("the job goes on with the caller's trace, below the span of the API, which names no source", async () => {
    const answer = api.post(
      { url: 'https://one.example/s3cret.mp4?key=s3cret', only: 'ffprobe' },
      { headers: { traceparent: CALLER } },
    );
    const job = await api.job('one.example');
    await ended(job.metadata.name);
    assert.equal((await answer).status, 200);
    await until('the span arrived', () => named('POST /v1/probe/file').length > 0);
    const [span] = named('POST /v1/probe/file');
    assert.deepEqual(parseTraceparent(job.metadata.annotations?.[TRACE_ANNOTATION]), {
      traceId: TRACE,
      spanId: span!.spanId,
      sampled: true,
    });
    assert.equal(span!.parentSpanId, 'b7ad6b7169203331');
    assert.match(JSON.stringify(span!.attributes), new RegExp(job.metadata.name));
    assert.doesNotMatch(spans.text(), /s3cret|one\.example/);
    assert.deepEqual(spans.problems, []);
  });

  for (const [why, header] of [
    ['without a header, and none are drawn', undefined],
    ['whose caller does not record', CALLER.replace(/01$/, '00')],
    ['with a header that is not valid', 'x'],
  ] as const)
    it(`a request ${why} leaves no trace`, async () => {
      const before = spans.spans.length;
      const answer = api.post(
        { url: 'https://two.example/a.mp4', only: 'ffprobe' },
        header === undefined ? {} : { headers: { traceparent: header } },
      );
      const job = await api.job('two.example');
      await ended(job.metadata.name);
      assert.equal((await answer).status, 200);
      assert.equal(job.metadata.annotations?.[TRACE_ANNOTATION], undefined);
      assert.equal(spans.spans.length, before);
    });

  it('the webhook carries the trace on to its receiver', async () => {
    receiver.answer = (response) => void response.writeHead(204).end();
    const accepted = await api.post(
      { url: 'https://three.example/a.mp4', only: 'ffprobe', webhook_url: `${receiver.url}/hook` },
      { headers: { traceparent: CALLER } },
    );
    assert.equal(accepted.status, 202);
    const job = await api.job('three.example');
    await ended(job.metadata.name);
    await until('the webhook arrived', () => receiver.received.length > 0, 20_000);
    const sent = parseTraceparent(receiver.received[0]!.headers['traceparent'] as string);
    assert.equal(sent?.traceId, TRACE);
    await until('its span arrived', () => named('webhook').length > 0);
    const [span] = named('webhook');
    assert.equal(span!.spanId, sent?.spanId);
    assert.equal(span!.parentSpanId, parseTraceparent(job.metadata.annotations?.[TRACE_ANNOTATION])?.spanId);
  });
});
