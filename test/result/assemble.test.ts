import assert from 'node:assert/strict';
import { type Answer, type AnswerOptions, assemble } from '../../src/service/result/answer.ts';
import { bad, body, good } from './result_samples.ts';
import { inMemory, type TextBody } from './text_body.ts';

const ID = '0192f0c1-0000-7000-8000-000000000001';
const JSON_TYPE = 'application/json; charset=utf-8';
type TextAnswer = Answer & { body: string };
const answer = (printed: TextBody, more: Partial<AnswerOptions> = {}): TextAnswer => {
  const { result, outputs } = inMemory(printed);
  return assemble(result, { requestId: ID, queueTimeMs: 3.6, outputs, ...more }) as TextAnswer;
};
const parsed = (result: TextBody, more: Partial<AnswerOptions> = {}) =>
  JSON.parse(answer(result, more).body) as Record<string, any>;

const FF = '{\n    "format": {"size": 1e3, "big": 12345678901234567890, "dup": 1, "dup": 2}\n}\n';
const MI = '{"media":{"@ref":"x"}}';

describe('envelope of a result', () => {
  it('is as documented', () => {
    assert.deepEqual(parsed(body([good('ffprobe', '{"a":1}'), good('mediainfo', MI)])), {
      success: true,
      metadata: { request_id: ID, queue_time: 4, io_usage: 1234 },
      ffprobe: { success: true, duration: 12, usage: 12, response: { a: 1 } },
      mediainfo: { success: true, duration: 12, usage: 12, response: { media: { '@ref': 'x' } } },
    });
  });

  it('tells what each tool read, and nothing that a runner adds to it', () => {
    const use = { requests: 2, connections: 1, bytes: 1234, ms: 5 };
    const origin = { ffprobe: { ...use, extra: 'x' }, msv: use, other: use };
    assert.deepEqual(parsed(body([good('ffprobe', '{}')], { origin }))['metadata'], {
      request_id: ID,
      queue_time: 4,
      io_usage: 1234,
      origin: { ffprobe: use, mediastreamvalidator: use },
    });
  });

  it('says what became of the tags of the object, and nothing that a runner adds to it', () => {
    const tagged = { written: false, code: 'http-403', message: 'the host answered with 403', more: 'x' };
    const shown = (told: object) => parsed(body([good('ffprobe', '{}')], { tagged: told as typeof tagged }))['tagged'];
    assert.deepEqual(shown(tagged), { written: false, code: 'http-403', message: 'the host answered with 403' });
    assert.deepEqual(shown({ ...tagged, written: true }), { written: true });
  });

  it('keeps the output of a tool byte for byte', () => {
    const { body: text, contentType } = answer(body([good('ffprobe', FF), good('mediainfo', MI)]));
    assert.ok(text.includes(`"response":${FF}`));
    assert.ok(text.includes(`"response":${MI}`));
    assert.equal(contentType, JSON_TYPE);
    JSON.parse(text);
  });

  it('has the validator under its own name, even beside other tools', () => {
    const msv = good('msv', '{"success":true}');
    const result = body([good('ffprobe', '{"a":1}'), msv]);
    assert.deepEqual(parsed(result)['mediastreamvalidator'].response, { success: true });
    assert.deepEqual(parsed(result, { injectJson: true })['ffprobe'].response, {
      a: 1,
      mediastreamvalidator: { success: true },
    });
    const taken = body([good('ffprobe', '{"mediastreamvalidator":1}'), msv]);
    assert.deepEqual(parsed(taken, { injectJson: true })['ffprobe'].response, { mediastreamvalidator: 1 });
  });

  it('has the tools in one order, whichever ended first', () => {
    assert.deepEqual(Object.keys(parsed(body([good('mediainfo', MI), good('ffprobe', FF)]))), [
      'success',
      'metadata',
      'ffprobe',
      'mediainfo',
    ]);
  });

  const responses: [string, Partial<Parameters<typeof good>[2]>, unknown][] = [
    ['text of another format as a string', { format: 'text', output: 'a,"b"\n\u{1f3ac}' }, 'a,"b"\n\u{1f3ac}'],
    ['JSON-looking text of a text format as a string', { format: 'text', output: '{"a":1}' }, '{"a":1}'],
    ['invalid JSON from a runner as a string', { output: '{"a":1}, "metadata": {}' }, '{"a":1}, "metadata": {}'],
    ['no output as null', { output: null }, null],
  ];
  for (const [what, more, expected] of responses) {
    it(`has ${what}`, () => {
      const envelope = parsed(body([good('ffprobe', '', more)]));
      assert.deepEqual(envelope['ffprobe'].response, expected);
      assert.equal(envelope['metadata'].request_id, ID);
    });
  }

  it('has an error and an exit code on failure only', () => {
    const envelope = parsed(
      body([
        good('ffprobe', FF),
        bad('mediainfo', 'crashed', 'mediainfo was ended by SIGSEGV (exit code 139)', { exitCode: 139 }),
      ]),
    );
    assert.equal('error' in envelope, false);
    assert.equal('error' in envelope['ffprobe'], false);
    assert.deepEqual(envelope['mediainfo'], {
      success: false,
      duration: 5,
      usage: 5,
      error: 'mediainfo was ended by SIGSEGV (exit code 139)',
      code: 'crashed',
      exit_code: 139,
      response: null,
    });
    const unstarted = bad('ffprobe', 'unavailable', 'ffprobe 7.1 cannot be started', { exitCode: null });
    assert.equal('exit_code' in parsed(body([unstarted]))['ffprobe'], false);
    const failed = parsed(
      body([bad('ffprobe', 'failed', 'one', { output: '{"error":{"code":-1}}' }), bad('mediainfo', 'failed', 'two')]),
    );
    assert.equal(failed['success'], false);
    assert.equal(failed['error'], 'one');
    assert.deepEqual(failed['ffprobe'].response, { error: { code: -1 } });
  });

  it('omits tools that did not run, or ran for the report alone', () => {
    assert.deepEqual(Object.keys(parsed(body([good('ffprobe', FF)]))), ['success', 'metadata', 'ffprobe']);
    const report = good('ffprobe', '{"container":{}}');
    const envelope = parsed(body([good('ffprobe', FF), good('mediainfo', MI)], { report }), {
      shown: ['probe_report'],
    });
    assert.deepEqual(Object.keys(envelope), ['success', 'metadata', 'probe_report']);
    assert.deepEqual(envelope['probe_report'].response, { container: {} });
  });

  describe('inject_output', () => {
    const bare = (tool: Parameters<typeof body>[0][number]) =>
      answer(body([tool]), { shown: ['ffprobe'], injectOutput: true });
    it('returns the bare output', () =>
      assert.deepEqual(bare(good('ffprobe', FF)), { contentType: JSON_TYPE, body: FF }));
    it('returns other formats as plain text, which no browser runs', () => {
      assert.deepEqual(bare(good('ffprobe', '<script>', { format: 'text' })), {
        contentType: 'text/plain; charset=utf-8',
        body: '<script>',
      });
    });
    it('does not label invalid JSON as JSON, even if the runner reports success', () => {
      for (const output of ['streams,0', '{"a":']) {
        const lying = good('ffprobe', output, { format: 'text' });
        assert.deepEqual(answer(body([lying]), { shown: ['ffprobe'], injectOutput: true, bareType: JSON_TYPE }), {
          contentType: 'text/plain; charset=utf-8',
          body: output,
        });
      }
    });
    it('returns the error if there is no output', () => {
      assert.deepEqual(bare(bad('ffprobe', 'timeout', 'timed out')), {
        contentType: JSON_TYPE,
        body: '{"success":false,"error":"timed out","code":"timeout"}',
      });
    });
    it('has no effect unless one tool is selected', () => {
      assert.ok(
        answer(body([good('ffprobe', FF), good('mediainfo', MI)]), { injectOutput: true }).body.startsWith(
          '{"success":true',
        ),
      );
    });
  });

  describe('inject_json', () => {
    const report = good('ffprobe', '{"r":1}');
    const inject = (tools: Parameters<typeof body>[0], more: Parameters<typeof body>[1] = {}) =>
      parsed(body(tools, more), { injectJson: true });
    it("adds the other responses after the document's own members", () => {
      const envelope = inject([good('ffprobe', '{"a":1}'), good('mediainfo', MI), good('c2pa', '{"c":1}')], { report });
      assert.deepEqual(envelope['ffprobe'].response, {
        a: 1,
        mediainfo: JSON.parse(MI),
        probe_report: { r: 1 },
        c2pa: { c: 1 },
      });
      assert.deepEqual(envelope['mediainfo'].response, JSON.parse(MI));
    });
    it('never changes its own members', () => {
      const { body: text } = answer(body([good('ffprobe', FF), good('mediainfo', MI)]), { injectJson: true });
      assert.ok(text.includes(`"response":${FF.slice(0, FF.lastIndexOf('}'))},"mediainfo":${MI}}`));
    });
    it('keeps its own member of the same name', () => {
      assert.deepEqual(inject([good('ffprobe', '{"mediainfo":"own"}'), good('mediainfo', MI)])['ffprobe'].response, {
        mediainfo: 'own',
      });
    });
    it('fills an empty object', () => {
      assert.deepEqual(inject([good('ffprobe', ' { } \n'), good('mediainfo', MI)])['ffprobe'].response, {
        mediainfo: JSON.parse(MI),
      });
    });
    it('uses mediainfo if ffprobe did not run or is not an object', () => {
      for (const tools of [
        [good('mediainfo', '{"m":1}')],
        [good('ffprobe', 'text', { format: 'text' as const }), good('mediainfo', '{"m":1}')],
        [good('ffprobe', '[1]'), good('mediainfo', '{"m":1}')],
      ]) {
        assert.deepEqual(inject(tools, { report })['mediainfo'].response, { m: 1, probe_report: { r: 1 } });
      }
    });
    it('omits failed tools, and adds text as a string', () => {
      assert.deepEqual(
        inject([good('ffprobe', '{"a":1}'), bad('mediainfo', 'failed', 'x', { output: MI })])['ffprobe'].response,
        { a: 1 },
      );
      assert.deepEqual(
        inject([good('ffprobe', '{"a":1}'), good('mediainfo', 'text', { format: 'text' })])['ffprobe'].response,
        { a: 1, mediainfo: 'text' },
      );
    });
    it('has no effect with a single tool, or without any object', () => {
      assert.deepEqual(
        parsed(body([good('ffprobe', '{"a":1}'), good('mediainfo', MI)]), { injectJson: true, shown: ['ffprobe'] })[
          'ffprobe'
        ].response,
        { a: 1 },
      );
      assert.equal(
        inject([good('ffprobe', 'x', { format: 'text' }), good('mediainfo', 'y', { format: 'text' })])['ffprobe']
          .response,
        'x',
      );
    });
  });
});
