import assert from 'node:assert/strict';
import { ruleOf } from '../../src/report/fields.ts';
import { report } from '../../src/report/report.ts';
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

  it('keeps ids, rate and average where nothing is known', () => {
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

  it('has no flat fields without a picture', () => {
    const made = reportOf(inputOf('elementary.ac3'));
    for (const field of ['codec', 'size', 'frame_rate', 'pixel_format', 'bitrate', 'color', 'duration'])
      assert.ok(!(field in made), field);
    assert.equal((made.streams[0] as { type: string }).type, 'audio');
  });

  it('a cover is no picture', () => {
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

  it('of a playlist the first variant counts, whatever the order of its streams', () => {
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

  it('of one tool alone: everything that it says, with a warning', () => {
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

  it('of no tool there is none', () => {
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

  it('lists what the two disagree on, with both values, the choice, a reason and how sure it is', () => {
    const made = reportOf(picture({}, { FrameCount: '98', ScanType: 'Interlaced' }));
    assert.deepEqual(
      made.diff?.map(({ path, ffprobe, mediainfo }) => [path, ffprobe, mediainfo]),
      [
        ['streams[0].scan_type', 'progressive', 'interlaced'],
        ['streams[0].frames_count', 100, 98],
      ],
    );
    for (const { chosen, reason, confidence = 0 } of made.diff ?? []) {
      assert.ok(['ffprobe', 'mediainfo'].includes(chosen) && reason.length > 10 && confidence > 0 && confidence <= 1);
    }
  });

  it('gives what was chosen', () => {
    for (const sample of SAMPLES) {
      const made = reportOf(inputOf(sample));
      for (const { path, chosen, ...values } of made.diff ?? []) {
        const place = /^streams\[(\d+)\]\.(.+)$/.exec(path);
        if (!place) continue;
        const found = place[2]!
          .split('.')
          .reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], made.streams[Number(place[1])]);
        assert.deepEqual(found, values[chosen], path);
      }
    }
  });

  it('prefer wins every field that both have, and no other', () => {
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

  it('diff=false leaves the list out and changes nothing else', () => {
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
      'a rotation told as a matrix',
      { side_data_list: [{ side_data_type: 'Display Matrix', rotation: -90 }] },
      { Rotation: '90.000' },
    ],
    ['an interlaced picture', { field_order: 'tt' }, { ScanType: 'MBAFF', ScanOrder: 'TFF' }],
    ['a language of three letters', { tags: { language: 'fre' } }, { Language: 'fr' }],
    ['less than a frame', { duration: '4.030000' }, { Duration: '4.000' }],
    ['a bit rate one percent off', {}, { BitRate: '1010000' }],
    ['a FourCC in other letters', { codec_tag_string: 'XVID', codec_tag: '0x44495658' }, { CodecID: 'xvid' }],
  ] as const) {
    it(`${what} is no disagreement`, () => assert.deepEqual(disputed(picture(ffprobe, mediainfo)), []));
  }

  for (const [what, ffprobe, mediainfo, path] of [
    ['30 frames are not 29.97', { avg_frame_rate: '30/1' }, { FrameRate: '29.970' }, 'frame_rate'],
    ['a bit rate a tenth off', {}, { BitRate: '1100000' }, 'bitrate.average'],
    ['two frames', { duration: '4.100000' }, {}, 'duration'],
    ['another codec', { codec_name: 'hevc', profile: 'Main' }, { Format_Profile: 'Main' }, 'codec.name'],
    ['other primaries', { color_primaries: 'bt709' }, { colour_primaries: 'BT.2020' }, 'color.primaries'],
    ['another width', { width: 1920 }, {}, 'size.width'],
    ['another depth', { pix_fmt: 'yuv420p10le' }, {}, 'pixel_format.bit_depth'],
  ] as const) {
    it(`${what}: a disagreement`, () =>
      assert.ok(disputed(picture(ffprobe, mediainfo)).includes(`streams[0].${path}`)));
  }

  it('matches streams by what they are, not by their place', () => {
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

  it('shows a stream that only one of the two sees', () => {
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

  it('captions in a picture are no missing stream', () => {
    const input = picture();
    (input.mediainfo!.output as { media: { track: object[] } }).media.track.push({
      '@type': 'Text',
      ID: '1-CC1',
      Format: 'EIA-608',
    });
    assert.deepEqual(reportOf(input).diff, []);
  });

  for (const [what, input, code] of [
    ['a name that does not fit', { ...picture(), extension: 'mkv' }, 'extension-mismatch'],
    [
      'a file that is shorter than its streams',
      picture({}, {}, { ffprobe: { size: '200000' }, mediainfo: { FileSize: '200000' } }),
      'truncated',
    ],
    ['what mediainfo calls truncated', picture({}, {}, { mediainfo: { extra: { IsTruncated: 'Yes' } } }), 'truncated'],
    [
      'a rate that varies widely',
      picture({}, { FrameRate_Mode: 'VFR', FrameRate_Minimum: '5.000', FrameRate_Maximum: '30.000' }),
      'variable-frame-rate',
    ],
    [
      'colours that do not agree',
      picture({}, { colour_primaries: 'BT.2020', colour_primaries_Original: 'BT.709' }),
      'color-mismatch',
    ],
    ['an HDR curve in a small gamut', picture({ color_transfer: 'smpte2084', color_primaries: 'bt709' }), 'odd-color'],
    ['more frames than time', picture({ nb_frames: '1000' }, { FrameCount: '1000' }), 'broken-timestamps'],
    [
      'a container that ends elsewhere',
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
      'a last frame that is longer',
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
      'twenty frames that are longer',
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
      'one frame that stands still for a second',
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
      'one frame less than its base rate would have',
      picture(
        { avg_frame_rate: '24/1', nb_frames: '48', duration: '2.000' },
        { Duration: '2.000', FrameRate: '24.000', FrameCount: '48', FrameRate_Mode: 'VFR' },
      ),
      false,
    ],
    [
      'Matroska whose frames are fewer than is declared',
      picture({}, { FrameRate_Mode: 'VFR', FrameRate: '17.000', CodecID: 'V_MPEG4/ISO/AVC' }, MKV),
      true,
    ],
    [
      'Matroska whose frames nobody counted',
      picture({}, { FrameRate_Mode: 'VFR', FrameRate: undefined, CodecID: 'V_MPEG4/ISO/AVC' }, MKV),
      true,
    ],
    [
      'Matroska whose frames are as declared',
      picture({}, { FrameRate_Mode: 'VFR', CodecID: 'V_MPEG4/ISO/AVC' }, MKV),
      false,
    ],
    [
      'pictures without times',
      picture(
        { avg_frame_rate: '25/1', r_frame_rate: '60/1' },
        { FrameRate_Mode: 'VFR', FrameRate: '60.000' },
        { ffprobe: { format_name: 'h264' }, mediainfo: { Format: 'AVC', CodecID: undefined } },
      ),
      false,
    ],
  ] as const) {
    it(`${what}: ${given ? 'a variable rate' : 'no variable rate'}`, () =>
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
    it(`an element ${element} that ends behind the file: ${code}`, () => {
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

  it('a time base in place of a rate is none', () => {
    const made = reportOf(picture({ avg_frame_rate: '1000/1', r_frame_rate: '60/1' }, { FrameRate: '30.000' }));
    assert.deepEqual(
      [made['frame_rate'], made.diff?.some(({ path }) => path.endsWith('frame_rate'))],
      [{ numerator: 30, denominator: 1 }, false],
    );
  });

  it('Matroska whose tags tell of more bytes than it has is not cut off for that', () =>
    assert.ok(
      !codes(
        picture(
          {},
          { CodecID: 'V_MPEG4/ISO/AVC' },
          { ffprobe: { ...MKV.ffprobe, size: '300000' }, mediainfo: { ...MKV.mediainfo, FileSize: '300000' } },
        ),
      ).includes('truncated'),
    ));

  it('a file of sixty frames a second in milliseconds does not vary', () =>
    assert.deepEqual(
      codes(picture({}, { FrameRate_Mode: 'VFR', FrameRate_Minimum: '58.824', FrameRate_Maximum: '62.500' })),
      [],
    ));

  it('HDR by its name', () => {
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

  it('a confidence for every field whose truth was known in the test files, and for no other', () => {
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

  it('older versions of both tools lead to a report as well', () => {
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
