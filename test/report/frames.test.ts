import assert from 'node:assert/strict';
import { framesOf } from '../../src/media/report/frames.ts';
import { picture, reportOf } from './sample.ts';

const MASTERING = { side_data_type: 'Mastering display metadata' };
const LIGHT = { side_data_type: 'Content light level metadata', max_content: 1000, max_average: 400 };
const RPU = [
  { side_data_type: 'Dolby Vision RPU Data' },
  {
    side_data_type: 'Dolby Vision Metadata',
    vdr_rpu_profile: 1,
    bl_video_full_range_flag: 0,
    vdr_bit_depth: 12,
    el_spatial_resampling_filter_flag: 0,
    disable_residual_flag: 1,
  },
];
const PQ = { color_space: 'bt2020nc', color_primaries: 'bt2020', color_transfer: 'smpte2084' };
/** As ffprobe 9.0 prints them. */
const frames = (side: object[], more: object = {}) => ({
  frames: [
    { interlaced_frame: 0, top_field_first: 0 },
    { interlaced_frame: 0, top_field_first: 0, pts_time: '1.4', side_data_list: side },
  ].map((one) => ({
    ...one,
    ...more,
  })),
});
const hevc = { codec_name: 'hevc', profile: 'Main 10' };
const TRACK = { Format: 'HEVC', Format_Profile: 'Main 10' };

function seen(side: object[], more: object = {}, ffprobe: object = {}, mediainfo: object = {}) {
  const made = reportOf({
    ...picture({ ...hevc, ...ffprobe }, { ...TRACK, ...mediainfo }),
    frames: frames(side, more),
  });
  const [stream] = made.streams;
  return { made, stream: stream!, codes: made.warnings.map(({ code }) => code) };
}

describe('report: pictures', () => {
  it('finds Dolby Vision that only the pictures carry, and warns', () => {
    const { made, stream, codes } = seen([MASTERING, LIGHT, ...RPU], PQ);
    assert.deepEqual(stream.hdr, {
      formats: ['HDR10', 'Dolby Vision'],
      mastering_display: true,
      max_cll: 1000,
      max_fall: 400,
      dolby_vision_rpu: true,
      dolby_vision_profile: 8,
    });
    assert.deepEqual(codes, ['hdr-not-signalled']);
    assert.deepEqual(
      made.diff?.find(({ path }) => path.endsWith('dolby_vision_profile')),
      {
        path: 'streams[0].hdr.dolby_vision_profile',
        ffprobe: null,
        mediainfo: null,
        bitstream: 8,
        chosen: 'bitstream',
        reason: 'the pictures themselves say it',
      },
    );
    assert.equal(made.color?.transfer, 'smpte2084');
  });

  it('does not warn of Dolby Vision that the container declares', () => {
    const declared = { side_data_list: [{ side_data_type: 'DOVI configuration record', dv_profile: 8, dv_level: 1 }] };
    const { stream, codes } = seen(RPU, {}, declared);
    assert.equal(stream.hdr?.dolby_vision_profile, 8);
    assert.deepEqual(codes, []);
  });

  for (const [profile, rpu] of [
    [5, { vdr_rpu_profile: 0, bl_video_full_range_flag: 1 }],
    [7, { el_spatial_resampling_filter_flag: 1, disable_residual_flag: 0 }],
    [4, { el_spatial_resampling_filter_flag: 1, disable_residual_flag: 0, vdr_bit_depth: 10 }],
    [undefined, { vdr_rpu_profile: 0 }],
    [undefined, { vdr_rpu_profile: 'x' }],
  ] as const) {
    it(`derives Dolby Vision profile ${profile ?? 'none'} from ${JSON.stringify(rpu)}`, () => {
      const { stream } = seen([{ ...RPU[1], ...rpu }]);
      assert.equal(stream.hdr?.dolby_vision_profile, profile);
      assert.ok(stream.hdr?.formats?.includes('Dolby Vision'));
    });
  }

  it('derives no Dolby Vision profile for a codec that has its own', () => {
    const { stream } = seen(RPU, {}, { codec_name: 'av1' }, { Format: 'AV1' });
    assert.deepEqual(stream.hdr, { formats: ['Dolby Vision'], dolby_vision_rpu: true });
  });

  it('finds HDR10+ that neither tool declares', () => {
    const plus = { side_data_type: 'HDR Dynamic Metadata SMPTE2094-40 (HDR10+)' };
    const { stream, codes } = seen([MASTERING, plus], PQ);
    assert.deepEqual(stream.hdr?.formats, ['HDR10+', 'HDR10']);
    assert.deepEqual(codes, ['hdr-not-signalled']);
  });

  const captions = { side_data_type: 'ATSC A53 Part 4 Closed Captions' };
  it('finds captions inside the pictures, with their first time', () => {
    const { stream, codes } = seen([captions]);
    assert.deepEqual(stream.captions, [{ kind: 'a53', first_time: 1.4 }]);
    assert.deepEqual(stream.looked_at, { pictures: 2, seconds: 0.08 });
    assert.deepEqual(codes, ['captions-not-signalled']);
  });

  it('lists light levels and Dolby Vision on which the tools disagree', () => {
    const side_data_list = [
      { side_data_type: 'Content light level metadata', max_content: 1000, max_average: 400 },
      { side_data_type: 'DOVI configuration record', dv_profile: 8, dv_level: 6, dv_bl_signal_compatibility_id: 1 },
    ];
    const dolby = {
      HDR_Format: 'SMPTE ST 2094 App 4 / Dolby Vision',
      HDR_Format_Compatibility: 'HDR10+ Profile B / HDR10',
      HDR_Format_Profile: ' / dvhe.08',
      HDR_Format_Level: ' / 06',
    };
    const diff = (more: object) =>
      reportOf(picture({ side_data_list }, { MaxCLL: '1000 cd/m2', MaxFALL: '400 cd/m2', ...dolby, ...more })).diff;
    assert.deepEqual(diff({}), []);
    assert.deepEqual(
      diff({ MaxCLL: '4000 cd/m2', HDR_Format_Compatibility: 'HDR10 / SDR' })?.map(({ path, ffprobe, mediainfo }) => [
        path,
        ffprobe,
        mediainfo,
      ]),
      [
        ['streams[0].hdr.max_cll', 1000, 4000],
        ['streams[0].hdr.dolby_vision_compatibility', 'HDR10', 'SDR'],
      ],
    );
  });

  it('lists the captions of a picture by channel and service', () => {
    const input = picture();
    const { track } = (input.mediainfo!.output as { media: { track: object[] } }).media;
    for (const text of [
      { ID: '1-CC1', Format: 'EIA-608', extra: { CaptionServiceName: 'CC1' } },
      { ID: '1-1', Format: 'EIA-708' },
      { ID: '1-CC3', Format: 'EIA-608', extra: { CaptionServiceContent_IsPresent: 'No' } },
      { ID: `1-${'a'.repeat(500)}`, Format: 'EIA-608' },
      { ID: '2', Format: 'EIA-608' },
      { ID: '300-888', Format: 'Teletext Subtitle' },
    ])
      track.push({ '@type': 'Text', ...text });
    const listed = [{ kind: 'cea-608', service: 'CC1' }, { kind: 'cea-708', service: '1' }, { kind: 'cea-608' }];
    assert.deepEqual(reportOf(input).streams[0]?.captions, listed);
    const made = reportOf({ ...input, frames: frames([captions]) });
    assert.deepEqual(made.streams[0]?.captions, [{ kind: 'a53', first_time: 1.4 }, ...listed]);
    assert.ok(made.warnings.every(({ code }) => code !== 'captions-not-signalled'));
    const read = [
      { kind: 'cea-608', service: 'CC1', first_time: 2 },
      { kind: 'cea-608', service: 'CC4', first_time: 3 },
    ] as const;
    const told = reportOf({ ...input, frames: frames([captions]), captions: { captions: [...read], seconds: 9.5 } });
    const [stream] = told.streams;
    assert.deepEqual(stream?.captions, [...read, { kind: 'cea-708', service: '1' }]);
    assert.equal(stream?.looked_at?.captions, 9.5);
    const cut = reportOf({ ...input, frames: frames([captions]), captions: { captions: [], seconds: 0 } });
    assert.deepEqual(cut.streams[0]?.captions, [{ kind: 'a53', first_time: 1.4 }, ...listed]);
    assert.deepEqual(
      told.warnings.flatMap(({ code, message }) => (code === 'captions-not-signalled' ? [message] : [])),
      ['the pictures carry captions (CEA-608 CC4), which neither tool lists'],
    );
  });

  it('lists captions that an older ffprobe found when it opened the file', () => {
    const [stream] = reportOf(picture({ closed_captions: 1 })).streams;
    assert.deepEqual(stream?.captions, [{ kind: 'a53' }]);
    assert.equal(reportOf(picture({ closed_captions: 0 })).streams[0]?.captions, undefined);
  });

  it('warns of interlaced pictures in a stream that is declared progressive', () => {
    const { made, stream, codes } = seen(
      [],
      { interlaced_frame: 1, top_field_first: 1 },
      { field_order: 'progressive' },
      { ScanType: 'Progressive' },
    );
    assert.deepEqual([stream.scan_type, stream.scan_order], ['interlaced', 'tff']);
    assert.deepEqual(codes, ['interlace-mismatch']);
    assert.equal(made.confidence['streams[0].scan_type'], undefined);
  });

  it('finds pictures that last a field longer', () => {
    const { made, stream } = seen([], { repeat_pict: 1 });
    assert.equal(stream.pulldown, true);
    assert.ok(made.diff?.every(({ path }) => !path.endsWith('pulldown')));
    assert.equal(seen([], { repeat_pict: 2 }).stream.pulldown, undefined);
  });

  it('leaves a colour to the tools where the decoder only repeats what ffprobe says of the container', () => {
    const of = (more: object) => seen([], more, { color_transfer: 'bt709' }, { transfer_characteristics: 'PQ' }).made;
    const transfer = (made: ReturnType<typeof of>) => made.diff?.find(({ path }) => path.endsWith('color.transfer'));
    assert.equal(transfer(of({ color_transfer: 'bt709' }))?.bitstream, undefined);
    const other = of({ color_transfer: 'smpte2084' });
    assert.equal(transfer(other)?.chosen, 'bitstream');
    assert.equal(other.color?.transfer, 'smpte2084');
  });

  for (const [codec, Format, says] of [
    ['vp8', 'VP8', { color_space: 'bt470bg' }],
    ['mjpeg', 'JPEG', { color_space: 'bt470bg' }],
    ['dvvideo', 'DV', { interlaced_frame: 1, top_field_first: 0 }],
    ['rawvideo', 'YUV', { interlaced_frame: 1, repeat_pict: 1, color_transfer: 'smpte2084' }],
  ] as const)
    it(`does not take what the decoder of ${codec} says of every picture for something that was read`, () => {
      const { made, stream, codes } = seen([], says, { codec_name: codec, profile: undefined }, { Format });
      assert.deepEqual(
        made.diff?.filter(({ bitstream }) => bitstream !== undefined),
        [],
      );
      assert.deepEqual([stream.scan_type, stream.pulldown, made.color, codes], ['progressive', undefined, {}, []]);
    });

  it('takes the value of a preferred tool, and lists that of the pictures', () => {
    const made = reportOf({
      ...picture({ ...hevc, field_order: 'progressive' }, { ...TRACK, ScanType: 'Progressive' }),
      frames: frames([], { interlaced_frame: 1 }),
      prefer: 'ffprobe',
    });
    assert.equal(made.streams[0]?.scan_type, 'progressive');
    assert.deepEqual(
      made.diff?.filter(({ path }) => path.endsWith('scan_type')).map(({ chosen, bitstream }) => [chosen, bitstream]),
      [['ffprobe', 'interlaced']],
    );
  });

  it('warns of a mastering display without a transfer', () => {
    assert.deepEqual(seen([MASTERING]).codes, ['odd-color']);
  });

  for (const output of [
    null,
    1,
    [],
    {},
    { frames: 'x' },
    { frames: [] },
    { frames: [null, { side_data_list: [7] }] },
  ]) {
    it(`is the report of both tools with ${JSON.stringify(output)} in place of pictures`, () => {
      assert.deepEqual(reportOf({ ...picture(), frames: output }), reportOf(picture()));
    });
  }
});

describe('pictures that are read', () => {
  const of = (codec: string, format = 'mov,mp4', disposition = {}) => ({
    format: { format_name: format },
    streams: [
      { index: 0, codec_type: 'audio' },
      { index: 1, codec_type: 'video', codec_name: codec, disposition },
    ],
  });
  /** An MP4 of 8 bits whose field order is known. */
  const plain = (stream: object, format: object = {}) => {
    const { streams, ...rest } = of('h264');
    const video = {
      pix_fmt: 'yuv420p',
      field_order: 'progressive',
      color_transfer: 'bt709',
      avg_frame_rate: '25/1',
      r_frame_rate: '25/1',
    };
    return {
      ...rest,
      streams: [streams[0], { ...streams[1], ...video, ...stream }],
      format: { format_name: 'mov,mp4,m4a,3gp,3g2,mj2', tags: { compatible_brands: 'isomiso2avc1mp41' }, ...format },
    };
  };
  const FRAGMENTED = { tags: { compatible_brands: 'isomiso2avc1mp41iso5' } };
  for (const [what, output, read] of [
    ['an ordinary MP4', plain({}), 'nothing'],
    ['an ordinary MP4 of HEVC', plain({ codec_name: 'hevc', field_order: undefined }), 'nothing'],
    ['an ordinary MP4 of a film', plain({ avg_frame_rate: '24000/1001', r_frame_rate: '24000/1001' }), 'nothing'],
    ['no colour of 8 bits', plain({ color_transfer: undefined }), 'nothing'],
    ['10 bits', plain({ pix_fmt: 'yuv420p10le' }), 'nothing'],
    ['10 bits of no colour', plain({ pix_fmt: 'yuv420p10le', color_transfer: undefined }), 'pictures'],
    ['no colour and no pixel format', plain({ pix_fmt: undefined, color_transfer: 'unknown' }), 'pictures'],
    ['PQ', plain({ color_transfer: 'smpte2084' }), 'pictures'],
    ['HLG', plain({ pix_fmt: 'yuv420p10le', color_transfer: 'arib-std-b67' }), 'nothing'],
    ['an unknown field order', plain({ field_order: undefined }), 'pictures'],
    ['fields', plain({ field_order: 'tt' }), 'pictures'],
    ['fields of HEVC', plain({ codec_name: 'hevc', field_order: 'tt' }), 'pictures'],
    ['MPEG-2', plain({ codec_name: 'mpeg2video' }), 'pictures'],
    ['the frame rate of television', plain({ avg_frame_rate: '30000/1001' }), 'nothing'],
    ['fragments of that rate', plain({ avg_frame_rate: '30000/1001' }, FRAGMENTED), 'packets'],
    ['fragments of no known rate', plain({ avg_frame_rate: '0/0' }, FRAGMENTED), 'packets'],
    ['fragments of another rate', plain({}, FRAGMENTED), 'packets'],
    ['AV1', plain({ codec_name: 'av1', color_transfer: 'smpte2084' }), 'nothing'],
    ['a transport stream', plain({}, { format_name: 'mpegts' }), 'packets'],
    ['AV1 in Matroska', plain({ codec_name: 'av1' }, { format_name: 'matroska,webm' }), 'packets'],
    ['VP9', plain({ codec_name: 'vp9' }, { format_name: 'matroska,webm' }), 'nothing'],
  ] as const)
    it(`${read} of ${what}`, () => {
      const runs = framesOf(output, 'auto');
      assert.equal(runs?.pictures ? 'pictures' : runs?.first ? 'packets' : 'nothing', read);
    });

  for (const [what, format, expected] of [
    ['a long MP4', { duration: '100.5', start_time: '1.5' }, '%+#4,51.750%+#2'],
    ['a short one', { duration: '19.9' }, '%+#4'],
    ['one without a duration', { duration: 'N/A' }, '%+#4'],
    ['one in fragments', { duration: '100', tags: { major_brand: 'iso6' } }, '%+#4'],
    ['Matroska', { duration: '100', format_name: 'matroska,webm' }, '%+#4'],
  ] as const)
    it(`at the beginning and, where an index leads there, in the middle: ${what}`, () =>
      assert.equal(framesOf(plain({}, format), 'always')?.pictures?.['read_intervals'], expected));

  for (const [what, output, option, selected] of [
    ['those of h264', of('h264'), 'auto', '1'],
    ['those of hevc', of('hevc', 'hevc'), 'auto', '1'],
    ['none of other codecs', of('prores'), 'auto', undefined],
    ['those of other codecs on request', of('prores'), 'always', '1'],
    ['none on request', of('hevc'), 'never', undefined],
    ['none of a cover', of('h264', 'mp3', { attached_pic: 1 }), 'always', undefined],
    ['none of a playlist', of('h264', 'hls'), 'always', undefined],
    ['none of what is no output', 'x', 'always', undefined],
  ] as const)
    it(what, () => assert.equal(framesOf(output, option)?.pictures?.['select_streams'], selected));
});
