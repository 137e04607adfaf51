import assert from 'node:assert/strict';
import type { AssignedTool, Assignment } from '../../src/platform/bus/messages.ts';
import { joinResult } from '../../src/platform/bus/packing.ts';
import { unpackText } from '../result/text_body.ts';
import { packResult, type RawToolResult } from '../../src/service/runner/output.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { reportOf, runsForReport } from '../../src/service/runner/report.ts';
import { extensionOf } from '../../src/source/playlist/mapping.ts';
import { outputsOf } from '../report/sample.ts';

const tool = (name: AssignedTool['name'], options: Record<string, string> = {}): AssignedTool => ({
  name,
  version: '9.0',
  timeoutMs: 1000,
  options,
  command: [],
});
const assignment = (tools: AssignedTool[], more: Partial<Assignment> = {}): Assignment => ({
  kind: 'file',
  source: parseSource('https://example.com/a/b.mkv?x=1'),
  tools,
  timeoutMs: 1000,
  maxBytes: 1,
  allow: [],
  report: { enabled: true, diff: true, prefer: null },
  ...more,
});
const outputs = outputsOf('picture_and_sound.mkv');
const result = (name: 'ffprobe' | 'mediainfo', more: Partial<RawToolResult> = {}): RawToolResult => ({
  name,
  version: '9.0',
  success: true,
  durationMs: 10,
  usageMs: 10,
  exitCode: 0,
  signal: null,
  format: 'json',
  output: Buffer.from(JSON.stringify(outputs[name === 'ffprobe' ? 'ffprobe 9.0' : 'mediainfo 26.10'])),
  ...more,
});
const same = (text: string) => text;

const resultOf = (...given: Parameters<typeof reportOf>) => reportOf(...given)?.result;

describe('probe report in the runner', () => {
  for (const [name, options] of [
    ['ffprobe', { output_format: 'csv' }],
    ['ffprobe', { show_streams: 'false' }],
    ['ffprobe', { select_streams: 'a' }],
    ['ffprobe', { show_frames: 'true' }],
    ['ffprobe', { sexagesimal: 'true' }],
    ['mediainfo', { output: 'XML' }],
    ['mediainfo', { language: 'de' }],
  ] as const) {
    it(`runs ${name} once more for it with ${JSON.stringify(options)}`, () => {
      assert.deepEqual(runsForReport(assignment([tool(name, { ...options, probesize: '1000' })])), [
        tool(name, { probesize: '1000' }),
      ]);
    });
  }
  it('runs no tool again otherwise', () => {
    assert.deepEqual(
      runsForReport(
        assignment([
          tool('ffprobe', { probesize: '5', count_frames: 'true' }),
          tool('mediainfo', { full: 'true', parse_speed: '1' }),
        ]),
      ),
      [],
    );
    assert.deepEqual(
      runsForReport(
        assignment([tool('ffprobe', { output_format: 'csv' })], {
          report: { enabled: false, diff: true, prefer: null },
        }),
      ),
      [],
    );
  });

  it('uses the run made for it, and counts its time', () => {
    const csv = result('ffprobe', { format: 'text', output: Buffer.from('format,1') });
    const made = resultOf(assignment([]), [csv, result('mediainfo')], [result('ffprobe', { usageMs: 33 })], same)!;
    assert.equal(made.success, true);
    assert.equal(made.usageMs, 33);
    assert.deepEqual(
      (JSON.parse(made.output!.toString()) as { warnings: { code: string }[] }).warnings.filter(
        ({ code }) => code === 'single-source',
      ),
      [],
    );
  });
  it('costs no time if the results exist anyway', () =>
    assert.equal(resultOf(assignment([]), [result('ffprobe'), result('mediainfo')], [], same)!.usageMs, 0));
  it('one tool failed: from the other, with a warning', () => {
    const made = resultOf(
      assignment([]),
      [result('ffprobe', { success: false, output: null }), result('mediainfo')],
      [],
      same,
    )!;
    assert.ok(
      (JSON.parse(made.output!.toString()) as { warnings: { code: string }[] }).warnings.some(
        ({ code }) => code === 'single-source',
      ),
    );
  });
  it('both failed, or unreadable: no success', () => {
    for (const broken of [{ success: false }, { output: null }, { output: Buffer.from('{') }]) {
      const made = resultOf(assignment([]), [result('ffprobe', broken), result('mediainfo', broken)], [], same)!;
      assert.deepEqual(
        [made.success, made.output, made.error],
        [false, null, 'neither ffprobe nor mediainfo gave a result to report on'],
      );
    }
  });
  it('not requested: none', () =>
    assert.equal(
      resultOf(assignment([], { report: { enabled: false, diff: true, prefer: null } }), [result('ffprobe')], [], same),
      undefined,
    ));
  it("secrets in the tools' output are redacted in the report, too", () => {
    const made = resultOf(
      assignment([]),
      [
        result('ffprobe', {
          output: Buffer.from(
            JSON.stringify({ streams: [], format: { format_name: 'avi', tags: { title: 'SECRET' } } }),
          ),
        }),
      ],
      [],
      (text) => text.replaceAll('SECRET', 'REDACTED'),
    )!;
    assert.ok(made.output!.includes('REDACTED') && !made.output!.includes('SECRET'));
  });
  it('is part of the published result', async () => {
    const report = resultOf(assignment([]), [result('ffprobe'), result('mediainfo')], [], same)!;
    const { header, chunks } = await packResult({ tools: [result('ffprobe')], report, ioUsage: 5 }, same, {
      job: 'j',
      attempt: 1,
      epoch: 1,
      podUid: 'u',
    });
    const body = await unpackText(joinResult(header, chunks));
    assert.equal(body.report?.output, report.output!.toString());
    assert.equal(body.report?.name, 'probe_report');
    assert.equal(body.tools[0]?.name, 'ffprobe');
    assert.equal(body.ioUsage, 5);
  });

  for (const [source, extension] of [
    ['https://a.b/c/d.MP4?e=f.mkv', 'mp4'],
    ['s3://KEY:SEC/RET.x@bucket/path/a.ts', 'ts'],
    ['https://a.com', undefined],
    ['https://a.b/c.tar.gz/d', undefined],
    ['https://a.b/c.d/', undefined],
    ['https://a.b/noext#x.mp4', undefined],
  ] as const) {
    it(`the name in ${source} ends in ${extension}`, () => assert.equal(extensionOf(parseSource(source)), extension));
  }
});
