import assert from 'node:assert/strict';
import { fieldsBehind, worseThan, type Judged } from '../../bench/report/evaluate.ts';

type Right = Judged['row']['right'];
const NEITHER: Right = { ffprobe: false, mediainfo: false };
const FFPROBE: Right = { ffprobe: true, mediainfo: false };
const MEDIAINFO: Right = { ffprobe: false, mediainfo: true };

const dispute = (field: string, right: Right, chosen: keyof Right, ruled: keyof Right = chosen): Judged => ({
  row: {
    file: 5,
    field,
    agreement: 'disputed',
    features: { shared: [], words: [], numbers: [] },
    right,
    exact: true,
    ruled,
    damage: 'none',
    weight: 1,
  },
  right: right[chosen],
  confidence: 0.9,
});
const light = (one: Judged): Judged => ({ ...one, row: { ...one.row, weight: 0.4 } });

describe('report: which fields the gate of the tables names', () => {
  for (const [what, judgements, behind] of [
    ['none where the report is always right', [dispute('codec', FFPROBE, 'ffprobe')], []],
    ['one in which a rule is right more often', [dispute('codec', FFPROBE, 'mediainfo', 'ffprobe')], ['codec']],
    [
      'one in which always ffprobe is right more often, and the rules are not',
      [dispute('codec', FFPROBE, 'mediainfo'), dispute('codec', FFPROBE, 'ffprobe')],
      ['codec'],
    ],
    ['one in which always mediainfo is right more often', [dispute('codec', MEDIAINFO, 'ffprobe')], ['codec']],
    [
      'none where the report is as often right as the best',
      [dispute('codec', FFPROBE, 'ffprobe'), dispute('codec', MEDIAINFO, 'ffprobe')],
      [],
    ],
    ['none where neither tool is ever right', [dispute('codec', NEITHER, 'ffprobe', 'mediainfo')], []],
    [
      'one behind a field that is ahead, of which all together are not behind',
      [
        ...Array.from({ length: 5 }, () => dispute('size', FFPROBE, 'ffprobe', 'mediainfo')),
        dispute('codec', FFPROBE, 'mediainfo', 'ffprobe'),
      ],
      ['codec'],
    ],
    ['none with less than one file', [light(dispute('codec', FFPROBE, 'mediainfo', 'ffprobe'))], []],
    [
      'one with parts of a file that add up to one',
      [1, 2, 3].map(() => light(dispute('codec', FFPROBE, 'mediainfo', 'ffprobe'))),
      ['codec'],
    ],
  ] as const)
    it(what, () => {
      const quoted = behind.map((field) => `\`${field}\``);
      assert.deepEqual(fieldsBehind(judgements), quoted);
      assert.equal(
        worseThan(judgements),
        quoted.length === 0
          ? 'In no field of this table is any of the three better than the model.'
          : `One of the three is better than the model in ${quoted.join(', ')}.`,
      );
    });
});
