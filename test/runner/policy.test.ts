import assert from 'node:assert/strict';
import type { Assignment } from '../../src/platform/bus/messages.ts';
import type { Policy, Rule } from '../../src/media/policy/schema.ts';
import type { RawToolResult } from '../../src/service/runner/output.ts';
import { verdictIn } from '../../src/service/runner/policy.ts';
import { reportOf } from '../../src/service/runner/report.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { rawResult } from './raw_result.ts';
import { outputsOf } from '../report/sample.ts';

const outputs = outputsOf('picture_and_sound.mkv');
const both = [rawResult('ffprobe', outputs['ffprobe 9.0']), rawResult('mediainfo', outputs['mediainfo 26.10'])];
const assigned = (rules: Rule[], more: Partial<Assignment> = {}): Assignment => ({
  kind: 'file',
  source: parseSource('https://example.com/a/b.mkv'),
  tools: [],
  timeoutMs: 1000,
  maxBytes: 1,
  allow: [],
  report: { enabled: true, diff: true, prefer: null },
  policy: { name: 'house', revision: 7, document: { rules } satisfies Policy },
  ...more,
});
const same = (text: string) => text;
function judged(
  assignment: Assignment,
  {
    tools = both,
    own = [],
    redact = same,
  }: { tools?: RawToolResult[]; own?: RawToolResult[]; redact?: typeof same } = {},
) {
  const report = reportOf(assignment, tools, own, redact);
  return { report, verdict: verdictIn(assignment, { tools, own, report: report?.seen }, redact) };
}
const raw: Rule = { name: 'raw', tool: 'ffprobe', path: 'format.format_name', is: 'matroska,webm' };

describe('policy in the runner', () => {
  it('is named with its revision in the verdict', () => {
    const { verdict } = judged(assigned([{ name: 'wrapper', field: 'container.format', is: 'matroska' }]));
    assert.deepEqual([verdict?.name, verdict?.revision, verdict?.outcome], ['house', 7, 'pass']);
  });

  it('no policy: no verdict', () => assert.equal(judged(assigned([], { policy: undefined })).verdict, undefined));

  it('judges disagreement even if the caller wants no diff, and the report shows none', () => {
    const rules: Rule[] = [{ name: 'agree', disagreement: { 'at-most': 1_000 } }];
    const { report, verdict } = judged(assigned(rules, { report: { enabled: true, diff: false, prefer: null } }));
    assert.equal(verdict?.outcome, 'pass');
    assert.equal('diff' in (JSON.parse(report!.result.output!.toString()) as object), false);
  });

  it('reads the run for the report if the caller shaped the output', () => {
    const csv = rawResult('ffprobe', 'format,1', { format: 'text' });
    assert.equal(judged(assigned([raw]), { tools: [csv, both[1]!], own: [both[0]!] }).verdict?.outcome, 'pass');
  });

  it('an output over the size limit is unknown, with the reason', () => {
    const large = rawResult('ffprobe', { format: { format_name: 'x'.repeat(17 * 1024 * 1024) } });
    const { verdict } = judged(assigned([raw]), { tools: [large, both[1]!] });
    assert.equal(verdict?.outcome, 'unknown');
    assert.match(verdict?.rules[0]?.message ?? '', /too large/);
  });

  it('every rule is unknown without a result', () => {
    const tools = both.map((tool) => ({ ...tool, success: false, output: null }));
    const { verdict } = judged(assigned([{ name: 'wrapper', field: 'container.format', is: 'mp4' }, raw]), { tools });
    assert.deepEqual(
      verdict?.rules.map(({ outcome }) => outcome),
      ['unknown', 'unknown'],
    );
  });

  it('the verdict shows redacted values, as callers see them', () => {
    const ffprobe = rawResult('ffprobe', {
      format: { format_name: 'mov', filename: 'http://127.0.0.1:9/SECRET/a.mp4' },
    });
    const rule: Rule = { name: 'raw', tool: 'ffprobe', path: 'format.filename', is: 'x' };
    const { verdict } = judged(assigned([rule]), {
      tools: [ffprobe],
      redact: (text) => text.replaceAll('http://127.0.0.1:9/SECRET', 'https://example.com'),
    });
    assert.equal(verdict?.rules[0]?.actual, 'https://example.com/a.mp4');
  });

  it('judges the report of an HLS validator that found faults, too', () => {
    const msv = rawResult(
      'msv',
      { success: false, summary: { must_fix: 1 }, messages: [{ level: 'must-fix', code: 'x', url: null }] },
      { success: false, failure: 'failed', error: '1 must-fix' },
    );
    const assignment = assigned([{ name: 'hls', findings: { 'must-fix': 0 } }], { kind: 'msv' });
    assert.equal(judged(assignment, { tools: [msv] }).verdict?.outcome, 'fail');
  });

  it('a document that this runner cannot read is unknown, with the reason', () => {
    const { verdict } = judged(
      assigned([{ name: 'new', field: 'container.format', resembles: 'mp4' } as unknown as Rule]),
    );
    assert.equal(verdict?.outcome, 'unknown');
    assert.match(verdict?.rules[0]?.message ?? '', /^the policy could not be evaluated: rules\[0\]/);
  });
});
