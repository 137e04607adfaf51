/** What content checks mean: pass, warn or block, with the times of what was found. */
import assert from 'node:assert/strict';
import type { QcReport } from '../../src/media/qc/schema.ts';
import { LONGEST, optionsFor, verdictOf, type Longest } from '../../src/media/qc/verdict.ts';
import { CHECKS, CLEAN_CHECKS } from '../console/sample_answers.ts';
import { DAMAGE, FILE, NONE, QUIET, UNREAD, WHOLE } from './reports.ts';

const clean: QcReport = { ...CLEAN_CHECKS, not_checked: [] };
const [video] = clean.video;
const [audio] = CHECKS.audio;
const black = (...times: [from: number, to: number][]): QcReport => ({
  ...clean,
  video: [
    {
      ...video!,
      black: { count: times.length, list: times.map(([from, to]) => ({ from, to, to_end: false })), more: 0 },
    },
  ],
});
const told = (report: QcReport | null, longest: Longest = LONGEST, error?: string) =>
  verdictOf({ response: report, ...(error === undefined ? {} : { error }) }, longest);

describe('the verdict of content checks', () => {
  for (const [what, report, verdict, texts, longest] of [
    ['nothing was found', clean, 'pass', []],
    ['a passage as long as its limit', black([1, 11]), 'warn', ['black passage of 10.00 s from 1.00 s in stream 0']],
    ['a longer one', black([1, 11.5]), 'block', ['black passage of 10.50 s from 1.00 s in stream 0']],
    [
      'passages at the start and to the end',
      {
        ...clean,
        video: [{ ...video!, freeze: { count: 1, list: [{ from: 0.08, to: 10, to_end: true }], more: 0 } }],
      },
      'warn',
      ['freeze of 9.92 s from 0.08 s (the start) to the end in stream 0'],
    ],
    [
      'what is no fault of itself, however long',
      {
        ...clean,
        video: [
          {
            ...video!,
            black: NONE,
            test_bars: { count: 9, list: [{ from: 0, to: 60, to_end: false }], more: 8 },
            letterbox: {
              changes: true,
              count: 1,
              list: [{ from: 60, to: 90, to_end: true, left: 0, right: 0, top: 138, bottom: 139 }],
              more: 0,
            },
          },
        ],
        audio: [
          {
            ...QUIET.audio[0]!,
            test_tones: {
              count: 1,
              list: [{ from: 0, to: 60, to_end: false, frequency: 1000, level: -18 }],
              more: 0,
            },
          },
        ],
      },
      'warn',
      [
        'letterbox passage of 30.00 s from 60.00 s to the end in stream 0: 138 rows above, 139 below',
        'test pattern of 60.00 s from 0.00 s (the start) in stream 0',
        'test patterns in stream 0: 8 more than can be listed',
        'test tone of 60.00 s from 0.00 s (the start) in stream 1: 1000 Hz at -18.0 dBFS',
      ],
    ],
    [
      'a letterbox that does not change',
      {
        ...clean,
        video: [
          {
            ...video!,
            black: NONE,
            letterbox: {
              changes: false,
              count: 1,
              list: [{ from: 0, to: 90, to_end: true, left: 0, right: 0, top: 138, bottom: 138 }],
              more: 0,
            },
          },
        ],
      },
      'pass',
      [],
    ],
    [
      'tracks that do not fit',
      {
        ...clean,
        tracks: {
          starts: { apart: 0.2, first: 0, last: 1, differs: true },
          ends: { apart: 3, first: 0, last: 1, differs: true },
        },
      },
      'warn',
      ['stream 1, start: begins 0.20 s after stream 0', 'stream 0, end: ends 3.00 s before stream 1'],
    ],
    [
      'a limit of nothing',
      black([3, 3.04]),
      'block',
      ['black passage of 0.04 s from 3.00 s in stream 0'],
      { ...LONGEST, black: 0 },
    ],
    [
      'several, those that block first',
      black([1, 4], [20, 40]),
      'block',
      ['black passage of 20.00 s from 20.00 s in stream 0', 'black passage of 3.00 s from 1.00 s in stream 0'],
    ],
    [
      'a stream that was not checked',
      { ...clean, not_checked: CHECKS.not_checked },
      'warn',
      ['stream 9 was not checked: only the first 8 audio streams are checked'],
    ],
    [
      'clipping and a duration that differs',
      { ...clean, audio: [{ ...audio!, silence: video!.freeze }] },
      'warn',
      ['stream 1, clipping: peaks at 0.0 dBFS', 'stream 1, duration: 50.00 s decoded, 60.00 s declared'],
    ],
    [
      'checks that ended early',
      { ...clean, until: 12, cut: 'out of time' },
      'block',
      ['the checks ended at 12.00 s: out of time'],
    ],
    [
      'a stream of which nothing was decoded',
      { ...clean, audio: [{ ...QUIET.audio[0]!, decoded: null }] },
      'block',
      ['stream 1, decoding: nothing of it was decoded'],
    ],
    ['a file that is whole', { ...clean, integrity: WHOLE, file: FILE }, 'pass', []],
    [
      'decode errors, with the first of them',
      { ...clean, ...DAMAGE['errors'] },
      'block',
      [
        'stream 0, decode errors: 9: 4.20 s (byte 4200) slice CRC mismatch; 5.00 s (byte 5000) slice CRC mismatch; ' +
          '6.00 s (byte 6000) slice CRC mismatch …',
      ],
    ],
    [
      'checksums of the container',
      { ...clean, ...DAMAGE['sums'] },
      'block',
      ['checksum: the CRC-32 of Matroska is wrong, 2 of 9 (byte 961)'],
    ],
    [
      'a search that ended early',
      { ...clean, ...DAMAGE['cut'] },
      'block',
      ['integrity: the search ended at 7.00 s: out of time', 'file: not read to the end: no time'],
    ],
    [
      'another hash than was given',
      { ...clean, ...DAMAGE['other'] },
      'block',
      ['file: its hash is not the one that was given'],
    ],
    [
      'a stream without a decoder',
      { ...clean, integrity: UNREAD },
      'warn',
      ['stream 0, decode errors: not known: ffprobe 9.0 decoded nothing of its av1'],
    ],
    ['no report', null, 'block', ['the source could not be decoded']],
  ] as [string, QcReport | null, string, string[], Longest?][])
    it(`${verdict}: ${what}`, () => {
      const found = told(report, longest);
      assert.deepEqual([found.verdict, found.findings.map(({ text }) => text)], [verdict, texts]);
    });

  it('block: checks that failed, with their error', () => {
    assert.deepEqual(told(null, LONGEST, 'no decoder').findings, [{ verdict: 'block', text: 'no decoder' }]);
  });

  it('a passage has its check, stream and times', () => {
    assert.deepEqual(told(black([1.25, 4])).findings, [
      {
        verdict: 'warn',
        text: 'black passage of 2.75 s from 1.25 s in stream 0',
        check: 'black',
        stream: 0,
        from: 1.25,
        to: 4,
        seconds: 2.75,
      },
    ]);
  });

  it('block: passages that are not listed, because their length is not known', () => {
    const { verdict, findings } = told({ ...CHECKS, not_checked: [] });
    assert.equal(verdict, 'block');
    assert.ok(findings.some(({ text }) => text === 'black passages in stream 0: 1 more than can be listed'));
  });

  it('lists at most fifty findings, and counts the others', () => {
    const { findings, more, verdict } = told(
      black(...Array.from({ length: 60 }, (_, n) => [n, n + 3] as [number, number])),
    );
    assert.deepEqual([findings.length, more, verdict], [50, 10, 'warn']);
  });

  it('the checks report passages as short as the limits', () => {
    assert.deepEqual(optionsFor({ black: 0.5, freeze: 2, silence: 10, phase: 2 }), {
      black_min: 0.5,
      freeze_min: 2,
      silence_min: 2,
      phase_min: 2,
    });
  });
});
