/** What a model is told of a result, before it asks for more. */
import assert from 'node:assert/strict';
import { LONGEST } from '../../../src/media/qc/verdict.ts';
import { say, type Shape } from '../../../src/service/api/mcp/result_summary.ts';
import { CHECKS } from '../../console/sample_answers.ts';

const ID = '01937c5e-8a00-7000-8000-000000000001';
const metadata = { request_id: ID, queue_time: 0, io_usage: 0 };
const summaryOf = (result: object, shape: Shape = { of: 'summary' }) => {
  const said = say({ text: JSON.stringify(result), shape, mostBytes: 24_000 });
  assert.ok('text' in said);
  const lines = said.text.split('\n');
  const fence = lines.findIndex((line) => line.startsWith('--- data '));
  return { lead: lines.slice(0, fence), data: JSON.parse(lines[fence + 1]!).data as Record<string, any> };
};
const failed = { success: false, duration: 1, usage: 1, error: 'is broken' };
const done = { success: true, duration: 1, usage: 1, response: {} };

describe('the summary of a result', () => {
  for (const [what, result, lead] of [
    ['a success', { success: true, metadata, ffprobe: done }, ['The request succeeded.']],
    [
      'a tool that failed beside one that did not',
      { success: true, metadata, ffprobe: done, mediainfo: failed },
      ['The request succeeded.', 'mediainfo failed: see the error there.'],
    ],
    [
      'a playlist that breaks rules: the validator did its work',
      { success: false, error: '1 must-fix: x', code: 'must-fix', output: {}, metadata },
      ['The stream breaks rules that it must keep: see its messages.'],
    ],
    [
      'a source that is no media',
      { success: false, error: 'an HTML page', code: 'not-media', metadata, ffprobe: failed },
      ['No tool succeeded (not-media): see error.'],
    ],
    ['a failure without a code', { success: false, error: 'x', metadata }, ['No tool succeeded: see error.']],
    [
      'two versions of which one failed',
      { success: false, error: 'fewer than two', code: 'timeout', metadata, runs: [], fields: [], summary: {} },
      ['Nothing could be compared (timeout): see error.'],
    ],
  ] as [string, object, string[]][])
    it(`of ${what}`, () => assert.deepEqual(summaryOf(result).lead, [`request_id: ${ID}`, ...lead]));

  it('a verdict about a source that cannot be read has its error and code', () => {
    const why = { error: 'it is text', code: 'not-media' };
    const policy = { outcome: 'unknown', rules: [] };
    const { data } = summaryOf({ success: false, ...why, metadata, policy }, { of: 'verdict' });
    assert.deepEqual([data['error'], data['code'], data['policy'].outcome], ['it is text', 'not-media', 'unknown']);
  });

  it('of a report with content checks has both, without the outputs of the tools', () => {
    const checked = { ...done, response: { video: [], audio: [] } };
    const { data } = summaryOf({ success: true, metadata, ffprobe: done, probe_report: done, qc: checked });
    assert.equal(data['ffprobe'].response, '[read "ffprobe.response" with get_result]');
    assert.deepEqual(data['qc'].response, checked.response);
  });

  it('of content checks counts what is waived apart', () => {
    const by = { waiver: ID, reason: 'Agreed', by: 'Ada', until: '2027-01-31T00:00:00.000Z' };
    const waived = [{ check: 'clipping', stream: 1, from: null, to: null, waived: by }];
    const qc = { ...done, response: { ...CHECKS, cut: undefined }, waived };
    const { lead, data } = summaryOf({ success: true, metadata, qc }, { of: 'qc', longest: LONGEST });
    assert.deepEqual(lead, [`request_id: ${ID}`, 'Verdict: block. Findings that are waived: 1.']);
    assert.deepEqual([data['waived'][0].text, data['waived'][0].waived], ['stream 1, clipping: peaks at 0.0 dBFS', by]);
  });

  it('a rule that is waived is not among those that passed', () => {
    const rules = [
      { name: 'a', outcome: 'pass' },
      { name: 'b', outcome: 'waived' },
    ];
    const { data } = summaryOf({ success: true, metadata, policy: { outcome: 'pass', rules } }, { of: 'verdict' });
    assert.deepEqual([data['policy'].rules_passed, data['policy'].rules_not_passed[0].name], [1, 'b']);
  });

  it('says the confidence in a field once', () => {
    const response = {
      codec: { name: 'h264' },
      container: { format: 'mp4' },
      streams: [{ codec: { name: 'h264' } }],
      confidence: { 'codec.name': 0.99, 'container.format': 0.98, 'streams[0].codec.name': 0.99 },
      warnings: [],
    };
    const { data } = summaryOf({ success: true, metadata, ffprobe: done, probe_report: { ...done, response } });
    assert.deepEqual(data['probe_report'].response.confidence, {
      'container.format': 0.98,
      'streams[0].codec.name': 0.99,
    });
    assert.deepEqual(data['probe_report'].response.codec, { name: 'h264' });
    assert.equal(data['ffprobe'].response, '[read "ffprobe.response" with get_result]');
  });
});
