import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import { compareRuns, type ComparedRun } from '../../src/media/compare/compare.ts';
import { MOST_FIELDS, MOST_TEXT } from '../../src/media/compare/limits.ts';
import { ComparisonSchema, type ChangedField } from '../../src/media/compare/schema.ts';
import type { ReportTool } from '../../src/media/tools/probe_report.ts';

const valid = new Ajv({ strict: false, allowUnionTypes: true }).compile(ComparisonSchema);

const run = (tool: ReportTool, version: string, output: unknown, label = version): ComparedRun => {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return { tool, version, label, output: output === null ? null : { bytes: text.length, text: () => text } };
};
const comparison = (...runs: ComparedRun[]) => {
  const made = compareRuns(runs);
  assert.ok(valid(made), JSON.stringify(valid.errors));
  return made;
};
/** `path change to`, of the raw level. */
const told = (fields: ChangedField[], level = 'raw') =>
  fields.filter((field) => field.level === level).map(({ path, change }) => `${path} ${change}`);
const ffprobe = (before: unknown, after: unknown) =>
  comparison(run('ffprobe', '4.4', before), run('ffprobe', '7.1', after));
const video = (more: object = {}) => ({
  index: 0,
  codec_type: 'video',
  codec_name: 'h264',
  width: 1920,
  height: 1080,
  avg_frame_rate: '25/1',
  ...more,
});
const file = (streams: object[], format: object = {}) => ({ streams, format: { format_name: 'mp4', ...format } });

const RAW: [string, object, object, string[]][] = [
  ['the same', { a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }, []],
  ['another value', { a: { b: 'x' } }, { a: { b: 'y' } }, ['a.b value']],
  ['another type', { a: '5' }, { a: 5 }, ['a type']],
  ['null in place of a text', { a: null }, { a: 'x' }, ['a type']],
  ['an object in place of a text', { a: 'x' }, { a: {} }, ['a type']],
  ['a list in place of an object', { a: {} }, { a: [] }, ['a type']],
  ['a new field', { a: 1 }, { a: 1, b: 2 }, ['b added']],
  ['a field that is gone', { a: 1, b: { c: 2 } }, { a: 1 }, ['b removed']],
  ['fewer decimals', { a: '0.040000' }, { a: '0.04' }, ['a rounding']],
  ['one decimal less, rounded', { a: '59.940' }, { a: '59.9401' }, ['a rounding']],
  ['a whole number near it', { a: '59' }, { a: '59.4' }, ['a value']],
  ['the last of as many decimals', { a: '59.940' }, { a: '59.941' }, ['a value']],
  ['a name with dots', { t: { 'com.x.y': 1 } }, { t: { 'com.x.y': 2 } }, ['t["com.x.y"] value']],
  ['a stream in between', file([video()]), file([video({ index: 1 }), video()]), ['streams[1] added']],
  [
    'tracks by their type, and those of one type in order',
    { media: { track: [{ '@type': 'General' }, { '@type': 'Audio', A: '1' }, { '@type': 'Audio', A: '2' }] } },
    {
      media: {
        track: [
          { '@type': 'General' },
          { '@type': 'Video' },
          { '@type': 'Audio', A: '1' },
          { '@type': 'Audio', A: '3' },
        ],
      },
    },
    ['media.track[@type=Audio][1].A value', 'media.track[@type=Video] added'],
  ],
  [
    'what a version says of itself',
    { program_version: { version: '4.4' } },
    { program_version: { version: '7.1' } },
    [],
  ],
];

describe('comparison of runs', function () {
  this.timeout(20_000);
  for (const [what, before, after, expected] of RAW)
    it(`raw: ${what}`, () => assert.deepEqual(told(ffprobe(before, after).fields).sort(), expected.sort()));

  it('values stand by run, in the order of the runs, and are left out where a run lacks the field', () => {
    const { fields } = comparison(
      run('ffprobe', '4.4', { a: 1 }),
      run('ffprobe', '5.1', {}),
      run('ffprobe', '7.1', { a: 2 }),
    );
    assert.deepEqual(fields, [
      { path: 'a', tool: 'ffprobe', level: 'raw', change: 'removed', values: { '4.4': 1, '7.1': 2 } },
    ]);
  });

  it('an object that one run lacks is compared among the others', () => {
    const { fields } = comparison(
      run('ffprobe', '4.4', {}),
      run('ffprobe', '5.1', { a: { b: 1, c: 1 } }),
      run('ffprobe', '7.1', { a: { b: 1, c: 2 } }),
    );
    assert.deepEqual(told(fields), ['a added', 'a.c value']);
  });

  it('items of a list by position are told once, with their number', () => {
    const frames = (name: string) => ({ frames: [1, 2, 3].map((n) => ({ [name]: n, size: n })) });
    const { fields, summary } = ffprobe(frames('own'), frames('other'));
    assert.deepEqual(
      fields.map(({ path, change, count }) => [path, change, count]),
      [
        ['frames[0].own', 'removed', 3],
        ['frames[0].other', 'added', 3],
      ],
    );
    assert.equal(summary.fields, 2);
  });

  const CANONICAL: [string, object, object, string[]][] = [
    ['the same in other words', file([video({ codec_tag_string: 'a' })]), file([video({ level: 0 })]), []],
    ['another width', file([video()]), file([video({ width: 1918 })]), ['video[0].size.width value']],
    [
      'a duration within a frame, and one beyond',
      file([video({ duration: '10.00' })], { duration: '10.00' }),
      file([video({ duration: '10.03' })], { duration: '10.10' }),
      ['container.duration value', 'video[0].duration rounding'],
    ],
    [
      'a name that is no longer told',
      file([video({ profile: 'High' })]),
      file([video()]),
      ['video[0].codec.profile removed'],
    ],
    [
      'a stream that only one version sees',
      file([video()]),
      file([video(), { index: 1, codec_type: 'audio' }]),
      ['audio[0] added'],
    ],
    [
      'streams in another order under their own ids',
      file([video({ id: '0x1' }), video({ index: 1, id: '0x2', width: 640 })]),
      file([video({ id: '0x2', width: 640 }), video({ index: 1, id: '0x1' })]),
      [],
    ],
  ];
  for (const [what, before, after, expected] of CANONICAL)
    it(`canonical: ${what}`, () => assert.deepEqual(told(ffprobe(before, after).fields, 'canonical').sort(), expected));

  it('a tool is compared with itself alone, and one run with nothing', () => {
    const { fields, summary } = comparison(
      run('ffprobe', '7.1', file([video()])),
      run('mediainfo', '24.06', { media: { track: [{ '@type': 'General' }] } }),
    );
    assert.deepEqual([fields, summary.fields], [[], 0]);
  });

  it('two files of one version are compared under their own names', () => {
    const { fields } = comparison(run('ffprobe', '7.1', { a: 1 }, 'a'), run('ffprobe', '7.1', { a: 2 }, 'b'));
    assert.deepEqual(fields[0]?.values, { a: 1, b: 2 });
  });

  it('a run without JSON is named, and the others are compared', () => {
    const { fields, summary } = comparison(
      run('ffprobe', '4.4', { a: 1 }),
      run('ffprobe', '5.1', null),
      run('ffprobe', '6.1', '{"a":'),
      run('ffprobe', '7.1', { a: 2 }),
    );
    assert.deepEqual(told(fields), ['a value']);
    assert.deepEqual(
      summary.not_compared.filter(({ run: name }) => name !== '4.4' && name !== '7.1'),
      [
        { tool: 'ffprobe', run: '5.1', why: 'it gave no JSON' },
        { tool: 'ffprobe', run: '6.1', why: 'its output is not valid JSON' },
      ],
    );
  });

  it('an output over the limit is not read at all', () => {
    const large: ComparedRun = {
      tool: 'ffprobe',
      version: '5.1',
      label: '5.1',
      output: { bytes: 17 * 1024 * 1024, text: () => assert.fail('it was read') },
    };
    const { summary } = comparison(run('ffprobe', '4.4', {}), large, run('ffprobe', '7.1', {}));
    assert.deepEqual(summary.not_compared[0], {
      tool: 'ffprobe',
      run: '5.1',
      why: 'its output of 17 MB is over 16 MB',
    });
  });

  it('more fields than are told are counted, and the text stays short whatever is in it', () => {
    const many = (mark: string) =>
      Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`${'\\"'.repeat(200)}${n}`, mark.repeat(1_000)]));
    const made = ffprobe(many('"'), many('\\'));
    assert.equal(made.summary.fields, 3_000);
    assert.equal(made.summary.changes['value'], 3_000);
    assert.equal(made.summary.told, made.fields.length);
    assert.ok(made.fields.length > 50 && made.fields.length <= MOST_FIELDS);
    assert.ok(Buffer.byteLength(JSON.stringify(JSON.stringify(made))) < MOST_TEXT + 4096);
  });

  it('a comparison that is not told whole tells news before what is known', () => {
    const known = Array.from({ length: 600 }, (_, index) => video({ index, codec_time_base: '1/50' }));
    const news = Array.from({ length: 600 }, (_, index) => video({ index }));
    const { fields, summary } = comparison(
      run('ffprobe', '4.3', file(known, { own: 1 })),
      run('ffprobe', '4.4', file(news, { own: 2 })),
    );
    assert.ok(fields.some(({ path }) => path === 'format.own'));
    assert.equal(summary.known, 600);
  });
});
