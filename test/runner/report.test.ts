import assert from 'node:assert/strict';
import type { AssignedTool, Assignment } from '../../src/platform/bus/messages.ts';
import { joinResult } from '../../src/platform/bus/packing.ts';
import { unpackText } from '../result/text_body.ts';
import { packResult, type RawToolResult } from '../../src/service/runner/output.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { framesRun, readPictures, reportOf, runsForReport, type FramesRan } from '../../src/service/runner/report.ts';
import type { ProbeReport } from '../../src/media/report/schema.ts';
import { extensionOf } from '../../src/source/playlist/mapping.ts';
import { rawResult } from './raw_result.ts';
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
const result = (name: 'ffprobe' | 'mediainfo', more: Partial<RawToolResult> = {}): RawToolResult =>
  rawResult(name, outputs[name === 'ffprobe' ? 'ffprobe 9.0' : 'mediainfo 26.10'], more);
const same = (text: string) => text;

const resultOf = (...given: Parameters<typeof reportOf>) => reportOf(...given)?.result;

describe('probe report in the runner', () => {
  for (const [name, options] of [
    ['ffprobe', { output_format: 'csv' }],
    ['ffprobe', { show_streams: 'false' }],
    ['ffprobe', { select_streams: 'a' }],
    ['ffprobe', { show_frames: 'true' }],
    ['ffprobe', { show_entries: 'format=size', show_format: 'false', show_programs: 'false', show_chapters: 'false' }],
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
  for (const [what, asked, frames, expected] of [
    ['the pictures of h264', {}, undefined, true],
    ['none on request', {}, 'never', false],
    ['those of 5.1', { version: '5.1' }, 'auto', true],
  ] as const) {
    it(`reads ${what} as a third witness`, () => {
      const probe = { ...tool('ffprobe', { probesize: '1000', show_packets: 'true' }), ...asked };
      const given = assignment([probe], {
        report: { enabled: true, diff: true, prefer: null, ...(frames ? { frames } : {}) },
      });
      const output = {
        streams: [{ index: 0, codec_type: 'video', codec_name: 'h264' }],
        format: { format_name: 'matroska,webm' },
      };
      const made = framesRun(given, [result('ffprobe', { output: Buffer.from(JSON.stringify(output)) })]);
      assert.equal(made !== undefined, expected);
      if (!made) return;
      assert.ok('captions' in made);
      const { options } = made.pictures!;
      assert.deepEqual(
        [options['probesize'], options['show_packets'], options['select_streams']],
        ['1000', undefined, '0'],
      );
    });
  }
  it('reads no pictures of a stream, without a report, or of what ffprobe cannot read', () => {
    const source = parseSource('rtmp://example.com/live');
    assert.equal(framesRun(assignment([tool('ffprobe')], { source }), [result('ffprobe')]), undefined);
    const off = { report: { enabled: false, diff: true, prefer: null } };
    assert.equal(framesRun(assignment([tool('ffprobe')], off), [result('ffprobe')]), undefined);
    assert.equal(framesRun(assignment([tool('ffprobe')]), [result('ffprobe', { success: false })]), undefined);
  });
  it('counts the time of the pictures as that of the report', () => {
    const pictures = result('ffprobe', { output: Buffer.from('{}'), usageMs: 7 });
    const given = assignment([tool('ffprobe')]);
    assert.equal(
      resultOf(given, [result('ffprobe')], [], same, { pictures: { ran: [pictures, pictures] } })?.usageMs,
      14,
    );
  });
  it('reads the first pictures of a run that failed behind them', () => {
    const frames = [{ interlaced_frame: 0, side_data_list: [{ side_data_type: 'Dolby Vision Metadata' }] }];
    const failed = { success: false, error: 'no seeking', output: Buffer.from(JSON.stringify({ frames })) };
    const { output } = resultOf(assignment([]), [result('ffprobe')], [], same, {
      pictures: { ran: [], printed: result('ffprobe', failed) },
    })!;
    const { streams, warnings } = JSON.parse(output!.toString()) as ProbeReport;
    assert.deepEqual([streams[0]?.looked_at?.pictures, streams[0]?.hdr?.dolby_vision_rpu], [1, true]);
    assert.ok(!warnings.some(({ code }) => code === 'pictures-not-read'));
  });
  const PLACE = '4741 3934 0341 0000 ';
  for (const [what, printed, captioned, runs] of [
    [
      'pictures with captions',
      '{"interlaced_frame": 0, "side_data_type": "ATSC A53 Part 4 Closed Captions"}',
      false,
      'pc',
    ],
    ['pictures without', '{"interlaced_frame": 0}', true, 'p'],
    ['no picture that ffprobe decodes, and packets with captions', '{"frames": []}', true, 'pfc'],
    ['no picture that ffprobe decodes, and packets without', '{"frames": []}', false, 'pf'],
    ['packets with captions', undefined, true, 'fc'],
    ['packets without', undefined, false, 'f'],
  ] as const)
    it(`asks which captions there are where some are seen: ${what}`, async () => {
      const [p, f, c] = ['p', 'f', 'c'].map((name) => tool('ffprobe', { name }));
      const ran: string[] = [];
      await readPictures(
        { ...(printed === undefined ? {} : { pictures: p! }), first: f!, captions: c! },
        () => 1_000,
        async (one, push) => {
          ran.push(one.options['name']!);
          const packet = `[PACKET]\npts_time=1\ndata=\n00000000: ${captioned ? PLACE : '0000 '} ...\n[/PACKET]\n`;
          push?.(Buffer.from(packet));
          return result('ffprobe', { output: Buffer.from(printed ?? '') });
        },
      );
      assert.equal(ran.join(''), runs);
    });
  it('begins no run for which no time is left', async () => {
    const asked = { pictures: tool('ffprobe'), first: tool('ffprobe'), captions: tool('ffprobe') };
    const times = [5, 0];
    const read = await readPictures(
      asked,
      () => times.shift()!,
      async () => result('ffprobe', { output: null }),
    );
    assert.equal(read.ran.length, 1);
    const late = await readPictures(
      asked,
      () => 0,
      async () => assert.fail('a run began'),
    );
    assert.deepEqual(late, { ran: [], unread: 'no time was left to read pictures' });
  });
  it('says why it read no pictures', () => {
    const given = assignment([{ ...tool('ffprobe'), version: '5.0' }], {
      report: { enabled: true, diff: true, prefer: null, frames: 'always' },
    });
    const asked = framesRun(given, [result('ffprobe')]);
    assert.ok(asked && 'unread' in asked);
    const old: FramesRan = { ran: [], ...asked };
    const none: FramesRan = { ran: [], printed: result('ffprobe', { output: Buffer.from('{"frames": []}') }) };
    const late: FramesRan = {
      ran: [],
      printed: result('ffprobe', { success: false, error: 'ffprobe did not finish', output: null }),
    };
    for (const [pictures, why] of [
      [old, 'ffprobe 5.0 cannot list what pictures carry, as 5.1 and later can'],
      [none, 'ffprobe decoded none of the pictures'],
      [late, 'ffprobe did not finish'],
    ] as const) {
      const { output } = resultOf(given, [result('ffprobe')], [], same, { pictures })!;
      const { warnings } = JSON.parse(output!.toString()) as { warnings: { code: string; message: string }[] };
      const { message } = warnings.find(({ code }) => code === 'pictures-not-read')!;
      assert.ok(message.startsWith(`${why}: `), message);
    }
  });
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
