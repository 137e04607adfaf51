import assert from 'node:assert/strict';
import { assembleSingle, type SingleOptions } from '../../src/service/result/answer.ts';
import { bad, body, good } from './result_samples.ts';
import { inMemory, type TextBody } from './text_body.ts';

const ID = '0192f0c1-0000-7000-8000-000000000001';
const JSON_TYPE = 'application/json; charset=utf-8';
const C2PA = '{\n  "active_manifest": null, "n": 1e2, "dup": 1, "dup": 2 }\n';
const MSV = '{"success":true,"cli_output":"all is well\\n","tool":"probeyard-hls","messages":[]}';
const METADATA = { request_id: ID, queue_time: 4, io_usage: 1234, duration: 12, usage: 12 };
const answer = (printed: TextBody, more: Partial<SingleOptions>) => {
  const { result, outputs } = inMemory(printed);
  const { body: text, ...rest } = assembleSingle(result, {
    outputs,
    tool: 'c2pa',
    requestId: ID,
    queueTimeMs: 3.6,
    error: null,
    injectOutput: false,
    injectJson: false,
    ...more,
  });
  assert.ok(typeof text === 'string');
  return { ...rest, body: text };
};

describe('response of an endpoint of one tool', () => {
  it('is the output of the tool, byte for byte', () => {
    for (const injectJson of [true, false]) {
      assert.deepEqual(answer(body([good('c2pa', C2PA)]), { injectOutput: true, injectJson }), {
        contentType: JSON_TYPE,
        body: C2PA,
      });
    }
  });

  it('is an envelope with the output as text or as an object', () => {
    const text = answer(body([good('c2pa', C2PA)]), {}).body;
    assert.deepEqual(JSON.parse(text), { success: true, output: C2PA, metadata: METADATA });
    const object = answer(body([good('c2pa', C2PA)]), { injectJson: true }).body;
    assert.ok(object.includes(`"output":${C2PA},"metadata"`));
    assert.deepEqual(JSON.parse(object), {
      success: true,
      output: { active_manifest: null, n: 100, dup: 2 },
      metadata: METADATA,
    });
  });

  it('of the validator has its readable text, or null without one', () => {
    assert.deepEqual(JSON.parse(answer(body([good('msv', MSV)]), { tool: 'msv', injectJson: true }).body), {
      success: true,
      output: JSON.parse(MSV),
      cli_output: 'all is well\n',
      metadata: METADATA,
    });
    for (const output of ['{"cli_output":null}', '{}', '[]', 'null', '{"cli_output":{"a":1}}']) {
      const envelope = JSON.parse(answer(body([good('msv', output)]), { tool: 'msv' }).body);
      assert.deepEqual([envelope.output, envelope.cli_output], [output, null]);
    }
  });

  it('reports that a stream breaks the rules, with the report', () => {
    const report = '{"success":false,"error":"1 must-fix: x","cli_output":null}';
    const result = body([bad('msv', 'failed', '1 must-fix: x', { output: report })]);
    const error = '1 must-fix: x';
    const envelope = JSON.parse(answer(result, { tool: 'msv', injectJson: true, error }).body);
    assert.deepEqual([envelope.success, envelope.error, envelope.output], [false, error, JSON.parse(report)]);
    assert.equal(answer(result, { tool: 'msv', injectOutput: true }).body, report);
  });

  const failures: [string, TextBody, string][] = [
    [
      'a failure without output',
      body([bad('c2pa', 'crashed', 'c2pa was ended by SIGSEGV (exit code 139)')]),
      'c2pa was ended by SIGSEGV (exit code 139)',
    ],
    [
      'a failure with output that is not JSON',
      body([bad('c2pa', 'failed', 'no JSON', { format: 'text', output: 'panic' })]),
      'no JSON',
    ],
    ['no result of the tool', body([]), 'c2pa returned no result'],
  ];
  for (const [what, result, error] of failures) {
    const code = result.tools[0]?.failure;
    const why = { error, ...(code === undefined ? {} : { code }) };
    it(`has success:false and the recorded error for ${what}`, () => {
      const bare = answer(result, { injectOutput: true, error });
      assert.deepEqual([bare.contentType, JSON.parse(bare.body)], [JSON_TYPE, { success: false, ...why }]);
      const { metadata, ...rest } = JSON.parse(answer(result, { error }).body);
      assert.deepEqual(rest, { success: false, ...why, output: null });
      assert.equal(metadata.request_id, ID);
    });
  }
});
