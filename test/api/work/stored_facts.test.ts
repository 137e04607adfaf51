import assert from 'node:assert/strict';
import type { ProbeReport } from '../../../src/media/report/schema.ts';
import type { ReportResult, ToolResult } from '../../../src/platform/bus/result_body.ts';
import { storedFacts } from '../../../src/service/api/work/jobs.ts';
import { picture, reportOf } from '../../report/sample.ts';

const INPUT = picture();
const FRAMES = {
  frames: [{ interlaced_frame: 1, side_data_list: [{ side_data_type: 'ATSC A53 Part 4 Closed Captions' }] }],
};
const WHOLE = JSON.parse(JSON.stringify(reportOf({ ...INPUT, frames: FRAMES }))) as ProbeReport;
const TOOLS = ['ffprobe', 'mediainfo'] as const;

/** A stored result of both tools, and of a report as its caller got it. */
function storedWith(report: Partial<ProbeReport> | undefined, options: Record<string, unknown> = {}): ProbeReport {
  const texts = new Map<number, string>();
  const resultOf = <N extends string>(name: N, version: string, output: unknown) => {
    const from = texts.size * 1_000_000;
    const text = JSON.stringify(output);
    texts.set(from, text);
    return {
      name,
      version,
      success: true,
      durationMs: 1,
      usageMs: 1,
      exitCode: 0,
      signal: null,
      format: 'json' as const,
      output: { from, to: from + text.length, escaped: text.length },
    };
  };
  const tools: ToolResult[] = TOOLS.map((name) => resultOf(name, INPUT[name]!.version, INPUT[name]!.output));
  const stored: { report?: ReportResult } = report ? { report: resultOf('probe_report', '1', report) } : {};
  const facts = storedFacts({ result: { tools, ...stored }, texts, options, display: 'https://example.com/a.mp4' });
  return facts.report as ProbeReport;
}

describe('stored facts', () => {
  const { diff, ...withoutDiff } = WHOLE;

  it('are the stored report where it has its diff', () => {
    assert.ok(diff!.some(({ bitstream }) => bitstream !== undefined));
    assert.deepEqual(storedWith(WHOLE), WHOLE);
  });

  it('keep what the pictures said where the report was stored without its diff', () => {
    const report = storedWith(withoutDiff);
    assert.deepEqual(report.streams[0]?.captions, [{ kind: 'a53' }]);
    assert.equal(report.streams[0]?.scan_type, 'interlaced');
    assert.deepEqual(report.warnings, WHOLE.warnings);
    // The output of the pictures is not stored: the diff is that of both tools.
    assert.deepEqual(report.diff, reportOf(INPUT).diff);
  });

  it('are made from the tools where no report was stored, with the tool that the request preferred', () => {
    assert.deepEqual(storedWith(undefined), reportOf(INPUT));
    assert.deepEqual(
      storedWith(undefined, { probe_report: { prefer: 'mediainfo' } }),
      reportOf({ ...INPUT, prefer: 'mediainfo' }),
    );
    assert.deepEqual(storedWith(undefined, { probe_report: { prefer: 'other' } }), reportOf(INPUT));
  });
});
