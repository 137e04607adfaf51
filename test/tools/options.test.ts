import assert from 'node:assert/strict';
import { catalogOf } from '../../src/service/api/probe/tool_versions.ts';
import { ApiError } from '../../src/service/api/errors.ts';
import { parsePairs, makeReader } from '../../src/service/api/http/input/read_fields.ts';
import { ProbeFileSchema, type ProbeFile, selectTools } from '../../src/service/api/probe/file_request.ts';
import { FFPROBE_OPTIONS, LOG_LEVELS } from '../../src/media/tools/ffprobe_options.ts';
import { readWriter } from '../../src/media/tools/ffprobe_writers.ts';
import { MEDIAINFO_OPTIONS, MEDIAINFO_OUTPUTS } from '../../src/media/tools/mediainfo.ts';
import type { OptionSpec } from '../../src/media/tools/option.ts';
import type { ToolName } from '../../src/media/tools/table.ts';
import { aTool } from '../api/a_tool.ts';
import { argsOf, difference, optionTable } from '../../docs/tables/options.ts';

const read = makeReader<ProbeFile>(ProbeFileSchema);
const flagsOf = (table: readonly OptionSpec[]) => table.flatMap(({ flag }) => (flag === undefined ? [] : [flag]));
const flags = flagsOf(FFPROBE_OPTIONS);
/** Versions with every option. */
const catalog = catalogOf([
  aTool('ffprobe', '9.0', { latest: true, options: [flags] }),
  aTool('qc', '7.1', { latest: true }),
  aTool('mediainfo', '26.10', {
    latest: true,
    options: [
      [
        'Details=1',
        'Inform=template',
        'Cover_Data=base64',
        ...MEDIAINFO_OUTPUTS.map((name) => `Output=${name}`),
        ...flagsOf(MEDIAINFO_OPTIONS),
      ],
    ],
  }),
]);

/** Passes a value from a caller's request to the arguments of the tool, through the code of the product. */
function passed(tool: ToolName, section: string, name: string, value: unknown): string[] {
  const request = read({
    form: 'json',
    value: JSON.parse(JSON.stringify({ url: 'u', only: section, [section]: { [name]: value } })),
  });
  const selected = selectTools(request, catalog).tools.find(({ name: own }) => own === tool);
  // What it switches off is tested on its own.
  const off = new Set(FFPROBE_OPTIONS.flatMap((spec) => (spec.offWith === name ? [spec.name] : [])));
  const options = Object.entries(selected!.options ?? {}).filter(([option]) => !off.has(option));
  return difference(tool, Object.fromEntries(options));
}

/** The arguments according to docs/options.md, except for options that are passed by their own name. */
const SPECIAL: Record<string, (value: unknown) => string[]> = {
  'ffprobe.output_format': (value) => (value === 'json' ? [] : ['-of', String(value)]),
  'ffprobe.show_data_hash': (value) => (value === true ? ['-show_data_hash', 'MD5'] : []),
  'ffprobe.show_log': (value) => ['-show_log', String(LOG_LEVELS[String(value)])],
  'ffprobe.tls_verify': () => [],
  'mediainfo.output': (value) => (value === 'JSON' ? [] : [`--Output=${String(value)}`]),
  'mediainfo.full': (value) => (value === true ? ['--Full'] : []),
  'mediainfo.language': (value) => [`--Language=${String(value)}`],
  'mediainfo.parse_speed': (value) => (value === 0.5 ? [] : [`--ParseSpeed=${String(value)}`]),
  'mediainfo.read_by_human': (value) => (value === true ? ['--ReadByHuman=1'] : []),
  'qc.black_min': (value) => (value === 2 ? [] : [`blackdetect=d=${String(value)}:pic_th=0.98:pix_th=0.1`]),
  'qc.black_pixel': (value) => (value === 0.1 ? [] : [`blackdetect=d=2:pic_th=0.98:pix_th=${String(value)}`]),
  'qc.freeze_min': (value) => (value === 2 ? [] : [`freezedetect=n=-60dB:d=${String(value)}`]),
  'qc.freeze_noise': (value) => (value === -60 ? [] : [`freezedetect=n=${String(value)}dB:d=2`]),
  'qc.silence_min': (value) => (value === 2 ? [] : [`silencedetect=n=-60dB:d=${String(value)}`]),
  'qc.silence_noise': (value) => (value === -60 ? [] : [`silencedetect=n=${String(value)}dB:d=2`]),
  'qc.phase_min': (value) => (value === 2 ? [] : [`aphasemeter=video=0:phasing=1:duration=${String(value)}`]),
  // Measured by us, from what the filters print.
  'qc.letterbox_min': () => [],
  'qc.test_bars_min': () => [],
  'qc.test_tone_min': () => [],
  // An output of each stream, so that none waits for another.
  'qc.integrity': (value) => {
    const hashed = ['-f', 'streamhash', '-hash', 'md5', 'pipe:1'];
    const kept = [['-c:v', 'rawvideo', '-fps_mode', 'passthrough'], []];
    return value === true ? kept.flatMap((codec, at) => ['-map', `0:${at}`, ...codec, ...hashed]) : [];
  },
  'qc.sha256': () => [],
  'qc.md5': () => [],
  // The sample has sound alone, whose levels are measured anyway.
  'qc.pictures': () => [],
  'qc.private_pictures': () => [],
  'msv.parse_playlist_only': (value) => (value === true ? [] : ['--measure']),
  'msv.measure_all_segments': (value) => (value === true ? ['--measure-all'] : []),
  'msv.enable_playlist_text': (value) => (value === true ? ['--playlist-text'] : []),
  'msv.enable_cli_output': (value) => (value === true ? ['--text'] : []),
  'mediainfo.details': (value) => (value === true ? ['--Details=1'] : []),
  'mediainfo.inform': (value) => [`--Inform=${String(value)}`],
  'mediainfo.cover_data': (value) => (value === true ? ['--Cover_Data=base64'] : []),
  'mediainfo.ssl_ignore_security': () => [],
  'mediainfo.acquisition_data_output_mode': (value) => [`--AcquisitionDataOutputMode=${String(value)}`],
  'mediainfo.hide_parameter': (value) => [`--HideParameter=${String(value)}`],
  'mediainfo.show_parameter': (value) => [`--ShowParameter=${String(value)}`],
  'mediainfo.legacy_stream_display': (value) => (value === true ? ['--LegacyStreamDisplay=1'] : []),
  'mediainfo.inform_version': (value) => (value === true ? ['--inform_version=1'] : []),
  'mediainfo.inform_timestamp': (value) => (value === true ? ['--inform_timestamp=1'] : []),
};

function expected(tool: string, { name, default: byDefault, passed: asTrue }: OptionSpec, value: unknown): string[] {
  const special = SPECIAL[`${tool}.${name}`];
  if (special) return special(value);
  if (value === true) return byDefault === true ? [] : [`-${name}`, ...(asTrue === undefined ? [] : [asTrue])];
  if (value === false) return byDefault === true ? [`without -${name}`] : [];
  if (value === 0 && byDefault === 0) return [];
  return [`-${name}`, String(value)];
}

describe('options of the tools', () => {
  for (const { tool, section, spec, accepted, refused } of optionTable()) {
    it(`${tool}.${spec.name}: ${accepted.length} values become arguments, ${refused.length} are refused`, () => {
      for (const { value, args } of accepted) {
        assert.deepEqual(passed(tool, section, spec.name, value), expected(tool, spec, value), String(value));
        assert.deepEqual(args, expected(tool, spec, value), `the page: ${String(value)}`);
      }
      for (const value of refused) {
        const sent = JSON.stringify(value);
        assert.throws(
          () => passed(tool, section, spec.name, value),
          (error) =>
            error instanceof ApiError && error.status === 400 && error.message.startsWith(`${section}.${spec.name}: `),
          `${sent?.slice(0, 60)} was taken`,
        );
      }
    });
    it(`${tool}.${spec.name} null is ${spec.default === null ? 'its default' : 'refused'}`, () => {
      if (spec.default === null) assert.deepEqual(passed(tool, section, spec.name, null), []);
      else assert.throws(() => passed(tool, section, spec.name, null), { status: 400 });
    });
  }

  const FILTERED = ['-of', 'json', '-show_error'];
  const filtering: [object, string[]][] = [
    [{ show_entries: 'format=duration' }, [...FILTERED, '-show_entries', 'format=duration']],
    [
      { show_entries: 'format=duration', show_streams: true },
      ['-of', 'json', '-show_streams', '-show_error', '-show_entries', 'format=duration'],
    ],
    [
      { show_entries: 'format=duration', show_frames: true, show_error: false },
      ['-of', 'json', '-show_frames', '-show_entries', 'format=duration'],
    ],
    [
      { show_entries: null, show_chapters: false },
      ['-of', 'json', '-show_format', '-show_streams', '-show_programs', '-show_error'],
    ],
  ];
  for (const [ffprobe, args] of filtering)
    it(`ffprobe ${JSON.stringify(ffprobe)}: sections that are not named are off`, () => {
      const pairs = Object.entries(ffprobe).map(([name, value]) => `&ffprobe[${name}]=${value ?? ''}`);
      for (const input of [
        { form: 'json', value: { url: 'u', only: 'ffprobe', ffprobe: { ...ffprobe } } } as const,
        { form: 'query', pairs: parsePairs(`url=u&only=ffprobe${pairs.join('')}`, 'query') } as const,
      ]) {
        const [selected] = selectTools(read(input), catalog).tools;
        const all = argsOf('ffprobe', selected!.options ?? {});
        assert.deepEqual(all.slice(all.indexOf('-of'), all.indexOf('-i')), args);
      }
    });

  const renamed: [string, object, string[]][] = [
    ['print_format', { print_format: 'csv' }, ['-of', 'csv']],
    ['of', { of: 'flat' }, ['-of', 'flat']],
    ['v', { v: 'warning' }, ['-show_log', '24']],
  ];
  for (const [alias, ffprobe, args] of renamed)
    it(`ffprobe.${alias} is an alias of an option, in a body and in a query`, () => {
      const [[name, value]] = Object.entries(ffprobe) as [[string, string]];
      for (const input of [
        { form: 'json', value: { url: 'u', only: 'ffprobe', ffprobe } } as const,
        { form: 'query', pairs: parsePairs(`url=u&only=ffprobe&ffprobe[${name}]=${value}`, 'query') } as const,
      ]) {
        const [selected] = selectTools(read(input), catalog).tools;
        assert.deepEqual(difference('ffprobe', selected!.options ?? {}), args);
      }
    });
  it('an option under two names is a 400', () => {
    for (const [ffprobe, field, name] of [
      [{ of: 'csv', output_format: 'json' }, 'of', 'output_format'],
      [{ of: 'csv', print_format: 'csv' }, 'of', 'output_format'],
      [{ v: 'error', show_log: null }, 'v', 'show_log'],
    ] as const)
      assert.throws(() => read({ form: 'json', value: { url: 'u', ffprobe } }), {
        status: 400,
        message: `ffprobe.${field}: is another name of ffprobe.${name}, which is given too`,
      });
    assert.throws(() => read({ form: 'json', value: { url: 'u', ffprobe: { of: 'nonsense' } } }), {
      message: /^ffprobe\.output_format: must be one of /,
    });
  });

  const formats: [string, string][] = [
    ['mermaid', 'must be one of default, compact, csv, flat, ini, json, xml'],
    ['csv=q=1', 'csv has no option "q"; accepted: s, nk, e, p, sv, svr'],
    ['json=c=2', 'c of json must be 0 or 1'],
    ['csv=p', 'the options of csv must be NAME=VALUE, with a colon between two, as in csv=p=0:s=x'],
    ['default=nw=1:$(id)=1', 'default has no option of that name; accepted: nw, nk, sv, svr'],
  ];
  for (const [format, why] of formats)
    it(`ffprobe.output_format ${format} is a 400 that says: ${why}`, () =>
      assert.throws(() => passed('ffprobe', 'ffprobe', 'output_format', format), {
        status: 400,
        message: `ffprobe.output_format: ${why}`,
      }));
  const written: [string, object][] = [
    ['csv=p=0:s=x', { print_section: '0', item_sep: 'x' }],
    ['csv=s=\\::nk=0', { item_sep: ':', nokey: '0' }],
    ["compact=s=' ':p=0:p=1", { item_sep: ' ', print_section: '1' }],
    ['json=', {}],
  ];
  for (const [format, options] of written)
    it(`the options of ${format} are read as ffprobe reads them`, () =>
      assert.deepEqual(readWriter(format), { writer: format.split('=')[0], options }));

  const clashes: [Record<string, unknown>, string][] = [
    [{ inform: 'General;%Format%', output: 'XML' }, 'mediainfo.inform: cannot be combined with output'],
    [{ inform: 'General;%Format%', details: true }, 'mediainfo.inform: cannot be combined with details'],
    [
      { details: true, output: 'HTML' },
      'mediainfo.details: cannot be combined with output HTML; accepted: JSON, Text, XML',
    ],
  ];
  for (const [options, message] of clashes)
    it(`${Object.keys(options).join(' and ')} together are a 400`, () => {
      const request = read({ form: 'json', value: { url: 'u', only: 'mediainfo', mediainfo: options } });
      assert.throws(() => selectTools(request, catalog), { status: 400, message });
    });

  it('mediainfo.inform: the error describes the form of a template', () =>
    assert.throws(() => passed('mediainfo', 'mediainfo', 'inform', 'file:///etc/passwd'), {
      message: 'mediainfo.inform: must be lines such as General;%Format% that name no file',
    }));

  for (const [name, value] of [
    ['details', true],
    ['inform', 'General;%Format%'],
    ['cover_data', true],
    ['hide_parameter', 'General_Format'],
    ['legacy_stream_display', true],
  ] as const)
    it(`mediainfo.${name} is a 400 if the version did not report it`, () => {
      const old = catalogOf([
        aTool('mediainfo', '24.06', { latest: true, options: [['Output=JSON', 'Inform', 'Details']] }),
      ]);
      const request = read({ form: 'json', value: { url: 'u', only: 'mediainfo', mediainfo: { [name]: value } } });
      assert.throws(() => selectTools(request, old), {
        status: 400,
        message: `mediainfo.${name}: mediainfo 24.06 does not have this option`,
      });
    });

  it('all together become arguments in the order of the table, each once', () => {
    const options = Object.fromEntries(
      optionTable()
        .filter(({ tool }) => tool === 'ffprobe')
        .map(({ spec, accepted }) => [
          spec.name,
          String(accepted.findLast(({ value }) => value !== 0 && value !== false)!.value),
        ]),
    );
    const args = argsOf('ffprobe', options);
    const used = args.filter((arg) => arg.startsWith('-') && flags.includes(arg.slice(1)));
    assert.deepEqual(
      used,
      flags.map((flag) => `-${flag}`),
    );
  });
});
