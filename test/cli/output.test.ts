/** What is printed for CI systems and people, with texts that try to break out. */
import assert from 'node:assert/strict';
import { readXml } from './xml.ts';
import { ciText } from '../../src/cli/output/for_ci.ts';
import type { Judged } from '../../src/media/ci_formats/judged.ts';
import { colourOf, tableText } from '../../src/cli/output/text_table.ts';
import type { Standing, Timeline } from '../../src/api_types.ts';
import { timelineText } from '../../src/cli/output/timeline_text.ts';
import type { C2paReport, QcWaived } from '../../src/api_types.ts';
import { partsText } from '../../src/cli/output/section_text.ts';
import { contentChecks } from '../../src/media/answer/content.ts';
import { provenance } from '../../src/media/answer/provenance.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { standingLine } from '../../src/cli/follow_request.ts';
import { shownSource } from '../../src/cli/given_source.ts';
import { CHECKS, CLEAN_CHECKS } from '../console/sample_answers.ts';
import { DAMAGE, QUIET_AUDIO } from '../qc/reports.ts';
import { EXIT, Failure, masked, reasonText, type Reason } from '../../src/cli/exits.ts';

const HOSTILE = '<&"\'>]]>\u0000\u001b[31m\ud800 100%\r\n::error::x,y:z';
const judged: Judged[] = [
  {
    subject: 'https://media.example.com/a.mp4?sig=REDACTED',
    by: 'house revision 3',
    outcome: 'fail',
    findings: [
      { rule: 'codec', outcome: 'pass', blocking: true, message: 'h264 is h264' },
      {
        rule: HOSTILE,
        outcome: 'fail',
        blocking: true,
        message: HOSTILE,
        place: 'video[0].size.width',
        detail: HOSTILE,
      },
      { rule: 'soft', outcome: 'warn', blocking: false, message: 'a bit long' },
      { rule: 'open', outcome: 'unknown', blocking: true, message: 'mediainfo failed' },
      { rule: 'none', outcome: 'not-applicable', blocking: true, message: 'no audio' },
      { rule: 'line', outcome: 'fail', blocking: true, message: 'm', url: 'https://media.example.com/m.m3u8', line: 7 },
    ],
  },
  { subject: 'https://media.example.com/b.mp4', by: 'house', outcome: 'unknown', findings: [], error: HOSTILE },
];

describe('reports for CI systems', () => {
  it('JUnit: is well-formed, counts each outcome, and has an error where nothing could be judged', async () => {
    const { elements, texts } = readXml(await ciText('junit', judged));
    const [suites] = elements.filter(({ name }) => name === 'testsuites');
    assert.deepEqual(
      [suites!.attributes['failures'], suites!.attributes['errors'], suites!.attributes['skipped']],
      ['2', '2', '1'],
    );
    assert.equal(elements.filter(({ name }) => name === 'testcase').length, 7);
    assert.equal(elements.filter(({ name }) => name === 'failure').length, 2);
    assert.equal(elements.filter(({ name }) => name === 'error').length, 2);
    assert.ok(texts.some((text) => text.includes('warning: a bit long')));
  });

  it('SARIF: an unknown result is open, and the run is then not successful', async () => {
    const log = JSON.parse(await ciText('sarif', judged));
    const [{ results, invocations, tool }] = log.runs;
    assert.equal(log.version, '2.1.0');
    assert.deepEqual(
      results.map(({ kind, level }: { kind: string; level: string }) => `${kind} ${level}`),
      ['pass none', 'fail error', 'fail warning', 'open none', 'notApplicable none', 'fail error'],
    );
    assert.equal(invocations[0].executionSuccessful, false);
    assert.equal(invocations[0].toolExecutionNotifications.length, 2);
    assert.equal(tool.driver.rules.length, 6);
    assert.deepEqual(results[5].locations[0].physicalLocation, {
      artifactLocation: { uri: 'https://media.example.com/m.m3u8' },
      region: { startLine: 7 },
    });
  });

  it('GitHub: each annotation is one command, whatever a message contains', async () => {
    const lines = (await ciText('github', judged)).trimEnd().split('\n');
    assert.equal(lines.length, 5);
    for (const line of lines) assert.match(line, /^::(?:error|warning) title=[^:,]*::/);
    assert.ok(lines[0]!.includes('%25') && lines[0]!.includes('%0A') && !lines[0]!.includes('\u001b'));
  });

  it('of files that pass, GitHub is told nothing', async () =>
    assert.equal(await ciText('github', [{ ...judged[0]!, findings: [judged[0]!.findings[0]!] }]), ''));
});

describe('tables', () => {
  it('show no control character of a cell, and are cut on terminals alone', () => {
    const rows = [['a', `x${HOSTILE}${'y'.repeat(200)}`]];
    const piped = tableText({ colour: false, interactive: false, width: 80 }, ['A', 'B'], rows);
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(piped.replaceAll('\n', ''), /[\u0000-\u001f\u007f-\u009f]/);
    assert.equal(piped.split('\n').length, 3);
    assert.ok(piped.includes('y'.repeat(200)));
    const shown = tableText({ colour: false, interactive: true, width: 80 }, ['A', 'B'], rows);
    assert.ok(shown.split('\n').every((line) => line.length <= 80));
  });
});

describe('colours', () => {
  for (const [word, colour] of [
    ['skipped', 'yellow'],
    ['Valid', 'yellow'],
    ['blocks', 'red'],
    ['Trusted', 'green'],
    ['running', 'green'],
    ['waiting', undefined],
  ] as const)
    it(`${word} is ${colour ?? 'plain'}`, () => assert.equal(colourOf(word), colour));
});

describe('timelines', () => {
  const stream: Timeline['streams'][number] = {
    index: 0,
    type: 'video',
    codec: 'h264',
    start: 0,
    end: 4,
    packets: 100,
    bytes: 50_000,
    untimed: 0,
    step: 1,
    first: 0,
    bits: [400_000, 0, 0, 0],
    counts: [25, 25, 25, 25],
    keys: { count: 2, every: false, times: [0, 2] },
    gops: { count: 2, min: 2, mean: 2, max: 2 },
    gaps: { count: 1, list: [[1, 0.29]] },
    jumps: { count: 7, list: [0, 1, 2, 3, 4, 5].map((at) => [at, -0.5]) },
  };
  const text = (...streams: Timeline['streams']): string =>
    timelineText({ colour: false, interactive: false, width: 80 } as Terminal, {
      success: true,
      request_id: '',
      version: '9.0',
      streams_left_out: 0,
      streams,
    });

  it('are a line for each stream, and the first gaps and jumps', () => {
    const lines = text(stream, { ...stream, index: 1, type: 'audio', gaps: { count: 0, list: [] } }).split('\n');
    assert.match(lines[1]!, /^0 +video +h264 +0\.00 to 4\.00 s +100\.0 kbit\/s +400\.0 kbit\/s +2, every 2\.00 s/);
    assert.match(lines[2]!, /^1 +audio .* 400\.0 kbit\/s +█▁▁▁$/);
    assert.equal(lines[3], 'timeline 1 gap in stream 0: 0.29 s at 1.00 s');
    assert.match(lines[4]!, /^timeline 7 time jumps in stream 0: 0\.50 s at 0\.00 s, .* s at 4\.00 s …$/);
    assert.match(lines[5]!, /^timeline 7 time jumps in stream 1: /);
  });

  it('of a stream without times and packets are whole, too', () => {
    const empty = { ...stream, start: null, end: null, bits: [], bytes: 0, gops: null, type: null, codec: null };
    assert.match(text(empty), /^0 +\? to \? s /m);
    const long = { ...stream, bits: Array.from({ length: 4_000 }, (_, at) => at % 7) };
    assert.match(text(long), / [▁▂▃▄▅▆▇█]{48}$/m);
  });
});

describe('content checks', () => {
  const lines = (report: typeof CHECKS, waived: QcWaived[] = [], terminal: Partial<Terminal> = {}): string[] =>
    partsText(
      { colour: false, interactive: false, width: 80, ...terminal } as Terminal,
      contentChecks(report, waived).parts,
    )
      .trimEnd()
      .split('\n')
      .map((line) => line.replaceAll(/ +/g, ' '));

  it('are the findings with their times, how loud each stream is, and how far they came', () => {
    assert.deepEqual(lines(CHECKS), [
      '2 streams decoded. 2 black passages in stream 0, 1 silence in stream 1. ' +
        'Cut short at 50.00 s: qc did not finish within 60000 ms\ufffd',
      'FINDING STREAM FROM TO LASTS MORE',
      'clipping 1 peaks at 0.0 dBFS',
      'duration 1 50.00 s decoded, 60.00 s declared',
      'black passage 0 0.00 s 2.50 s 2.50 s',
      'black passage 0 1 further finding not listed',
      'silence 1 40.00 s 50.00 s 10.00 s to the end',
      'STREAM TYPE DECODED LOUDNESS SHORT TERM RANGE TRUE PEAK SAMPLE PEAK',
      '0 video 60.00 s',
      '1 audio 50.00 s -23.0 LUFS -18.2 LUFS 5.0 LU 0.3 dBTP 0.0 dBFS',
      'Stream 9 (audio) was not checked: only the first 8 audio streams are checked',
    ]);
  });

  it('tones have their frequency and level', () => {
    const tones = [
      { from: 0, to: 5, to_end: false, frequency: 1_000, level: -18.02 },
      { from: 6, to: 9, to_end: true, frequency: 440.1, level: -20 },
    ];
    const audio = [{ ...CHECKS.audio[0]!, ...QUIET_AUDIO, test_tones: { count: 2, list: tones, more: 0 } }];
    const found = lines({ ...CLEAN_CHECKS, audio, not_checked: [] }).filter((line) => line.startsWith('test tone'));
    assert.deepEqual(found, [
      'test tone 1 0.00 s 5.00 s 5.00 s 1000 Hz at -18.0 dBFS',
      'test tone 1 6.00 s 9.00 s 3.00 s to the end 440.1 Hz at -20.0 dBFS',
    ]);
  });

  it('what blocks comes first and in red, before five passages of each check', () => {
    const list = Array.from({ length: 60 }, (_, at) => ({ from: at, to: at + 0.5, to_end: false }));
    const many = { count: 60, list, more: 0 };
    const video = [{ ...CHECKS.video[0]!, black: many, freeze: many }];
    const told = lines({ ...CHECKS, ...DAMAGE['errors'], video }, [], { colour: true });
    const at = told.findIndex((line) => line.includes('FINDING'));
    assert.ok(told[at + 1]!.startsWith('\u001b[31mdecode errors blocks\u001b[0m 0 9: 4.20 s'), told[at + 1]);
    const ofEach = (noun: string) => told.slice(at + 2).filter((line) => line.startsWith(`${noun} 0`)).length;
    assert.deepEqual([ofEach('black passage'), ofEach('freeze')], [5, 5]);
    assert.ok(told.includes('and 110 more'), told.join('\n'));
  });

  it('a text that is too long for the terminal stands below its row', () => {
    const told = lines({ ...CHECKS, ...DAMAGE['errors'] }, [], { interactive: true, width: 80 });
    const at = told.findIndex((line) => line.startsWith('decode errors'));
    assert.equal(told[at], 'decode errors blocks 0');
    assert.match(told[at + 1]!, /^ 9: 4\.20 s \(byte 4200\) slice CRC mismatch; .* …$/);
    assert.ok(told.includes('clipping 1 peaks at 0.0 dBFS'), told.join('\n'));
  });

  it('that looked for damage say what is broken, and which file it was', () => {
    const [lead, , found] = lines({ ...CLEAN_CHECKS, not_checked: [], ...DAMAGE['sums'] });
    assert.equal(lead, `1 stream decoded. The file: SHA-256 ${'2'.repeat(64)}, 9000 bytes, as given.`);
    assert.equal(found, 'checksum blocks the CRC-32 of Matroska is wrong, 2 of 9 (byte 961)');
  });

  it('what is waived is told apart, each with its reason, fifty at most on a terminal', () => {
    const by = { waiver: 'id', reason: 'Slate\u202e', by: null, until: '2027-01-31T00:00:00.000Z' };
    const waived = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ check: 'black' as const, stream: 0, from: n, to: n + 1, waived: by }));
    const told = lines(CHECKS, waived(52), { interactive: true, width: 200 }).filter((line) =>
      /^black 0|^and /.test(line),
    );
    const piped = lines(CHECKS, waived(52)).filter((line) => /^black 0|^and /.test(line));
    assert.equal(piped.length, 52);
    assert.equal(told[0], 'black 0 0.00 s 1.00 s waived until 2027-01-31: Slate\ufffd');
    assert.deepEqual([told.length, told.at(-1)], [51, 'and 2 more']);
  });

  it('that found nothing are a sentence and what was decoded', () =>
    assert.deepEqual(lines({ ...CLEAN_CHECKS, not_checked: [] }), [
      '1 stream decoded.',
      'STREAM TYPE DECODED LOUDNESS SHORT TERM RANGE TRUE PEAK SAMPLE PEAK',
      '0 video 60.00 s',
    ]));
});

describe('provenance', () => {
  const lines = (report: C2paReport): string[] =>
    partsText({ colour: true, interactive: false, width: 80 } as Terminal, provenance(report).parts)
      .trimEnd()
      .split('\n')
      .map((line) => line.replaceAll(/ +/g, ' '));
  const edited = { action: 'c2pa.edited', when: null, software: null, source_type: null };
  const none = { active_manifest: null, manifests: {}, validation_state: null, validation_results: null };

  it('is the state, the signer, what is declared, the checks and what was done', () =>
    assert.deepEqual(
      lines({
        active_manifest: 'one',
        manifests: { one: { title: 'photo\u0007.jpg', signature_info: { issuer: 'Example Press' } } },
        validation_state: 'Valid',
        validation_results: { activeManifest: { failure: [{ code: 'signingCredential.untrusted' }] } },
        summary: { state: 'Valid', signer: null, declared_ai: 'composite', actions: [edited] },
      }),
      [
        'State: \u001b[33mValid\u001b[0m (the manifest holds, but its signer is not on a list of trust)',
        'Title: photo\ufffd.jpg',
        'Signed by: Example Press',
        'Declares generative AI: composite',
        '\u001b[2mOUTCOME\u001b[0m \u001b[2mCHECK \u001b[0m \u001b[2mIN WORDS\u001b[0m',
        '\u001b[31mfailed \u001b[0m signingCredential.untrusted',
        '\u001b[2mACTION \u001b[0m \u001b[2mWHEN\u001b[0m \u001b[2mBY\u001b[0m',
        'c2pa.edited',
      ],
    ));

  it('of a file without a manifest is a sentence', () =>
    assert.deepEqual(lines(none), ['The file has no C2PA manifest. Nothing is said of where it comes from.']));
});

describe('reasons', () => {
  const table: [Reason, string][] = [
    [{ error: 'the host answered 404', code: 'http-404' }, 'the host answered 404 (http-404)'],
    [new Failure('it sends no more', EXIT.failed, { code: 'stalled' }).reason, 'it sends no more (stalled)'],
    [{ error: 'Invalid data (exit code 1)', code: 'failed' }, 'Invalid data (exit code 1)'],
    [new Failure('not found', EXIT.failed).reason, 'not found'],
    [{}, 'no reason'],
  ];
  for (const [reason, text] of table) it(`are printed as ${text}`, () => assert.equal(reasonText(reason), text));
});

describe('shown addresses', () => {
  const table: [string, string][] = [
    ['https://media.example.com/a.mp4', 'https://media.example.com/a.mp4'],
    ['https://user:pa55@media.example.com/a.mp4', 'https://media.example.com/a.mp4'],
    ['https://media.example.com/a.mp4?sig=abc&x=1#f', 'https://media.example.com/a.mp4?sig=REDACTED&x=REDACTED'],
    ['s3://KEY:SEC/RET@bucket/film.mp4', 's3://bucket/film.mp4'],
    ['https://media.example.com/a@b.mp4', 'https://media.example.com/a@b.mp4'],
    ['https://KEY:SEC/RET@s3.amazonaws.com/bucket/a.mp4', 'https://s3.amazonaws.com/bucket/a.mp4'],
    ['https://media.example.com/a.mp4?secret', 'https://media.example.com/a.mp4?REDACTED'],
    ['https://user@media.example.com/a.mp4', 'https://media.example.com/a.mp4'],
  ];
  for (const [given, shown] of table)
    it(`${given} is shown as ${shown}`, () => assert.equal(shownSource(given), shown));

  it('tokens are masked in everything that is no data', () => {
    const token = 'Ab3'.repeat(22).slice(0, 64);
    const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOjF9.c2lnbmF0dXJl';
    for (const secret of [token, jwt, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])
      assert.equal(masked(`cannot read ${secret}: refused`), 'cannot read REDACTED: refused');
  });
});

describe('where a request stands', () => {
  const standing: Standing = {
    success: true,
    metadata: { request_id: 'r', queue_time: 0, io_usage: 0 },
    state: 'running',
    steps: { queued: '', admitted: null, running: null },
    progress: null,
    waiting: null,
  };
  for (const [more, line] of [
    [{}, 'running 12 s'],
    [{ progress: 0 }, 'running 12 s: 0 % checked'],
    [{ progress: 43 }, 'running 12 s: 43 % checked'],
    // Of an API that does not say it.
    [{ progress: undefined as unknown as null }, 'running 12 s'],
    [{ state: 'queued', waiting: { reason: 'NoRunner', text: 'no runner is free' } }, 'queued 12 s: no runner is free'],
  ] as const)
    it(line, () => assert.equal(standingLine({ ...standing, ...more }, 12_400), line));
});
