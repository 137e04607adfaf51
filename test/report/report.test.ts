import assert from 'node:assert/strict';
import { ruleOf } from '../../src/media/report/fields.ts';
import { report } from '../../src/media/report/report.ts';
import { inputOf, outputsOf, picture, reportOf, SAMPLES } from './sample.ts';

const disputed = (input: Parameters<typeof report>[0]) => (reportOf(input).diff ?? []).map(({ path }) => path);
const codes = (input: Parameters<typeof report>[0]) => reportOf(input).warnings.map(({ code }) => code);

describe('report', () => {
  it('has the flat fields of the first picture, rounded as documented', () => {
    const made = reportOf(
      picture(
        { duration: '4.00049', sample_aspect_ratio: '16:11', display_aspect_ratio: '256:99' },
        { PixelAspectRatio: '1.455', DisplayAspectRatio: '2.586' },
      ),
    );
    assert.deepEqual(made['codec'], { name: 'h264', four_cc: 'avc1', id: 0x31637661 });
    assert.deepEqual(made['size'], {
      width: 1280,
      height: 720,
      sample_aspect_ratio: 1.455,
      display_aspect_ratio: 2.586,
    });
    assert.deepEqual(made['frame_rate'], { numerator: 25, denominator: 1 });
    assert.deepEqual(made['pixel_format'], {
      color_model: 'yuv',
      components_order: 'yuv',
      chroma_subsampling: '4:2:0',
      bit_depth: 8,
      has_alpha: false,
    });
    assert.equal(made['duration'], 4);
    assert.equal(made['frames_count'], 100);
    assert.deepEqual(made['bitrate'], { average: 1000000 });
    assert.deepEqual(made['color'], {});
    assert.deepEqual(made.diff, []);
    assert.deepEqual(made.warnings, []);
  });

  it('has 0 for an unknown id, rate and average', () => {
    const made = reportOf({
      ffprobe: {
        version: '9.0',
        output: { streams: [{ codec_type: 'video', width: 10, height: 10 }], format: { format_name: 'avi' } },
      },
      mediainfo: undefined,
      diff: true,
      prefer: null,
    });
    assert.deepEqual(
      [made['codec'], made['frame_rate'], made['bitrate']],
      [{ id: 0 }, { numerator: 0, denominator: 1 }, { average: 0 }],
    );
    assert.ok(!('frames_count' in made) && !('duration' in made));
  });

  it('warns of damage and gaps that reading showed', () => {
    const more = {
      damage: 'h264: error while decoding MB 5 7',
      gaps: [
        { stream: 0, count: 3, at: 1.5, seconds: 0.24 },
        { stream: 9, count: 1, at: 0, seconds: 1 },
      ],
    };
    assert.deepEqual(reportOf({ ...picture(), ...more }).warnings, [
      { code: 'damaged', message: 'ffprobe reports h264: error while decoding MB 5 7', path: 'container' },
      { code: 'gaps', message: 'no packets for 0.240 s at 1.500 s, the first of 3 gaps', path: 'streams[0]' },
    ]);
    const encrypted = picture({ codec_tag_string: 'encv' });
    assert.deepEqual(
      reportOf({ ...encrypted, damage: more.damage }).warnings.filter(({ code }) => code === 'damaged'),
      [],
    );
  });
  it('does not take for damage what a file with data for decryption may have encrypted', () => {
    const damage = 'h264: error while decoding MB 5 7';
    const side_data_list = [{ side_data_type: 'Encryption initialization data' }];
    assert.deepEqual(reportOf({ ...picture({ side_data_list }), damage }).warnings, [
      {
        code: 'encrypted',
        message: `ffprobe reports ${damage}; the file has data for decryption, so it may be encrypted`,
        path: 'container',
      },
    ]);
    assert.deepEqual(reportOf(picture({ side_data_list })).warnings, []);
  });

  it('does not compare a manifest as a file', () => {
    const of = (name: string, format: string) =>
      reportOf(
        picture(
          {},
          {},
          {
            ffprobe: { format_name: name, size: '1300', bit_rate: '1000' },
            mediainfo: { Format: format, FileSize: '2600', OverallBitRate: '9000' },
          },
        ),
      );
    for (const made of [of('hls', 'HLS'), of('dash', 'DASH MPD')]) {
      assert.deepEqual([made.container.size, made.container.bitrate, made.diff], [undefined, undefined, []]);
    }
    assert.notDeepEqual(of('mov,mp4', 'MPEG-4').diff, []);
  });

  it('does not warn that mediainfo sees no stream of a manifest', () => {
    const playlist = picture({}, {}, { ffprobe: { format_name: 'hls' }, mediainfo: { Format: 'HLS' } });
    const tracks = { media: { track: [{ '@type': 'General', Format: 'HLS' }] } };
    const made = reportOf({
      ...playlist,
      mediainfo: { version: '26.10', output: tracks },
      extension: 'm3u8',
    });
    assert.equal(made.container.streams.video, 1);
    assert.deepEqual([made.warnings, made.diff], [[], []]);
  });

  it('has no flat fields without a picture', () => {
    const made = reportOf(inputOf('elementary.ac3'));
    for (const field of ['codec', 'size', 'frame_rate', 'pixel_format', 'bitrate', 'color', 'duration'])
      assert.ok(!(field in made), field);
    assert.equal((made.streams[0] as { type: string }).type, 'audio');
  });

  it('does not treat a cover as a picture', () => {
    const output = {
      format: { format_name: 'mp3' },
      streams: [
        { codec_type: 'audio', codec_name: 'mp3', sample_rate: '44100', channels: 2 },
        { codec_type: 'video', codec_name: 'mjpeg', width: 100, height: 100, disposition: { attached_pic: 1 } },
      ],
    };
    const mediainfo = {
      media: {
        track: [
          { '@type': 'General', Format: 'MPEG Audio', Cover: 'Yes' },
          { '@type': 'Audio', Format: 'MPEG Audio', Format_Profile: 'Layer 3', SamplingRate: '44100', Channels: '2' },
        ],
      },
    };
    const made = reportOf({
      ffprobe: { version: '9.0', output },
      mediainfo: { version: '26.10', output: mediainfo },
      diff: true,
      prefer: null,
    });
    assert.ok(!('size' in made));
    assert.deepEqual(made.diff, []);
    assert.ok((made.streams[1] as { attached_picture?: boolean }).attached_picture);
  });

  it('describes the first variant of a playlist, whatever the order of its streams', () => {
    const stream = (index: number, width: number) => ({
      index,
      codec_type: 'video',
      codec_name: 'h264',
      width,
      height: 100,
    });
    const output = {
      format: { format_name: 'hls' },
      streams: [stream(0, 640), stream(1, 320)],
      programs: [
        { program_id: 0, streams: [{ index: 1 }] },
        { program_id: 1, streams: [{ index: 0 }] },
      ],
    };
    const made = reportOf({ ffprobe: { version: '9.0', output }, mediainfo: undefined, diff: true, prefer: null });
    assert.equal((made['size'] as { width: number }).width, 320);
  });

  it('from one tool alone: has all of its values, with a warning', () => {
    for (const missing of ['ffprobe', 'mediainfo'] as const) {
      const made = reportOf({ ...picture(), [missing]: undefined });
      assert.deepEqual(
        made.warnings.map(({ code }) => code),
        ['single-source'],
      );
      assert.equal((made['size'] as { width: number }).width, 1280);
      assert.deepEqual(made.diff, []);
    }
  });

  it('does not exist without any tool', () => {
    for (const output of [
      undefined,
      null,
      {},
      [],
      'text',
      { media: null },
      { format: {} },
      { media: { track: [{ '@type': 'General', FileSize: '4096' }] } },
    ]) {
      assert.equal(
        report({
          ffprobe: { version: '9.0', output },
          mediainfo: { version: '26.10', output },
          diff: true,
          prefer: null,
        }),
        undefined,
      );
    }
  });

  it('lists disagreements with both values, the choice, a reason and the confidence', () => {
    const made = reportOf(picture({}, { FrameCount: '98', ScanType: 'Interlaced' }));
    assert.deepEqual(
      made.diff?.map(({ path, ffprobe, mediainfo }) => [path, ffprobe, mediainfo]),
      [
        ['streams[0].scan_type', 'progressive', 'interlaced'],
        ['streams[0].frames_count', 100, 98],
      ],
    );
    for (const { chosen, reason, confidence = 0 } of made.diff ?? []) {
      assert.ok(
        ['ffprobe', 'mediainfo'].includes(chosen ?? '') && reason.length > 10 && confidence > 0 && confidence <= 1,
      );
    }
  });

  it('has the chosen values', () => {
    for (const sample of SAMPLES) {
      const made = reportOf(inputOf(sample));
      for (const { path, chosen, ...values } of made.diff ?? []) {
        const place = /^streams\[(\d+)\]\.(.+)$/.exec(path);
        if (!place) continue;
        const found = place[2]!
          .split('.')
          .reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], made.streams[Number(place[1])]);
        assert.deepEqual(found, chosen === null ? undefined : values[chosen], path);
      }
    }
  });

  it('prefer decides every field that both tools have, and no other', () => {
    for (const prefer of ['ffprobe', 'mediainfo'] as const) {
      const made = reportOf({ ...picture({ color_primaries: 'bt709' }, { FrameCount: '98' }), prefer });
      assert.equal(made['frames_count'], prefer === 'ffprobe' ? 100 : 98);
      assert.deepEqual(
        made.diff?.map(({ chosen }) => chosen),
        [prefer],
      );
      assert.match(made.diff?.[0]?.reason ?? '', /^preferred by the caller/);
      assert.deepEqual(made['color'], { primaries: 'bt709' });
    }
  });

  it('diff=false omits the list and changes nothing else', () => {
    const { diff, ...rest } = reportOf(inputOf('quad_sound.flv'));
    assert.ok(diff!.length > 0);
    assert.deepEqual(reportOf(inputOf('quad_sound.flv', { diff: false })), rest);
  });

  for (const [what, ffprobe, mediainfo] of [
    [
      'a rate with three decimals',
      { avg_frame_rate: '30000/1001', r_frame_rate: '30000/1001', duration: '3.336667' },
      { FrameRate: '29.970', Duration: '3.337' },
    ],
    [
      'an aspect with three decimals',
      { sample_aspect_ratio: '64:45', display_aspect_ratio: '512:203' },
      { PixelAspectRatio: '1.422', DisplayAspectRatio: '2.528' },
    ],
    [
      'names of colours',
      { color_primaries: 'bt2020', color_transfer: 'smpte2084', color_space: 'bt2020nc', color_range: 'tv' },
      {
        colour_primaries: 'BT.2020',
        transfer_characteristics: 'PQ',
        matrix_coefficients: 'BT.2020 non-constant',
        colour_range: 'Limited',
      },
    ],
    ['matrices with the same numbers', { color_space: 'bt470bg' }, { matrix_coefficients: 'BT.601' }],
    [
      'a rotation as a matrix',
      { side_data_list: [{ side_data_type: 'Display Matrix', rotation: -90 }] },
      { Rotation: '90.000' },
    ],
    ['an interlaced picture', { field_order: 'tt' }, { ScanType: 'MBAFF', ScanOrder: 'TFF' }],
    ['9 in `fiel` of MP4', { field_order: 'tb' }, { ScanType: 'Interlaced', ScanOrder: 'TFF' }],
    ['14 in `fiel` of MP4', { field_order: 'bt' }, { ScanType: 'Interlaced', ScanOrder: 'BFF' }],
    ['a three-letter language', { tags: { language: 'fre' } }, { Language: 'fr' }],
    ['a duration within a frame', { duration: '4.030000' }, { Duration: '4.000' }],
    ['a bit rate one percent off', {}, { BitRate: '1010000' }],
    ['a FourCC in another case', { codec_tag_string: 'XVID', codec_tag: '0x44495658' }, { CodecID: 'xvid' }],
  ] as const) {
    it(`${what} is no disagreement`, () => assert.deepEqual(disputed(picture(ffprobe, mediainfo)), []));
  }

  for (const [what, ffprobe, mediainfo, path] of [
    ['30 against 29.97 frames a second', { avg_frame_rate: '30/1' }, { FrameRate: '29.970' }, 'frame_rate'],
    ['a bit rate off by a tenth', {}, { BitRate: '1100000' }, 'bitrate.average'],
    ['a duration off by two frames', { duration: '4.100000' }, {}, 'duration'],
    ['another codec', { codec_name: 'hevc', profile: 'Main' }, { Format_Profile: 'Main' }, 'codec.name'],
    ['other primaries', { color_primaries: 'bt709' }, { colour_primaries: 'BT.2020' }, 'color.primaries'],
    ['another width', { width: 1920 }, {}, 'size.width'],
    ['another depth', { pix_fmt: 'yuv420p10le' }, {}, 'pixel_format.bit_depth'],
  ] as const) {
    it(`${what} is a disagreement`, () =>
      assert.ok(disputed(picture(ffprobe, mediainfo)).includes(`streams[0].${path}`)));
  }

  it('matches streams by their properties, not by their position', () => {
    const output = {
      format: { format_name: 'mpegts' },
      streams: [
        { codec_type: 'audio', codec_name: 'ac3', id: '0x101', channels: 6 },
        { codec_type: 'video', codec_name: 'h264', id: '0x100' },
        { codec_type: 'audio', codec_name: 'mp2', id: '0x102', channels: 2 },
      ],
    };
    const mediainfo = {
      media: {
        track: [
          { '@type': 'General', Format: 'MPEG-TS' },
          { '@type': 'Video', ID: '256', Format: 'AVC' },
          { '@type': 'Audio', ID: '258', Format: 'MPEG Audio', Format_Profile: 'Layer 2', Channels: '2' },
          { '@type': 'Audio', ID: '257', Format: 'AC-3', Channels: '6' },
        ],
      },
    };
    assert.deepEqual(
      reportOf({
        ffprobe: { version: '9.0', output },
        mediainfo: { version: '26.10', output: mediainfo },
        diff: true,
        prefer: null,
      }).diff,
      [],
    );
  });

  it('shows a stream that only one tool reports', () => {
    const input = picture();
    (input.mediainfo!.output as { media: { track: object[] } }).media.track.push({
      '@type': 'Audio',
      ID: '2',
      Format: 'AAC',
    });
    const made = reportOf(input);
    assert.deepEqual(
      made.diff?.map(({ path, ffprobe, mediainfo }) => [path, ffprobe, mediainfo]),
      [['streams[1]', null, { type: 'audio', codec: 'aac' }]],
    );
    assert.equal(made.streams.length, 2);
  });

  it('does not report captions in a picture as a missing stream', () => {
    const input = picture();
    (input.mediainfo!.output as { media: { track: object[] } }).media.track.push({
      '@type': 'Text',
      ID: '1-CC1',
      Format: 'EIA-608',
    });
    assert.deepEqual(reportOf(input).diff, []);
  });

  for (const [what, input, code] of [
    ['a name that does not match', { ...picture(), extension: 'mkv' }, 'extension-mismatch'],
    [
      'a file shorter than its streams',
      picture({}, {}, { ffprobe: { size: '200000' }, mediainfo: { FileSize: '200000' } }),
      'truncated',
    ],
    [
      'a file that mediainfo considers truncated',
      picture({}, {}, { mediainfo: { extra: { IsTruncated: 'Yes' } } }),
      'truncated',
    ],
    [
      'a rate that varies widely',
      picture({}, { FrameRate_Mode: 'VFR', FrameRate_Minimum: '5.000', FrameRate_Maximum: '30.000' }),
      'variable-frame-rate',
    ],
    [
      'inconsistent colours',
      picture({}, { colour_primaries: 'BT.2020', colour_primaries_Original: 'BT.709' }),
      'color-mismatch',
    ],
    ['an HDR curve in a small gamut', picture({ color_transfer: 'smpte2084', color_primaries: 'bt709' }), 'odd-color'],
    [
      'more frames than the duration allows',
      picture({ nb_frames: '1000' }, { FrameCount: '1000' }),
      'broken-timestamps',
    ],
    [
      'a container of another duration',
      picture({}, {}, { ffprobe: { duration: '9.0' }, mediainfo: { Duration: '9.000' } }),
      'wrong-duration',
    ],
    ['an encrypted picture', picture({ codec_tag_string: 'encv' }, { Encryption: 'Encrypted' }), 'encrypted'],
  ] as const) {
    it(`warns of ${what}`, () => assert.ok(codes(input).includes(code), codes(input).join()));
  }
  const MKV = { ffprobe: { format_name: 'matroska,webm' }, mediainfo: { Format: 'Matroska', CodecID: undefined } };
  for (const [what, input, given] of [
    [
      'a longer last frame',
      picture(
        {},
        {
          FrameRate_Mode: 'VFR',
          FrameRate_Minimum: '12.500',
          FrameRate_Maximum: '25.000',
          FrameCount: '99',
          FrameRate: '24.750',
        },
      ),
      false,
    ],
    [
      'twenty longer frames',
      picture(
        { nb_frames: '80', avg_frame_rate: '20/1' },
        {
          FrameRate_Mode: 'VFR',
          FrameRate_Minimum: '12.500',
          FrameRate_Maximum: '25.000',
          FrameCount: '80',
          FrameRate: '20.000',
        },
      ),
      true,
    ],
    [
      'a frame that lasts a second',
      picture(
        { nb_frames: '75' },
        {
          FrameRate_Mode: 'VFR',
          FrameRate_Minimum: '1.000',
          FrameRate_Maximum: '25.000',
          FrameCount: '75',
          FrameRate: '18.750',
        },
      ),
      true,
    ],
    [
      'one frame fewer than the base rate',
      picture(
        { avg_frame_rate: '24/1', nb_frames: '48', duration: '2.000' },
        { Duration: '2.000', FrameRate: '24.000', FrameCount: '48', FrameRate_Mode: 'VFR' },
      ),
      false,
    ],
    [
      'Matroska with fewer frames than declared',
      picture({}, { FrameRate_Mode: 'VFR', FrameRate: '17.000', CodecID: 'V_MPEG4/ISO/AVC' }, MKV),
      true,
    ],
    [
      'Matroska without a frame count',
      picture({}, { FrameRate_Mode: 'VFR', FrameRate: undefined, CodecID: 'V_MPEG4/ISO/AVC' }, MKV),
      true,
    ],
    [
      'Matroska with the declared number of frames',
      picture({}, { FrameRate_Mode: 'VFR', CodecID: 'V_MPEG4/ISO/AVC' }, MKV),
      false,
    ],
    [
      'pictures without timestamps',
      picture(
        { avg_frame_rate: '25/1', r_frame_rate: '60/1' },
        { FrameRate_Mode: 'VFR', FrameRate: '60.000' },
        { ffprobe: { format_name: 'h264' }, mediainfo: { Format: 'AVC', CodecID: undefined } },
      ),
      false,
    ],
  ] as const) {
    it(`${what}: ${given ? 'variable frame rate' : 'no variable frame rate'}`, () =>
      assert.equal(codes(input).includes('variable-frame-rate'), given));
  }

  for (const [element, code] of [
    ['mdat', 'truncated'],
    ['RIFF', 'truncated'],
    ['_0x8538067_', 'truncated'],
    ['_0xBB0DEC04_', 'trailing-data'],
    ['q', 'trailing-data'],
    ['Unknown', 'trailing-data'],
  ] as const) {
    it(`an element ${element} that extends past the end of the file: ${code}`, () => {
      const extra = {
        IsTruncated: 'Yes',
        ConformanceErrors: [
          {
            [element]: [
              {
                GeneralCompliance:
                  'Element size is more than maximal permitted size (actual 90000, expected 2992, offset 0x10)',
              },
            ],
          },
        ],
      };
      assert.deepEqual(
        codes(picture({}, {}, { mediainfo: { extra } })).filter(
          (one) => one === 'truncated' || one === 'trailing-data',
        ),
        [code],
      );
    });
  }

  it('ignores a time base reported as a rate', () => {
    const made = reportOf(picture({ avg_frame_rate: '1000/1', r_frame_rate: '60/1' }, { FrameRate: '30.000' }));
    assert.deepEqual(
      [made['frame_rate'], made.diff?.some(({ path }) => path.endsWith('frame_rate'))],
      [{ numerator: 30, denominator: 1 }, false],
    );
  });

  it('does not report Matroska as truncated because its tags declare more bytes', () =>
    assert.ok(
      !codes(
        picture(
          {},
          { CodecID: 'V_MPEG4/ISO/AVC' },
          { ffprobe: { ...MKV.ffprobe, size: '300000' }, mediainfo: { ...MKV.mediainfo, FileSize: '300000' } },
        ),
      ).includes('truncated'),
    ));

  it('timestamps in milliseconds do not make 60 frames a second variable', () =>
    assert.deepEqual(
      codes(picture({}, { FrameRate_Mode: 'VFR', FrameRate_Minimum: '58.824', FrameRate_Maximum: '62.500' })),
      [],
    ));

  it('names the HDR format', () => {
    const made = reportOf(
      picture({
        color_transfer: 'smpte2084',
        color_primaries: 'bt2020',
        side_data_list: [
          { side_data_type: 'Mastering display metadata' },
          { side_data_type: 'Content light level metadata', max_content: 1000, max_average: 400 },
          { side_data_type: 'DOVI configuration record', dv_profile: 8, dv_level: 6 },
        ],
      }),
    );
    assert.deepEqual((made.streams[0] as { hdr: object }).hdr, {
      formats: ['HDR10', 'Dolby Vision'],
      mastering_display: true,
      max_cll: 1000,
      max_fall: 400,
      dolby_vision_profile: 8,
      dolby_vision_level: 6,
    });
  });

  it('has a confidence for every field whose true value was known in the test files, and no other', () => {
    for (const sample of SAMPLES) {
      const { confidence } = reportOf(inputOf(sample));
      assert.ok(Object.keys(confidence).length > 5);
      const fields = Object.keys(confidence).map((path) => path.replace(/^(?:container|streams\[\d+\])\./, ''));
      assert.deepEqual(
        fields.filter((field) => !ruleOf(field).measured),
        [],
        sample,
      );
    }
    const { confidence } = reportOf(picture());
    for (const path of ['codec.name', 'size.width', 'container.format', 'streams[0].duration'])
      assert.ok(path in confidence, path);
    for (const path of ['codec.four_cc', 'codec.id', 'container.brand', 'streams[0].codec.level'])
      assert.ok(!(path in confidence), path);
  });

  it('works with older versions of both tools', () => {
    for (const sample of SAMPLES) {
      const versions = Object.keys(outputsOf(sample));
      for (const a of versions.filter((name) => name.startsWith('ffprobe')))
        for (const b of versions.filter((name) => name.startsWith('mediainfo'))) {
          const made = reportOf(inputOf(sample, {}, [a.slice(8), b.slice(10)]));
          assert.ok(
            made.streams.length > 0 && !made.warnings.some(({ code }) => code === 'single-source'),
            `${sample} ${a} ${b}`,
          );
        }
    }
  });
});
