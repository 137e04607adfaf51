import assert from 'node:assert/strict';
import { assemble } from '../../src/service/result/answer.ts';
import type { FileTool } from '../../src/media/tools/table.ts';
import { inMemory, type TextBody, type TextToolResult } from './text_body.ts';

const tool = (name: TextToolResult['name'], usageMs: number): TextToolResult => ({
  name,
  version: '1.0',
  success: true,
  durationMs: usageMs,
  usageMs,
  exitCode: 0,
  signal: null,
  format: 'json',
  output: `{"of":"${name}"}`,
});
const body: TextBody = {
  tools: [tool('ffprobe', 20), tool('mediainfo', 30)],
  report: { ...tool('ffprobe', 0), name: 'probe_report', durationMs: 2, output: '{"report":1}' },
  ioUsage: 1,
};
const answer = (shown: FileTool[], more: object = {}) => {
  const { result, outputs } = inMemory(body);
  return assemble(result, {
    outputs,
    requestId: 'r',
    queueTimeMs: 0,
    shown,
    ...more,
  }) as { body: string };
};
/** A large body comes in pieces. */
const text = (shown: FileTool[], more: object = {}) => [answer(shown, more).body].flat().map(String).join('');
const part = (shown: FileTool[]) => (JSON.parse(text(shown)) as { probe_report: unknown }).probe_report;

describe('probe_report in the envelope', () => {
  it('has no duration beside tools that ran anyway', () =>
    assert.deepEqual(part(['ffprobe', 'mediainfo', 'probe_report']), {
      success: true,
      duration: 2,
      usage: 0,
      response: { report: 1 },
    }));
  it('has the duration of tools that ran for it alone', () =>
    assert.deepEqual(part(['probe_report']), { success: true, duration: 32, usage: 50, response: { report: 1 } }));
  it('has the duration of the tool that is not shown', () =>
    assert.deepEqual(part(['ffprobe', 'probe_report']), {
      success: true,
      duration: 32,
      usage: 30,
      response: { report: 1 },
    }));
  it('is the whole response if it is the only one and bare', () =>
    assert.equal(text(['probe_report'], { injectOutput: true }), '{"report":1}'));
  it('is injected into the first document', () =>
    assert.equal(
      (
        JSON.parse(text(['ffprobe', 'probe_report'], { injectJson: true })) as {
          ffprobe: { response: { probe_report: unknown } };
        }
      ).ffprobe.response.probe_report instanceof Object,
      true,
    ));
  it('is absent if it was not requested', () => assert.ok(!text(['ffprobe', 'mediainfo']).includes('probe_report')));
});
