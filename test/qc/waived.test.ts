/** Which findings of content checks a waiver covers, and what is left of the verdict. */
import assert from 'node:assert/strict';
import type { QcReport } from '../../src/media/qc/schema.ts';
import { LONGEST, verdictOf } from '../../src/media/qc/verdict.ts';
import { waivedIn, type QcWaiver } from '../../src/media/qc/waived.ts';
import { CHECKS, CLEAN_CHECKS } from '../console/sample_answers.ts';
import { DAMAGE, NONE, WHOLE } from './reports.ts';

const by = {
  waiver: '019a5f3e-8a00-7000-8000-000000000001',
  reason: 'Slate',
  by: 'Ada',
  until: '2027-01-31T00:00:00Z',
};
const waiver = (change: Partial<QcWaiver> = {}): QcWaiver => ({
  check: 'black',
  stream: 0,
  from: 0,
  to: 12,
  waived: by,
  ...change,
});
const untimed = (check: QcWaiver['check'], stream = 1): QcWaiver => waiver({ check, stream, from: null, to: null });

const times = [
  { from: 0, to: 12, to_end: false },
  { from: 30, to: 33, to_end: false },
];
const report: QcReport = {
  ...CLEAN_CHECKS,
  not_checked: [],
  video: [{ ...CLEAN_CHECKS.video[0]!, black: { count: 2, list: times, more: 0 } }],
  audio: CHECKS.audio,
};
const covered = (...waivers: QcWaiver[]) => waivedIn(report, waivers).map(({ check, from }) => [check, from]);

describe('a waiver of content checks', () => {
  for (const [what, given, found] of [
    ['a passage within its range', waiver(), [['black', 0]]],
    ['another version of the passage, half a second longer', waiver({ from: 0.5, to: 11.5 }), [['black', 0]]],
    ['no passage that begins earlier', waiver({ from: 0.6 }), []],
    ['no passage that ends later', waiver({ to: 11.4 }), []],
    [
      'each passage of a wide range',
      waiver({ to: 100 }),
      [
        ['black', 0],
        ['black', 30],
      ],
    ],
    ['nothing of another stream', waiver({ stream: 2 }), []],
    ['nothing of another check', waiver({ check: 'freeze' }), []],
    ['clipping, which has no time', untimed('clipping'), [['clipping', null]]],
    ['a duration that differs', untimed('duration'), [['duration', null]]],
    ['no clipping of another stream', untimed('clipping', 2), []],
  ] as [string, QcWaiver, [string, number | null][]][])
    it(`covers ${what}`, () => assert.deepEqual(covered(given), found));

  const broken = { at: 3, byte: 9, what: 'invalid' };
  const damaged = (errors: object): QcReport => ({
    ...CLEAN_CHECKS,
    integrity: { ...WHOLE, streams: [{ ...WHOLE.streams[0]!, errors: { ...NONE, ...errors } }] },
  });
  const errors = waiver({ check: 'errors', from: 2, to: 8 });
  for (const [what, given, one, found] of [
    ['decode errors that all lie in its range', errors, damaged({ count: 1, list: [broken] }), ['errors', 3, 3]],
    ['none where one lies elsewhere', errors, damaged({ count: 2, list: [broken, { ...broken, at: 9 }] }), undefined],
    ['none where one has no time', errors, damaged({ count: 2, list: [broken, { ...broken, at: null }] }), undefined],
    ['none where some are only counted', errors, { ...CLEAN_CHECKS, ...DAMAGE['errors'] }, undefined],
    ['no checksum of the container', untimed('checksum', 0), { ...CLEAN_CHECKS, ...DAMAGE['sums'] }, undefined],
  ] as const)
    it(`of damage covers ${what}`, () => {
      const waived = waivedIn(one, [given]);
      const [first] = waived.map(({ check, from, to }) => [check, from, to]);
      assert.deepEqual(first, found);
      const { verdict } = verdictOf({ response: { ...one, not_checked: [] }, waived }, LONGEST);
      assert.equal(verdict, found ? 'pass' : 'block');
    });

  it('of a checksum of a stream covers it', () => {
    const sums = WHOLE.checksums.map((sum) => ({ ...sum, wrong: 1 }));
    const waived = waivedIn({ ...CLEAN_CHECKS, integrity: { ...WHOLE, checksums: sums } }, [untimed('checksum')]);
    assert.deepEqual(waived, [{ check: 'checksum', stream: 1, from: null, to: null, waived: by }]);
  });

  it('of several that cover a finding, the first counts', () => {
    const other = { ...by, reason: 'Another' };
    const [found] = waivedIn(report, [waiver({ waived: other }), waiver()]);
    assert.deepEqual(found, { check: 'black', stream: 0, from: 0, to: 12, waived: other });
  });
});

describe('the verdict of content checks with waivers', () => {
  const told = (...waivers: QcWaiver[]) => verdictOf({ response: report, waived: waivedIn(report, waivers) }, LONGEST);

  it('counts what is not waived, and shows the rest apart', () => {
    assert.equal(told().verdict, 'block');
    const { verdict, findings, waived, waived_count: count } = told(waiver());
    assert.deepEqual([verdict, findings.length, count], ['warn', 4, 1]);
    assert.deepEqual(waived, [
      {
        verdict: 'block',
        text: 'black passage of 12.00 s from 0.00 s (the start) in stream 0',
        check: 'black',
        stream: 0,
        from: 0,
        to: 12,
        seconds: 12,
        waived: by,
      },
    ]);
  });

  it('is pass where all is waived', () => {
    const silence = waiver({ check: 'silence', stream: 1, from: 40, to: 50 });
    const all = [waiver({ to: 33 }), silence, untimed('clipping'), untimed('duration')];
    const { verdict, findings, waived_count: count } = told(...all);
    assert.deepEqual([verdict, findings, count], ['pass', [], 5]);
  });

  it('checks that ended early, passages that are only counted and streams that were not checked still count', () => {
    const waived = waivedIn(CHECKS, [waiver({ to: 100 })]);
    const { verdict, findings } = verdictOf({ response: CHECKS, waived }, LONGEST);
    assert.equal(verdict, 'block');
    assert.deepEqual(
      findings.map(({ text }) => text).filter((text) => !/silence|clipping|duration/.test(text)),
      [
        'the checks ended at 50.00 s: qc did not finish within 60000 ms\u202e',
        'black passages in stream 0: 1 more than can be listed',
        'stream 9 was not checked: only the first 8 audio streams are checked',
      ],
    );
  });
});
