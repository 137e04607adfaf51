import assert from 'node:assert/strict';
import { ffprobe } from '../../src/media/tools/ffprobe.ts';
import { FFPROBE_OPTIONS, LOG_LEVELS } from '../../src/media/tools/ffprobe_options.ts';
import { mediainfo, MEDIAINFO_OPTIONS, MEDIAINFO_OUTPUTS } from '../../src/media/tools/mediainfo.ts';
import { OptionError } from '../../src/media/tools/option.ts';

const ADDRESS = 'http://127.0.0.1:1/secret/ffprobe/a.mp4';
const FIXED = ['-hide_banner', '-loglevel', 'error', '-protocol_whitelist', 'http,https,httpproxy,tls,tcp,crypto,data'];
const DEFAULTS = ['-of', 'json', '-show_format', '-show_streams', '-show_programs', '-show_chapters', '-show_error'];
const OFF = {
  show_format: 'false',
  show_streams: 'false',
  show_programs: 'false',
  show_chapters: 'false',
  show_error: 'false',
};

describe('ffprobe arguments', () => {
  it('are the documented defaults', () => {
    assert.deepEqual(ffprobe.args({}, ADDRESS), [...FIXED, ...DEFAULTS, '-i', ADDRESS]);
  });

  const table: [Record<string, string>, string[]][] = [
    [{ output_format: 'xml' }, []],
    [{ output_format: 'csv=p=0:s=x' }, []],
    [{ show_data_hash: 'true' }, ['-show_data_hash', 'MD5']],
    [{ skip_estimate_duration_from_pts: 'true' }, ['-skip_estimate_duration_from_pts', '1']],
    [{ show_frames: 'true', count_frames: 'true', unit: 'true' }, ['-show_frames', '-count_frames', '-unit']],
    [{ show_private_data: 'false' }, []],
    [{ tls_verify: 'true' }, []],
    [{ show_entries: 'format=duration' }, ['-show_entries', 'format=duration']],
    [{ select_streams: 'v:0', read_intervals: '%+#5' }, ['-select_streams', 'v:0', '-read_intervals', '%+#5']],
    [{ select_streams: '-i' }, ['-select_streams', '-i']],
    [{ show_log: 'debug' }, ['-show_log', '48']],
    [{ show_log: 'quiet' }, ['-show_log', '-8']],
    [{ skip_frame: 'nokey' }, ['-skip_frame', 'nokey']],
    [{ probesize: '0', analyzeduration: '0' }, []],
    [{ probesize: '32', max_ts_probe: '7' }, ['-probesize', '32', '-max_ts_probe', '7']],
    [{ scan_all_pmts: '-1', fflags: '+genpts' }, ['-fflags', '+genpts', '-scan_all_pmts', '-1']],
  ];
  for (const [options, expected] of table) {
    it(`${JSON.stringify(options)} is ${expected.join(' ') || 'nothing'}`, () => {
      const format = options['output_format'] ?? 'json';
      assert.deepEqual(ffprobe.args({ ...OFF, ...options }, ADDRESS), [
        ...FIXED,
        '-of',
        format,
        ...expected,
        '-i',
        ADDRESS,
      ]);
    });
  }

  const refused: Record<string, string>[] = [
    { output_format: 'json=q=1' },
    { output_format: 'nonsense' },
    { output_format: 'csv=s=ab' },
    { output_format: '' },
    { show_format: 'yes' },
    { probesize: '-1' },
    { probesize: '1e9' },
    { probesize: '1; id' },
    { show_log: '48' },
    { skip_frame: 'x' },
    { select_streams: '' },
    { show_entries: 'a\nb' },
    { show_entries: 'a\0b' },
    { show_entries: 'x'.repeat(1025) },
    { i: '/etc/passwd' },
    { f: 'lavfi' },
    { __proto__x: '1' },
    { constructor: '1' },
    { fflags: '-i /etc/passwd' },
    { report: 'true' },
    { live_start_index: '1.5' },
  ];
  for (const options of refused) {
    it(`refuses ${JSON.stringify(options).slice(0, 60)}`, () =>
      assert.throws(
        () => ffprobe.args(options, ADDRESS),
        (error) => error instanceof OptionError && error.code === 'option-invalid',
      ));
  }

  it('each value is one argument after its flag, and the address comes last', () => {
    let seed = 3;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) & 0x7fff_ffff;
      return seed % below;
    };
    const flags = new Set([
      '-hide_banner',
      '-loglevel',
      '-protocol_whitelist',
      '-i',
      ...FFPROBE_OPTIONS.flatMap(({ flag }) => (flag ? [`-${flag}`] : [])),
    ]);
    const bare = new Set([
      '-hide_banner',
      ...FFPROBE_OPTIONS.filter(
        ({ type, name, passed }) => type === 'boolean' && passed === undefined && name !== 'show_data_hash',
      ).map(({ flag }) => `-${flag}`),
    ]);
    const hostile = ['-i', '/etc/passwd', '--', '-f', 'lavfi', '$(id)', '-report', '"', "'", 'a b', '-show_log'];
    for (let round = 0; round < 2_000; round++) {
      const options = Object.fromEntries(
        FFPROBE_OPTIONS.filter(() => random(3) === 0).map(({ name }) => [
          name,
          ['true', 'false', '7', ...hostile][random(3 + hostile.length)] as string,
        ]),
      );
      let args: string[];
      try {
        args = ffprobe.args(options, ADDRESS);
      } catch {
        continue;
      }
      assert.deepEqual(args.slice(-2), ['-i', ADDRESS]);
      for (let at = 0; at < args.length; at++) {
        assert.ok(flags.has(args[at] as string), `${args[at]} of ${args.join(' ')}`);
        if (!bare.has(args[at] as string)) at += 1;
      }
    }
  });
});

describe('mediainfo arguments', () => {
  it('are the documented defaults', () => {
    assert.deepEqual(mediainfo.args({}, ADDRESS), [
      '--Output=JSON',
      '--Language=raw',
      '--ParseSpeed=0.5',
      '--ReadByHuman=0',
      ADDRESS,
    ]);
  });
  it('follow the options', () => {
    assert.deepEqual(
      mediainfo.args(
        {
          output: 'EBUCore_1.8_ps',
          full: 'true',
          language: 'fr',
          parse_speed: '1',
          read_by_human: 'true',
          ssl_ignore_security: 'true',
        },
        ADDRESS,
      ),
      ['--Output=EBUCore_1.8_ps', '--Full', '--Language=fr', '--ParseSpeed=1', '--ReadByHuman=1', ADDRESS],
    );
  });
  for (const options of [
    { output: 'Video;file:///etc/passwd' },
    { language: 'file:///etc/passwd' },
    { language: '' },
    { parse_speed: '2' },
    { parse_speed: '-0.1' },
    { LogFile: '/x' },
    { output: 'OLDXML' },
  ] as Record<string, string>[]) {
    it(`refuse ${JSON.stringify(options)}`, () => assert.throws(() => mediainfo.args(options, ADDRESS), OptionError));
  }
  it('outputs with JSON in their name are JSON, the others text', () => {
    assert.deepEqual(
      MEDIAINFO_OUTPUTS.filter((output) => mediainfo.format({ output }) === 'json'),
      ['JSON', 'EBUCore_1.8_ps_JSON', 'EBUCore_1.8_sp_JSON'],
    );
    assert.equal(mediainfo.format({}), 'json');
  });
});

describe('damage that ffprobe reports', () => {
  for (const [stderr, expected] of [
    ['', undefined],
    ['[h264 @ 0x55d0] non-existing PPS 0 referenced\n[h264 @ 0x55d0] no frame!\n', undefined],
    [
      '[h264 @ 0x55d0] no frame!\n[h264 @ 0x7f01] error while decoding MB 5 7, bytestream -5\n',
      'h264: error while decoding MB 5 7, bytestream -5',
    ],
    ['[mpeg2video @ 0x1] ac-tex damaged at 1 2\r\n', 'mpeg2video: ac-tex damaged at 1 2'],
    ['[NULL @ 0x1] Invalid NAL unit size (9 > 3).', 'NULL: Invalid NAL unit size (9 > 3).'],
    [`corrupt ${'x'.repeat(1_000)}`, `corrupt ${'x'.repeat(192)}`],
  ] as const)
    it(`${JSON.stringify(stderr.slice(0, 60))}: ${expected?.slice(0, 40) ?? 'none'}`, () =>
      assert.equal(ffprobe.damage?.(stderr), expected));
});

describe('verdict on the output of a tool', () => {
  const printed = (stdout: string, stderr = '', code: number | null = 0, format: 'json' | 'text' = 'json') => ({
    stdout,
    stderr,
    code,
    format,
    options: {},
  });
  const LIBRARY =
    '"creatingLibrary": {\n"name": "MediaInfoLib",\n"version": "23.04",\n"url": "https://mediaarea.net/MediaInfo"\n}';
  type Verdict = [what: string, failure: string | undefined, expected: string | undefined];
  const table: Verdict[] = [
    ['ffprobe: JSON', ffprobe.failure(printed('{"format":{}}')), undefined],
    [
      'ffprobe: its own error',
      ffprobe.failure(
        printed(
          '{"error":{"code":-1,"string":"Server returned 404 Not Found"}}',
          'http://x: Server returned 404 Not Found',
          1,
        ),
      ),
      'Server returned 404 Not Found',
    ],
    [
      'ffprobe: a message on stderr',
      ffprobe.failure(printed('', 'a\nFailed to set value\n', 1)),
      'Failed to set value',
    ],
    ['ffprobe: nothing at all', ffprobe.failure(printed('', '', 1)), 'ffprobe failed without a message'],
    ['ffprobe: text', ffprobe.failure(printed('[FORMAT]', '', 0, 'text')), undefined],
    ['mediainfo: JSON', mediainfo.failure(printed(`{\n${LIBRARY},\n"media": {"@ref":"x"}\n}`)), undefined],
    [
      'mediainfo: media null',
      mediainfo.failure(printed(`{\n${LIBRARY},\n"media": null\n}\n\n`)),
      'mediainfo found nothing in the source',
    ],
    [
      'mediainfo: media null of an old version',
      mediainfo.failure(printed('{\n"media": null\n}\n')),
      'mediainfo found nothing in the source',
    ],
    [
      'mediainfo: media null with a reason',
      mediainfo.failure(
        printed(
          `{\n${LIBRARY},\n"media": null\n}\n`,
          'E: http://127.0.0.1:1/s/a.mp4, Failed to connect to 127.0.0.1 port 1',
        ),
      ),
      'Failed to connect to 127.0.0.1 port 1',
    ],
    [
      'mediainfo: the address of the caller is removed',
      mediainfo.failure(printed('', 'http://origin.example/a.mp4?t=REDACTED, HTTP 404\n', 1)),
      'HTTP 404',
    ],
    [
      'mediainfo: a page of the origin is not passed on',
      mediainfo.failure(printed('', 'E: http://127.0.0.1:1/a.mp4, <!DOCTYPE HTML>\n<html>')),
      'mediainfo found nothing in the source',
    ],
    ['mediainfo: no text', mediainfo.failure(printed('\n\n', '', 0, 'text')), 'mediainfo found nothing in the source'],
    [
      'mediainfo: empty XML',
      mediainfo.failure(
        printed(
          '<?xml version="1.0"?>\n<MediaInfo>\n<creatingLibrary ' +
            'version="23.04">MediaInfoLib</creatingLibrary>\n<media ' +
            '/>\n</MediaInfo>\n\n',
          '',
          0,
          'text',
        ),
      ),
      'mediainfo found nothing in the source',
    ],
    [
      'mediainfo: an empty page',
      mediainfo.failure(printed('<html>\n\n<head>\n<META /></head>\n<body>\n\n</body>\n</html>\n', '', 0, 'text')),
      'mediainfo found nothing in the source',
    ],
    ...(
      [
        [
          'JSON',
          'json',
          `{\n${LIBRARY},\n"media": {\n"@ref": "x",\n"track": [\n{\n"@type": "General",\n"FileSize": "61"\n}\n]\n}\n}`,
        ],
        ['XML', 'text', '<media ref="x">\n<track type="General">\n<FileSize>61</FileSize>\n</track>\n</media>'],
        ['text', 'text', 'General\nComplete name   : Format : x\nFile size      : 61.0 Bytes\n\n'],
      ] as const
    ).map(([what, form, output]): Verdict => [
      `mediainfo: size and dates of a page of HTML, as ${what}`,
      mediainfo.failure(printed(output, '', 0, form)),
      'mediainfo recognises no media in the source',
    ]),
    ...(
      [
        ['JSON', 'json', '{"media": {"track": [{"@type": "General","Format": "MPEG-4"}]}}'],
        ['JSON without a format of its own', 'json', '{"media": {"track": [{"@type": "General"},{"@type": "Video"}]}}'],
        ['XML', 'text', '<media><track type="General">\n<Format>MPEG-4</Format>\n</track></media>'],
        ['text of a stream', 'text', 'General\nFile size : 61\n\nVideo\nFormat/Info : x\n'],
      ] as const
    ).map(([what, form, output]): Verdict => [
      `mediainfo: media, as ${what}`,
      mediainfo.failure(printed(output, '', 0, form)),
      undefined,
    ]),
    ['mediainfo: text', mediainfo.failure(printed('General\nFormat : MPEG-4', '', 0, 'text')), undefined],
    [
      'mediainfo: nothing above the lines of version and time',
      mediainfo.failure({
        ...printed('ReportBy : MediaInfoLib - v26.10\nCreatedOn : 2026-11-26 10:00:00\n\n', '', 0, 'text'),
        options: { inform_version: 'true', inform_timestamp: 'true' },
      }),
      'mediainfo found nothing in the source',
    ],
    [
      'mediainfo: a format that is hidden',
      mediainfo.failure({
        ...printed('{"media": {"track": [{"@type": "General"}]}}'),
        options: { hide_parameter: 'General_Format' },
      }),
      undefined,
    ],
  ];
  for (const [what, failure, expected] of table)
    it(`${what}: ${expected ?? 'a success'}`, () => assert.equal(failure, expected));

  it('names in each option table are unique', () => {
    for (const options of [FFPROBE_OPTIONS, MEDIAINFO_OPTIONS])
      assert.equal(new Set(options.map(({ name }) => name)).size, options.length);
    assert.deepEqual(Object.keys(LOG_LEVELS), FFPROBE_OPTIONS.find(({ name }) => name === 'show_log')?.values);
  });
});
