/** Any JSON as the output of a tool causes no exception. `REPORT_FUZZ=100000` runs longer, `REPORT_SEED` varies it. */
import assert from 'node:assert/strict';
import { framesOf } from '../../src/media/report/frames.ts';
import { report } from '../../src/media/report/report.ts';
import { random, type Random } from '../../bench/report/random.ts';
import { ProbeReportSchema } from '../../src/media/report/schema.ts';
import { conformsTo } from '../conforms.ts';
import { inputOf, picture, SAMPLES } from './sample.ts';

const assertForm = conformsTo(ProbeReportSchema);

const ROUNDS = Number(process.env['REPORT_FUZZ'] ?? 2500);
const SEED = Number(process.env['REPORT_SEED'] ?? 1);

const ODD: unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1e308,
  -1e308,
  0.1,
  '',
  ' ',
  '0',
  '-1',
  '0/0',
  '1/0',
  '0/1',
  '99999999999999999999',
  'NaN',
  'N/A',
  '1e999',
  '__proto__',
  'constructor',
  '\u0000',
  '\ud800',
  '😀',
  'a'.repeat(5000),
  [],
  {},
  [[]],
  [{}],
  { __proto__: 1 },
  '[0][0][0][0]',
  '0x',
  '0xzz',
  '25/1',
  '1280',
  'Video',
  'General',
  'video',
  '00:00:01.5',
  '256 / 257',
  'L R C',
  'yuv999p',
  'BT.709 / BT.2020',
  ['x'],
  { a: { b: { c: [] } } },
];

function any(draw: Random, depth = 0): unknown {
  if (depth > 4 || draw.chance(0.5)) return draw.pick(ODD);
  if (draw.chance(0.5)) return Array.from({ length: draw.between(0, 4) }, () => any(draw, depth + 1));
  return Object.fromEntries(
    Array.from({ length: draw.between(0, 5) }, () => [
      draw.pick([
        'streams',
        'format',
        'media',
        'track',
        '@type',
        'tags',
        'programs',
        'chapters',
        'side_data_list',
        'disposition',
        'extra',
        'index',
        'Format',
        'Duration',
        'ID',
        'codec_type',
        'codec_name',
        '__proto__',
        'x',
      ]),
      any(draw, depth + 1),
    ]),
  );
}

/** Pictures that say all that is read of them. */
const PICTURES = {
  frames: [0, 1, 2].map((at) => ({
    pts_time: `${at}.5`,
    interlaced_frame: 1,
    top_field_first: at % 2,
    color_space: 'bt2020nc',
    color_primaries: 'bt2020',
    color_transfer: 'smpte2084',
    side_data_list: [
      { side_data_type: 'ATSC A53 Part 4 Closed Captions' },
      { side_data_type: 'Mastering display metadata' },
      { side_data_type: 'Content light level metadata', max_content: 1000, max_average: 400 },
      { side_data_type: 'HDR Dynamic Metadata SMPTE2094-40 (HDR10+)' },
      {
        side_data_type: 'Dolby Vision Metadata',
        vdr_rpu_profile: 1,
        bl_video_full_range_flag: 0,
        vdr_bit_depth: 12,
        el_spatial_resampling_filter_flag: 0,
        disable_residual_flag: 1,
      },
    ],
  })),
};

/** Replaces some values of a real output. */
function spoiled(value: unknown, draw: Random): unknown {
  if (draw.chance(0.02)) return draw.pick(ODD);
  if (draw.chance(0.003)) return any(draw);
  if (Array.isArray(value))
    return draw.chance(0.03) ? [...value, ...value] : value.map((member) => spoiled(member, draw));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(() => !draw.chance(0.02))
      .map(([key, member]) => [key, spoiled(member, draw)]),
  );
}

function check(input: Parameters<typeof report>[0], what: string): void {
  try {
    const made = report(input);
    if (made === undefined) return;
    const text = JSON.stringify(made);
    assert.ok(!/[:,[](?:NaN|Infinity)/.test(text));
    assertForm(JSON.parse(text));
    for (const { path } of made.diff ?? []) assert.notEqual(path, '');
  } catch (error) {
    throw new Error(`${what} (REPORT_SEED=${SEED}): ${(error as Error).message}`, { cause: error });
  }
}

describe('report: any JSON', () => {
  it(`arbitrary JSON causes no exception: ${ROUNDS} times`, () => {
    const draw = random(SEED);
    for (let round = 0; round < ROUNDS; round++)
      check(
        {
          ffprobe: { version: '9.0', output: any(draw) },
          mediainfo: { version: 'x', output: any(draw) },
          diff: true,
          prefer: null,
          extension: 'mp4',
        },
        `round ${round}`,
      );
  }).timeout(600_000);

  it(`real outputs with replaced values cause no exception: ${ROUNDS} times`, () => {
    const draw = random(SEED + 1);
    const inputs = SAMPLES.map((sample) => inputOf(sample));
    for (let round = 0; round < ROUNDS; round++) {
      const { ffprobe, mediainfo } = draw.pick(inputs);
      check(
        {
          ffprobe: { version: '9.0', output: spoiled(ffprobe!.output, draw) },
          mediainfo: { version: '26.10', output: spoiled(mediainfo!.output, draw) },
          diff: true,
          prefer: draw.pick(['ffprobe', 'mediainfo', null] as const),
          extension: draw.pick(['mp4', 'ts', undefined]),
        },
        `round ${round}`,
      );
    }
  }).timeout(600_000);

  it(`any JSON in place of pictures causes no exception: ${ROUNDS} times`, () => {
    const draw = random(SEED + 2);
    const input = picture({ codec_name: 'hevc', profile: 'Main 10' }, { Format: 'HEVC', Format_Profile: 'Main 10' });
    for (let round = 0; round < ROUNDS; round++) {
      const frames = draw.chance(0.2) ? any(draw) : spoiled(PICTURES, draw);
      check({ ...input, frames, prefer: draw.pick(['ffprobe', 'mediainfo', null] as const) }, `round ${round}`);
    }
  }).timeout(600_000);

  it(`of any output, options to read its pictures are texts: ${ROUNDS} times`, () => {
    const draw = random(SEED + 3);
    const outputs = [picture(), ...SAMPLES.map((sample) => inputOf(sample))].map(({ ffprobe }) => ffprobe!.output);
    for (let round = 0; round < ROUNDS; round++) {
      const output = draw.chance(0.2) ? any(draw) : spoiled(draw.pick(outputs), draw);
      const options = framesOf(output, draw.pick(['auto', 'always'] as const))?.pictures ?? {};
      const { select_streams: stream = '0', read_intervals: parts = '%+#4' } = options;
      assert.match(`${stream} ${parts}`, /^\d+ %\+#4(?:,\d+\.\d{3}%\+#2)?$/, `round ${round} (REPORT_SEED=${SEED})`);
    }
  }).timeout(600_000);

  it('handles ten thousand streams', () => {
    const streams = Array.from({ length: 10_000 }, (_, index) => ({
      index,
      codec_type: index % 2 ? 'audio' : 'video',
      codec_name: 'x',
    }));
    const track = streams.map(({ index }) => ({ '@type': index % 2 ? 'Audio' : 'Video', ID: String(index) }));
    check(
      {
        ffprobe: { version: '9.0', output: { streams } },
        mediainfo: { version: '26.10', output: { media: { track } } },
        diff: true,
        prefer: null,
      },
      'many streams',
    );
  }).timeout(60_000);
});
