import assert from 'node:assert/strict';
import type { SentFile } from '../../src/cli/api/multipart_form.ts';
import { Failure } from '../../src/cli/exits.ts';
import { asksVersion, readFfprobe, summaryLines } from '../../src/cli/shim/ffprobe_shim.ts';
import { joined, readMediainfo } from '../../src/cli/shim/mediainfo_shim.ts';
import { asGiven, endedIn } from '../../src/cli/shim/tool_run.ts';
import { FFPROBE_OPTIONS } from '../../src/media/tools/ffprobe_options.ts';
import { MEDIAINFO_OPTIONS } from '../../src/media/tools/mediainfo.ts';

const URL_ = 'https://media.example.com/a.mp4';
const NOTHING = {
  show_format: false,
  show_streams: false,
  show_programs: false,
  show_chapters: false,
  show_error: false,
  output_format: 'default',
};

const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof Failure && error.exitCode === 2, String(error));
    return error.message;
  }
  throw new assert.AssertionError({ message: 'it was accepted' });
};

describe('flags of ffprobe', () => {
  const table: [string, object, boolean?][] = [
    [`${URL_}`, {}],
    [`-i ${URL_} -show_format`, { show_format: true }],
    [
      `-v quiet -print_format json -show_format -show_streams ${URL_}`,
      { output_format: 'json', show_format: true, show_streams: true },
      false,
    ],
    [`-loglevel error -of csv --show_packets ${URL_}`, { output_format: 'csv', show_packets: true }],
    [`-hide_banner -show_private_data -v 8 ${URL_}`, {}, false],
    [`-pretty ${URL_}`, { unit: true, prefix: true, byte_binary_prefix: true, sexagesimal: true }],
    [`-show_data_hash md5 -show_log 24 ${URL_}`, { show_data_hash: true, show_log: 'warning' }],
    [
      `-show_entries stream=codec_name -select_streams v:0 ${URL_}`,
      { show_entries: 'stream=codec_name', select_streams: 'v:0' },
    ],
    [
      `-probesize 5000000 -skip_estimate_duration_from_pts 1 ${URL_}`,
      { probesize: 5_000_000, skip_estimate_duration_from_pts: true },
    ],
    [`-select_streams a:0 -select_streams v:0 ${URL_}`, { select_streams: 'v:0' }],
  ];
  for (const [line, options, says = true] of table)
    it(line, () =>
      assert.deepEqual(readFfprobe(line.split(' ')), {
        source: URL_,
        options: { ...NOTHING, ...options },
        request: {},
        says,
        informs: !/-(?:v|loglevel) /.test(line),
      }),
    );
  for (const [level, informs] of [
    ['info', true],
    ['verbose', true],
    ['repeat+level+32', true],
    ['warning', false],
  ] as const)
    it(`-v ${level} ${informs ? 'shows' : 'hides'} the summary`, () =>
      assert.equal(readFfprobe(['-v', level, URL_]).informs, informs));

  const formats = ['csv=p=0', 'csv=s=x:p=0', 'default=noprint_wrappers=1:nokey=1', 'json=compact=1', 'compact=p=0'];
  for (const flag of ['of', 'print_format'])
    for (const format of formats)
      it(`-${flag} ${format}`, () =>
        assert.equal(readFfprobe([`-${flag}`, format, URL_]).options['output_format'], format));

  it('entries of several -show_entries add up', () => {
    const line = `-show_entries stream=width -show_entries format=duration -show_format_entry size ${URL_}`;
    assert.equal(readFfprobe(line.split(' ')).options['show_entries'], 'stream=width:format=duration:format=size');
  });

  for (const [text, value] of [
    ['5M', 5_000_000],
    ['64Ki', 65_536],
    ['1.5k', 1_500],
    ['2G', 2_000_000_000],
  ] as const)
    it(`-probesize ${text}`, () => assert.equal(readFfprobe(['-probesize', text, URL_]).options['probesize'], value));

  const requests: [string[], object, object?][] = [
    [['-headers', 'A: b\r\nX-C:  d: e \r\n'], { headers: { a: 'b', 'x-c': 'd: e' } }],
    [
      ['-user_agent', 'me/1 (x)', '-referer', 'https://x/'],
      { headers: { 'user-agent': 'me/1 (x)', referer: 'https://x/' } },
    ],
    [['-user_agent', 'me', '-headers', 'User-Agent: you'], { headers: { 'user-agent': 'you' } }],
    [['-headers', 'A: b\nA: c'], { headers: { a: 'b, c' } }],
    [
      [
        '-cookies',
        'a=1; path=/; domain=example.com\nb=2; path=/x\nc=3; domain=other.org\n' +
          'd=4; expires=Thu, 01 Jan 1970 00:00:00 GMT\ne=5',
      ],
      { headers: { cookie: 'a=1; e=5' } },
    ],
    [['-timeout', '5000000'], { timeout: 10_000 }, { timeout: 5_000 }],
    [['-rw_timeout', '5M'], { timeout: 10_000 }, { timeout: 5_000 }],
    [['-timeout', '9000000000000'], { timeout: 650_000 }, { timeout: 650_000 }],
    [['-timeout', '0'], {}],
    [['-o', '-'], {}],
    [['-o', 'pipe:1', '-rtsp_transport', 'tcp'], {}],
    [['-tls_verify', '1'], {}, { tls_verify: true }],
  ];
  for (const [args, request, options = {}] of requests)
    it(`${args.join(' ').replaceAll(/\s+/g, ' ').slice(0, 60)} is in the request`, () => {
      const read = readFfprobe([...args, URL_]);
      assert.deepEqual(read.request, request);
      assert.deepEqual(read.options, { ...NOTHING, ...options });
    });

  it('nothing behind -- is a flag', () => assert.equal(readFfprobe(['--', '-show_format']).source, '-show_format'));
  it('-version is known wherever it stands', () => {
    assert.ok(asksVersion(['-v', 'quiet', '-version']));
    assert.ok(!asksVersion(['-v', 'quiet', URL_]));
  });

  const refused: [string, RegExp][] = [
    [`-f lavfi ${URL_}`, /^ffprobe: -f: cannot be passed on/],
    [`-report ${URL_}`, /-report/],
    [`-of mermaid ${URL_}`, /-of: must be one of default, compact, csv/],
    [`-of json=p=1 ${URL_}`, /-of: json has no option "p"; accepted: c, /],
    [`-print_format csv=s=ab ${URL_}`, /-print_format: s of csv must be one character/],
    [`-o /tmp/x ${URL_}`, /-o: cannot be passed on/],
    [`-headers nonsense ${URL_}`, /-headers: must be lines/],
    [`-timeout soon ${URL_}`, /-timeout: must be a number/],
    [`-rtsp_transport udp ${URL_}`, /-rtsp_transport: cannot be passed on; accepted: tcp/],
    [`-show_data_hash sha256 ${URL_}`, /MD5 alone/],
    [`-probesize 5Q ${URL_}`, /must be a number, such as/],
    [`-v loud ${URL_}`, /is none of/],
    [`-show_format`, /no input/],
    [`${URL_} ${URL_}`, /2 inputs/],
    [`-select_streams`, /a value is missing/],
  ];
  for (const [line, message] of refused)
    it(`${line}: is refused by name`, () =>
      assert.match(
        refusal(() => readFfprobe(line.split(' '))),
        message,
      ));

  it('every option of the service that has a flag can be given', () => {
    for (const { flag, name, type, passed, values = [] } of FFPROBE_OPTIONS) {
      if (flag === undefined || ['of', 'show_private_data'].includes(flag)) continue;
      const value =
        flag === 'show_data_hash'
          ? ['md5']
          : type === 'boolean'
            ? passed === undefined
              ? []
              : ['1']
            : [values[0] ?? '1'];
      assert.ok(name in readFfprobe([`-${flag}`, ...value, URL_]).options, flag);
    }
  });
});

describe('the summary of ffprobe', () => {
  const video = {
    index: 0,
    id: '0x1',
    codec_name: 'h264',
    profile: 'High',
    codec_type: 'video',
    codec_tag_string: 'avc1',
    codec_tag: '0x31637661',
    width: 1920,
    height: 1080,
    sample_aspect_ratio: '1:1',
    display_aspect_ratio: '16:9',
    pix_fmt: 'yuv420p',
    color_range: 'tv',
    color_space: 'bt709',
    color_primaries: 'bt709',
    color_transfer: 'bt709',
    field_order: 'progressive',
    avg_frame_rate: '30000/1001',
    r_frame_rate: '25/1',
    time_base: '1/90000',
    bit_rate: '4000999',
    disposition: { default: 1, hearing_impaired: 0, attached_pic: 1 },
    tags: { language: 'und' },
  };
  const audio = {
    index: 1,
    codec_name: 'aac',
    profile: 'LC',
    codec_type: 'audio',
    codec_tag_string: '[0][0][0][0]',
    codec_tag: '0x0000',
    sample_rate: '48000',
    channels: 6,
    sample_fmt: 'fltp',
    avg_frame_rate: '0/0',
    time_base: '1/48000',
  };
  const format = { format_name: 'mov,mp4', duration: '3725.005000', start_time: '-0.5', bit_rate: '103584' };
  const table: [string, object, string[]][] = [
    [
      'a film',
      { format, streams: [video, audio] },
      [
        "Input #0, mov,mp4, from 'a.mp4':",
        '  Duration: 01:02:05.01, start: -0.5, bitrate: 103 kb/s',
        '  Stream #0:0[0x1](und): Video: h264 (High) (avc1 / 0x31637661), yuv420p(tv, bt709, progressive), ' +
          '1920x1080 [SAR 1:1 DAR 16:9], 4000 kb/s, 29.97 fps, 25 tbr, 90k tbn (default) (attached pic)',
        '  Stream #0:1: Audio: aac (LC), 48000 Hz, 6 channels, fltp',
      ],
    ],
    [
      'little',
      {
        format: { format_name: 'mpegts' },
        streams: [{ ...video, color_primaries: undefined, field_order: 'tt', id: undefined }, { index: 1 }],
      },
      [
        "Input #0, mpegts, from 'a.mp4':",
        '  Duration: N/A, bitrate: N/A',
        '  Stream #0:0(und): Video: h264 (High) (avc1 / 0x31637661), ' +
          'yuv420p(tv, bt709/unknown/bt709, top first), 1920x1080 [SAR 1:1 DAR 16:9], 4000 kb/s, 29.97 fps, 25 tbr, ' +
          '90k tbn (default) (attached pic)',
        '  Stream #0:1: Unknown: none',
      ],
    ],
    [
      'what other files have',
      {
        format: { format_name: 'matroska,webm', duration: '1' },
        streams: [
          { ...video, width: 0, avg_frame_rate: '0/0', time_base: '1/1000000000', disposition: {}, start_time: '0.0' },
          { ...audio, sample_fmt: 's32p', bits_per_raw_sample: '24', start_time: '0.043991', tags: { LANGUAGE: 'de' } },
          { ...audio, sample_rate: '0', bits_per_raw_sample: '32', sample_fmt: 's32' },
          { index: 3, codec_type: 'subtitle', codec_name: 'hdmv_pgs_subtitle', width: 1280, height: 720 },
        ],
      },
      [
        "Input #0, matroska,webm, from 'a.mp4':",
        '  Duration: 00:00:01.00, bitrate: N/A',
        '  Stream #0:0[0x1](und): Video: h264 (High) (avc1 / 0x31637661), yuv420p(tv, bt709, progressive), ' +
          '4000 kb/s, 25 tbr, 1000000000.00 tbn',
        '  Stream #0:1(de): Audio: aac (LC), 48000 Hz, 6 channels, s32p (24 bit), start 0.043991',
        '  Stream #0:1: Audio: aac (LC), 6 channels, s32',
        '  Stream #0:3: Subtitle: hdmv_pgs_subtitle, 1280x720',
      ],
    ],
    ['no format', {}, []],
  ];
  for (const [what, output, lines] of table)
    it(what, () => assert.deepEqual(summaryLines(JSON.stringify(output), 'a.mp4'), lines));
  it('of what is not valid JSON is nothing', () => assert.deepEqual(summaryLines('{"format": {', 'a.mp4'), []));
});

describe('flags of mediainfo', () => {
  const DEFAULTS = { output: 'Text', language: 'en', read_by_human: true };
  const table: [string[], object][] = [
    [[], {}],
    [['--Output=JSON'], { output: 'JSON' }],
    [['--output=xml', '-f'], { output: 'XML', full: true }],
    [['--Inform=General;%Duration%'], { inform: 'General;%Duration%', output: 'JSON' }],
    [['--Output=Video;%Width%'], { inform: 'Video;%Width%', output: 'JSON' }],
    [
      ['--Language=raw', '--ParseSpeed=1', '--ReadByHuman=0'],
      { language: 'raw', parse_speed: 1, read_by_human: false },
    ],
    [['--Details=1', '--Cover_Data=base64'], { details: true, cover_data: true }],
    [['-Lang=raw', '--Trace_Level=1', '--BOM', '--File_TestContinuousFileNames=0'], { language: 'raw', details: true }],
    [
      ['--HideParameter=General_Format,Video_Width', '--LegacyStreamDisplay=1', '--inform_version=1'],
      { hide_parameter: 'General_Format,Video_Width', legacy_stream_display: true, inform_version: true },
    ],
    [
      ['--AcquisitionDataOutputMode=parameterSegment', '--ShowParameter=General_FileExtension'],
      { acquisition_data_output_mode: 'parameterSegment', show_parameter: 'General_FileExtension' },
    ],
  ];
  for (const [args, options] of table)
    it(args.join(' ') || 'none', () =>
      assert.deepEqual(readMediainfo([...args, URL_]), {
        sources: [URL_],
        options: { ...DEFAULTS, ...options },
        defaults: Object.keys(DEFAULTS).filter((name) => !Object.hasOwn(options, name)),
      }),
    );

  it('the agent of the request is a header of it', () => {
    const { request } = readMediainfo(['--File_Curl;UserAgent=me/1', URL_]);
    assert.deepEqual(request, { headers: { 'user-agent': 'me/1' } });
  });
  it('every option of the service that has a flag can be given', () => {
    for (const { flag, name, type, values = ['General_Format'] } of MEDIAINFO_OPTIONS)
      if (flag !== undefined)
        assert.ok(name in readMediainfo([`--${flag}=${type === 'boolean' ? 1 : values[0]}`, URL_]).options, flag);
  });

  const refused: [string[], RegExp][] = [
    [['--LogFile=/tmp/x'], /^mediainfo: --LogFile: cannot be passed on to the service: it writes a file/],
    [['--Ssl_CertificateFileName=/tmp/x'], /--Ssl_CertificateFileName: .* it names a file/],
    [['--Info-Parameters'], /--Info-Parameters: .* it prints a list/],
    [['--Enable_FFmpeg=1'], /--Enable_FFmpeg: cannot be passed on to the service$/],
    [['--HideParameter=Format'], /--HideParameter: must be fields such as General_/],
    [['--AcquisitionDataOutputMode=both'], /must be segmentParameter or parameterSegment/],
    [['--Output=General;file:///etc/passwd'], /template/],
    [['--Inform=file:///etc/passwd'], /template/],
    [['--Language=file:///etc/passwd'], /language/],
    [['--ParseSpeed=2'], /from 0 to 1/],
    [['--Inform=Page_Begin;x\nGeneral;%Format%', 'b.mp4'], /--Inform: lines of Page_Begin/],
  ];
  for (const [args, message] of refused)
    it(`${args.join(' ')}: is refused by name`, () =>
      assert.match(
        refusal(() => readMediainfo([...args, URL_])),
        message,
      ));
});

describe('outputs of mediainfo for several files', () => {
  const xml = (name: string) =>
    `<?xml version="1.0" encoding="UTF-8"?>\n<MediaInfo\n    version="2.0">\n<creatingLibrary version="26.10"/>\n` +
    `<media ref="${name}">\n</media>\n</MediaInfo>\n\n`;
  const media = (name: string) => `<media ref="${name}">\n</media>\n`;
  const table: [string, object, string[], string][] = [
    ['text', { output: 'Text' }, ['General\na\n\n\n', 'General\nb\n\n\n'], 'General\na\n\nGeneral\nb\n\n\n'],
    ['JSON', { output: 'JSON' }, ['{\n"a":1\n}\n\n', '{\n"b":1\n}\n\n'], '[\n{\n"a":1\n},\n{\n"b":1\n}\n]\n\n'],
    ['JSON, nothing of one', { output: 'JSON' }, ['', '{\n}\n\n'], '[\n{\n}\n]\n\n'],
    ['a template', { output: 'JSON', inform: 'General;%Format%' }, ['MPEG-4\n', 'Wave\n'], 'MPEG-4Wave\n'],
    ['XML', { output: 'XML' }, [xml('a'), xml('b')], xml('a').replace(media('a'), media('a') + media('b'))],
    ['one file', { output: 'JSON' }, ['{\n}\n\n'], '{\n}\n\n'],
    ['nothing of any', { output: 'XML' }, ['', ''], ''],
  ];
  for (const [what, options, outputs, expected] of table)
    it(what, () => assert.equal(joined(outputs, options as Record<string, unknown>), expected));
});

describe('the output of the only tool of an envelope', () => {
  const envelope = (section: string) =>
    `{"success":true,"metadata":{"request_id":"x","queue_time":1,"io_usage":2},"ffprobe":{${section}}}`;
  const table: [string, string, number][] = [
    [
      '"success":true,"duration":1,"usage":1,"response":{"n": 1e2,\n "big": 12345678901234567890}\n',
      '{"n": 1e2,\n "big": 12345678901234567890}\n',
      0,
    ],
    ['"success":true,"duration":1,"usage":1,"response":"a\\tb\\n"', 'a\tb\n', 0],
    [
      '"success":false,"duration":1,"usage":1,"error":"data, \\"response\\": (exit code 7)","exit_code":69,' +
        '"response":{\n}\n',
      '{\n}\n',
      69,
    ],
    ['"success":false,"duration":1,"usage":1,"error":"no","response":null', '', 1],
  ];
  for (const [section, output, code] of table)
    it(JSON.stringify(output).slice(0, 40) + ` with exit code ${code}`, () => {
      const ended = endedIn(envelope(section), 'ffprobe');
      assert.deepEqual([ended.output, ended.code], [output, code]);
    });

  for (const [format, name] of [
    ['csv=p=0', '"a,""b|.mp4"'],
    ['csv=s=x', '"a,""b|.mp4"'],
    ['csv=e=none', 'a,"b|.mp4'],
    ['compact', String.raw`a,"b\|.mp4`],
    ['compact=s=x', 'a,"b|.mp4'],
    ['json=c=1', String.raw`a,\"b|.mp4`],
    ['default=nw=1', 'a,"b|.mp4'],
  ] as const)
    it(`shows the name of a file as it was given, in ${format}`, () => {
      const file = { name: 'a,"b|.mp4' } as SentFile;
      const sent = 'upload:///a%2C%22b%7C.mp4';
      assert.equal(asGiven(sent, { text: file.name, file }, format), name);
    });

  it('shows the address as it was given, in the escapes of each format', () => {
    const given = 'https://u:p@media.example.com/a.mp4?sig=1&x=2';
    const shown = 'https://media.example.com/a.mp4?sig=REDACTED&x=REDACTED';
    const source = { text: given };
    assert.equal(asGiven(`"filename": "${shown}"`, source), `"filename": "${given}"`);
    assert.equal(asGiven(`f="${shown.replaceAll('&', '&amp;')}"`, source), `f="${given.replaceAll('&', '&amp;')}"`);
    assert.equal(
      asGiven(`filename=${shown.replaceAll(/[:=]/g, String.raw`\$&`)}`, source),
      `filename=${given.replaceAll(/[:=]/g, String.raw`\$&`)}`,
    );
  });
});
