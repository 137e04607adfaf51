import assert from 'node:assert/strict';
import { answersOf, witnessTable, type Answer } from '../../bench/report/witness.ts';
import { picture } from './sample.ts';

/** A file whose pictures have fields, and of whose container the tools say something else or nothing. */
function example(ffprobe: object, mediainfo: object) {
  const { ffprobe: one, mediainfo: other } = picture(ffprobe, mediainfo);
  return {
    truth: {
      number: 5,
      damage: 'none',
      container: {},
      streams: [{ type: 'video' as const, values: { scan_type: 'interlaced', scan_order: 'tff', duration: 4 } }],
      warnings: [],
    },
    readings: { 'ffprobe 9.0': JSON.stringify(one!.output), 'mediainfo 26.10': JSON.stringify(other!.output) },
  };
}
const PICTURES = { frames: [{ interlaced_frame: 1, top_field_first: 1 }] };
const shown = (answers: readonly Answer[]) =>
  answers.map(({ field, right, isKnown }) => `${field} ${isKnown ? (right ? 'right' : 'wrong') : 'not known'}`);

describe('report: what the third witness is worth', () => {
  const unknown = example({ field_order: undefined }, { ScanType: undefined });
  const wrong = example({}, {});
  for (const [what, file, way, expected] of [
    ['nothing is known without pictures', unknown, 'never', ['scan_type not known', 'scan_order not known']],
    ['pictures are read where fields are not known', unknown, 'auto', ['scan_type right', 'scan_order right']],
    ['they are not where both tools know better', wrong, 'auto', ['scan_type wrong', 'scan_order not known']],
    ['unless they always are', wrong, 'always', ['scan_type right', 'scan_order right']],
  ] as const)
    it(what, () => assert.deepEqual(shown(answersOf(file, PICTURES, way)), expected));

  it('a file without readings, or without pictures that could be read, is no reason to stop', () => {
    assert.deepEqual(answersOf({ ...wrong, readings: {} }, PICTURES, 'always'), []);
    assert.deepEqual(shown(answersOf(wrong, null, 'always')), ['scan_type wrong', 'scan_order not known']);
  });

  it('counts what is right, wrong and not known, and how sure it was', () => {
    const by = (['never', 'auto', 'always'] as const).map((way) => answersOf(wrong, PICTURES, way));
    const table = witnessTable(by);
    assert.ok(table.includes('| `scan_type` | 0 / 1 / 0 | 0 / 1 / 0 | 1 / 0 / 0 |'), table.join('\n'));
    assert.ok(table.includes('| `scan_order` | 0 / 0 / 1 | 0 / 0 / 1 | 1 / 0 / 0 |'), table.join('\n'));
    assert.match(table.at(-1)!, /^\| expected calibration error \| .* \| 0\.0 % \|$/);
  });
});
