import assert from 'node:assert/strict';
import { Ajv, type ValidateFunction } from 'ajv';
import { WebhookSchema } from '../../src/service/api/openapi/openapi_document.ts';
import { compareRuns } from '../../src/media/compare/compare.ts';
import type { ResponseForm } from '../../src/service/result/answer.ts';
import { readKeptRequest } from '../../src/service/result/kept_request.ts';
import { MAX_BODY_BYTES, webhookBody as bodyOf, type EndedRequest } from '../../src/service/webhooks/body.ts';
import { bad, body, good } from '../result/result_samples.ts';
import { packText, type TextBody } from '../result/text_body.ts';

const ID = '0192f0c1-0000-7000-8000-000000000001';
const AT = new Date('2026-03-01T12:00:00.123Z');
const ended: EndedRequest = {
  id: ID,
  submittedAt: AT,
  queueTimeMs: 7,
  ioBytes: 0,
  endedAt: AT,
  reason: 'Completed',
  error: null,
  code: null,
};
const wanted = (more: Partial<ResponseForm> = {}): ResponseForm => ({
  shown: ['ffprobe', 'mediainfo'],
  injectOutput: false,
  injectJson: false,
  ...more,
});
const stored = (result: TextBody) => {
  const { packed, size } = packText(result);
  return { packed, inflatedBytes: size };
};
const webhookBody = (about: EndedRequest, result: TextBody | null, wishes: Parameters<typeof bodyOf>[2]) =>
  bodyOf(about, result && stored(result), wishes);
const isDescribed: ValidateFunction = new Ajv({ formats: { uuid: true, 'date-time': true } }).compile(WebhookSchema);
const sent = async (...given: Parameters<typeof webhookBody>) => {
  const payload = JSON.parse((await webhookBody(...given)).toString()) as Record<string, any>;
  assert.equal(isDescribed(payload), true, JSON.stringify(isDescribed.errors));
  return payload;
};
const metadata = { request_id: ID, queue_time: 7, io_usage: 1234 };

describe('body of a webhook', () => {
  it('is the envelope, byte for byte, with type and timestamp as additional members', async () => {
    const text = (
      await webhookBody(ended, body([good('ffprobe', '{"n": 1e3, "n": 2}'), good('mediainfo', '{}')]), wanted())
    ).toString();
    assert.ok(text.includes('"response":{"n": 1e3, "n": 2}}'));
    const { ffprobe, mediainfo, ...rest } = JSON.parse(text) as Record<string, any>;
    assert.deepEqual(rest, { success: true, metadata, type: 'probe.completed', timestamp: '2026-03-01T12:00:00.123Z' });
    assert.deepEqual([ffprobe.success, mediainfo.response], [true, {}]);
  });
  it('is of type completed for a partial failure, failed for a total one', async () => {
    assert.equal(
      (await sent(ended, body([good('ffprobe', '{}'), bad('mediainfo', 'timeout', 'late')]), wanted()))['type'],
      'probe.completed',
    );
    const failed = await sent(
      ended,
      body([bad('ffprobe', 'crashed', 'a'), bad('mediainfo', 'timeout', 'late')]),
      wanted(),
    );
    assert.deepEqual(
      [failed['type'], failed['success'], failed['error'], failed['mediainfo'].error],
      ['probe.failed', false, 'a', 'late'],
    );
  });
  it('has the requested form, one tool or one document', async () => {
    const both = body([good('ffprobe', '{"a":1}'), good('mediainfo', '{"m":1}')]);
    assert.deepEqual(Object.keys(await sent(ended, both, wanted({ shown: ['mediainfo'] }))), [
      'success',
      'metadata',
      'mediainfo',
      'type',
      'timestamp',
    ]);
    assert.deepEqual((await sent(ended, both, wanted({ injectJson: true })))['ffprobe'].response, {
      a: 1,
      mediainfo: { m: 1 },
    });
  });
  it('is the envelope at the endpoints of one tool, even if the response would be bare', async () => {
    const text = await sent(ended, body([good('c2pa', '{"active_manifest":null}')]), {
      single: 'c2pa',
      shown: [],
      injectOutput: false,
      injectJson: true,
    });
    assert.deepEqual(
      [text['type'], text['output'], text['metadata'].request_id],
      ['probe.completed', { active_manifest: null }, ID],
    );
  });
  it('has the error if there is no envelope', async () => {
    const expected = {
      type: 'probe.failed',
      timestamp: '2026-03-01T12:00:00.123Z',
      success: false,
      metadata: { ...metadata, io_usage: 0 },
    };
    assert.deepEqual(await sent({ ...ended, reason: 'QueueFull', error: 'full' }, null, wanted()), {
      ...expected,
      error: 'full',
    });
    for (const [reason, error] of [
      ['QueueTimeout', 'the request waited too long in the queue'],
      ['InternalError', 'internal error'],
      ['Cancelled', 'the request was cancelled'],
    ] as const) {
      assert.deepEqual(await sent({ ...ended, reason }, null, wanted()), { ...expected, error });
    }
    assert.deepEqual(
      await sent({ ...ended, reason: 'OriginUnreachable', error: 'the host answered 404' }, null, wanted()),
      {
        ...expected,
        error: 'the host answered 404',
      },
    );
  });
  it('of a comparison has runs and fields, and no output, also where the outputs are large', async () => {
    const run = (version: string, output: string) => good('ffprobe', output, { version });
    const form = readKeptRequest({ kind: 'compare', request: {} }).response;
    for (const filler of [0, MAX_BODY_BYTES]) {
      const outputs = ['4.4', '9.0'].map(
        (version, at) => [version, `{"a":${at},"b":"${'x'.repeat(filler)}"}`] as const,
      );
      const comparison = compareRuns(
        outputs.map(([version, text]) => ({
          tool: 'ffprobe' as const,
          version,
          label: version,
          output: { bytes: text.length, text: () => text },
        })),
      );
      const told = await sent(
        ended,
        body(
          outputs.map(([version, text]) => run(version, text)),
          { comparison: { durationMs: 1, output: JSON.stringify(comparison) } },
        ),
        form,
      );
      const made = { tool: 'ffprobe', build: null, success: true, duration: 12, usage: 12 };
      assert.deepEqual(told, {
        success: true,
        metadata,
        runs: ['4.4', '9.0'].map((version) => ({ run: version, version, ...made })),
        fields: [{ path: 'a', tool: 'ffprobe', level: 'raw', change: 'value', values: { '4.4': 0, '9.0': 1 } }],
        summary: comparison.summary,
        type: 'probe.completed',
        timestamp: '2026-03-01T12:00:00.123Z',
      });
    }
  });
  it('of a comparison whose source could not be read twice is of type failed, and names each run', async () => {
    const form = readKeptRequest({ kind: 'compare', request: {} }).response;
    const failed = await sent(
      ended,
      body([
        bad('ffprobe', 'timeout', 'late', { side: 'a' }),
        bad('ffprobe', 'origin-unreachable', 'HTTP 404', { side: 'b' }),
      ]),
      form,
    );
    assert.deepEqual(
      [failed['type'], failed['success'], failed['error']],
      ['probe.failed', false, 'a: late; b: HTTP 404'],
    );
    assert.deepEqual(
      failed['runs'].map(({ run, error }: Record<string, string>) => [run, error]),
      [
        ['a', 'late'],
        ['b', 'HTTP 404'],
      ],
    );
  });
  it('above a megabyte omits the outputs and says so', async () => {
    const filler = (bytes: number) => JSON.stringify('é'.repeat(bytes / 2));
    const large = body([good('ffprobe', filler(MAX_BODY_BYTES)), good('mediainfo', '{}')]);
    const text = await webhookBody(ended, large, wanted());
    assert.ok(text.length < 1_000);
    assert.deepEqual(JSON.parse(text.toString()), {
      success: true,
      metadata,
      ffprobe: { success: true, duration: 12, usage: 12 },
      mediainfo: { success: true, duration: 12, usage: 12 },
      type: 'probe.completed',
      timestamp: '2026-03-01T12:00:00.123Z',
      truncated: true,
    });
    const single = body([good('c2pa', filler(MAX_BODY_BYTES))]);
    assert.deepEqual(Object.keys(await sent(ended, single, readKeptRequest({ kind: 'c2pa', request: {} }).response)), [
      'success',
      'metadata',
      'type',
      'timestamp',
      'truncated',
    ]);
  });
  it('is abridged by the inflated size of the result, even if the envelope alone would fit', async () => {
    const result = body([good('ffprobe', '{}'), good('mediainfo', JSON.stringify('x'.repeat(MAX_BODY_BYTES)))]);
    const text = JSON.parse((await webhookBody(ended, result, wanted({ shown: ['ffprobe'] }))).toString()) as Record<
      string,
      any
    >;
    assert.deepEqual([text['truncated'], text['ffprobe'].success, 'response' in text['ffprobe']], [true, true, false]);
  });
  it('of a result without a recorded size is complete up to exactly a megabyte', async () => {
    const bodyWith = (bytes: number) =>
      bodyOf(
        ended,
        {
          ...stored(body([good('ffprobe', JSON.stringify('x'.repeat(bytes))), good('mediainfo', '{}')])),
          inflatedBytes: null,
        },
        wanted(),
      );
    const room = MAX_BODY_BYTES - (await bodyWith(0)).length;
    assert.equal((await bodyWith(room)).length, MAX_BODY_BYTES);
    assert.equal(
      (JSON.parse((await bodyWith(room)).toString()) as Record<string, any>)['ffprobe'].response.length,
      room,
    );
    assert.equal((JSON.parse((await bodyWith(room + 1)).toString()) as Record<string, any>)['truncated'], true);
  });
});
