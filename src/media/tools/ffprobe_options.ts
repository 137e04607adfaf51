/**
 * The options of ffprobe. Options that name a file, a log, a forced format or a network address are excluded. So are
 * those on by default, because false passes no argument.
 */
import { WRITER_NAMES } from './ffprobe_writers.ts';
import { toggle, type OptionSpec } from './option.ts';

const flag = (name: string, byDefault: boolean, description: string): OptionSpec =>
  toggle(name, description, { default: byDefault, flag: name });
/** An option of its own name, which is not passed unless it is sent. */
const option = (name: string, type: OptionSpec['type'], more: Partial<OptionSpec>): OptionSpec => ({
  name,
  type,
  default: null,
  flag: name,
  ...more,
});
const text = (name: string, description: string): OptionSpec => option(name, 'string', { description });
const size = (name: string, description: string, maximum = 9_000_000_000_000_000): OptionSpec =>
  option(name, 'integer', { default: 0, minimum: 0, maximum, description });
const extraFlag = (name: string): OptionSpec => option(name, 'boolean', { default: false, extra: true });
const extraNumber = (name: string, minimum = 0, maximum = 2_147_483_647): OptionSpec =>
  option(name, 'integer', { minimum, maximum, extra: true });
const extraWords = (name: string): OptionSpec =>
  option(name, 'string', { pattern: '[A-Za-z0-9_+-]{1,200}', extra: true });

/** Sections that ffprobe prints unless `show_entries` says which ones. */
const section = (name: string, description: string): OptionSpec => ({
  ...flag(name, true, `${description} False by default if \`show_entries\` is sent.`),
  offWith: 'show_entries',
});
const shaping = (spec: OptionSpec): OptionSpec => ({ ...spec, shapes: true });

/** Log levels by the numbers that -show_log takes. */
export const LOG_LEVELS: Readonly<Record<string, number>> = {
  quiet: -8,
  panic: 0,
  fatal: 8,
  error: 16,
  warning: 24,
  info: 32,
  verbose: 40,
  debug: 48,
  trace: 56,
};

export const FFPROBE_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'output_format',
    aliases: ['print_format', 'of'],
    shapes: true,
    type: 'enum',
    values: WRITER_NAMES,
    suffixed: true,
    default: 'json',
    flag: 'of',
    description: 'Format of the output. Options of the format may follow it: `csv=p=0`, `default=nw=1:nk=1`.',
  },
  shaping(section('show_format', 'The container.')),
  shaping(section('show_streams', 'Every stream.')),
  section('show_programs', 'Programs and their streams.'),
  section('show_chapters', 'Chapters.'),
  flag('show_error', true, 'What went wrong, in the output itself.'),
  shaping(flag('show_frames', false, 'Every frame.')),
  shaping(flag('show_packets', false, 'Every packet.')),
  shaping(flag('show_data', false, 'Payload as a hexadecimal dump.')),
  flag('show_data_hash', false, 'MD5 of payloads.'),
  shaping(flag('show_private_data', false, 'Data of the decoder that has no common form.')),
  flag('count_frames', false, 'Count the frames of each stream.'),
  flag('count_packets', false, 'Count the packets of each stream.'),
  shaping(flag('unit', false, 'Units beside the values.')),
  shaping(flag('prefix', false, 'SI prefixes.')),
  shaping(flag('byte_binary_prefix', false, 'Binary prefixes for sizes.')),
  shaping(flag('sexagesimal', false, 'Times as HH:MM:SS.')),
  {
    ...flag('skip_estimate_duration_from_pts', false, 'Do not estimate the duration from the last packets.'),
    passed: '1',
  },
  toggle('tls_verify', 'Refuse a source whose certificate does not verify.'),
  shaping(text('show_entries', 'Only these entries: section=name,name:section=name.')),
  shaping(text('select_streams', 'Only streams that this specifier selects.')),
  shaping(text('read_intervals', 'Only these parts: start%end, with + for lengths and # for packets.')),
  option('show_log', 'enum', {
    aliases: ['v'],
    values: Object.keys(LOG_LEVELS),
    description: 'Log lines of the decoder up to this level, beside the frames.',
  }),
  option('skip_frame', 'enum', {
    values: ['none', 'default', 'noref', 'bidir', 'nokey', 'nointra', 'all'],
    description: 'Frames that are not decoded.',
  }),
  { ...size('probesize', 'Bytes read to find out the format.'), least: 32 },
  size('analyzeduration', 'Microseconds analysed to find out the streams.'),
  size('max_probe_packets', 'Packets buffered while a codec is found out.', 2_147_483_647),
  size('max_ts_probe', 'Packets read while waiting for the first timestamp.', 2_147_483_647),
  extraFlag('show_stream_groups'),
  extraFlag('show_program_version'),
  extraFlag('show_library_versions'),
  extraFlag('show_versions'),
  shaping(extraFlag('show_pixel_formats')),
  extraFlag('bitexact'),
  extraFlag('analyze_frames'),
  shaping(option('show_optional_fields', 'enum', { values: ['always', 'never', 'auto'], extra: true })),
  extraWords('fflags'),
  extraWords('err_detect'),
  extraWords('export_side_data'),
  extraNumber('formatprobesize', 2_048, 2_147_483_646),
  extraNumber('fpsprobesize', -1, 2_147_483_646),
  shaping(extraNumber('max_streams', 1)),
  extraNumber('correct_ts_overflow', 0, 1),
  extraNumber('threads', 1, 64),
  extraNumber('scan_all_pmts', -1, 1),
  extraNumber('merge_pmt_versions', 0, 1),
  extraNumber('skip_changes', 0, 1),
  extraNumber('resync_size'),
  extraNumber('ignore_editlist', 0, 1),
  extraNumber('advanced_editlist', 0, 1),
  extraNumber('live_start_index', -2_147_483_648),
];

/** For runs of our own, which name what they print: nothing that is printed by default. */
export const NOTHING_ELSE: Readonly<Record<string, string>> = {
  show_format: 'false',
  show_streams: 'false',
  show_programs: 'false',
  show_chapters: 'false',
  show_error: 'false',
};
