/** mediainfo: its options, its arguments, and how its output is read. */
import { OptionError, readOptions, toggle, type OptionSpec } from './option.ts';
import { findsPcm, type InFile, type InImage, type Program } from './tool.ts';

export const MEDIAINFO_OUTPUTS: readonly string[] = (
  'Text HTML XML JSON EBUCore_1.8_ps EBUCore_1.8_sp EBUCore_1.8_ps_JSON EBUCore_1.8_sp_JSON EBUCore_1.6 FIMS_1.3 ' +
  'MPEG-7_Strict MPEG-7_Relaxed MPEG-7_Extended PBCore_2.1 PBCore_2.0 PBCore_1.2 NISO_Z39.87'
).split(' ');

/** Section of a template line. Any other word here would select another output or be no template. */
const SECTION = '(?:Page|File|General|Video|Audio|Text|Other|Image|Menu)(?:_Begin|_Middle|_End)?;';
const REST = '[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*';
/**
 * A template that begins with `file://`, and each of its cells (`General;file:///etc/passwd`, measured with 26.10 and
 * 20.09), is read from that file. So file addresses are rejected anywhere in it.
 */
const TEMPLATE = `(?![\\s\\S]*[Ff][Ii][Ll][Ee]:/)${SECTION}${REST}(?:\\n${SECTION}${REST})*`;

/** Fields as `--HideParameter` names them. */
const FIELD = '(?:General|Video|Audio|Text|Other|Image|Menu)_[A-Za-z0-9_/().*-]{1,64}';
const fields = (name: string, flag: string, description: string): OptionSpec => ({
  name,
  extra: true,
  type: 'string',
  default: null,
  flag,
  pattern: `${FIELD}(?:,${FIELD}){0,31}`,
  form: 'must be fields such as General_CodecID_Compatible, with commas between them',
  description,
});
/** Of a switch that `--Help` lists. */
const LISTED = { extra: true, passed: '1' } as const;

/** Outputs that support `Details`. With the default of `output` it is text, by the tool's own choice. */
const TRACES = ['JSON', 'Text', 'XML'];

/**
 * Its help did not always list all options, so those of old have no flag to look for in a version; builds differ in the
 * `reported` ones. Options that write, that open anything else, or that print a list in place of the source are
 * excluded.
 */
export const MEDIAINFO_OPTIONS: readonly OptionSpec[] = [
  {
    name: 'output',
    shapes: true,
    type: 'enum',
    values: MEDIAINFO_OUTPUTS,
    default: 'JSON',
    reported: 'Output',
    description: 'Format of the output.',
  },
  toggle('full', 'Every internal field too.', { reported: 'Full' }),
  // `file://` here would make it read a file, so only a language name is accepted.
  {
    name: 'language',
    shapes: true,
    type: 'string',
    default: 'raw',
    reported: 'Language',
    pattern: '[A-Za-z]{2,8}([-_][A-Za-z0-9]{2,8}){0,2}',
    description: 'Language of the field names; raw leaves them as they are.',
  },
  {
    name: 'parse_speed',
    type: 'number',
    default: 0.5,
    minimum: 0,
    maximum: 1,
    reported: 'ParseSpeed',
    description: 'How much is read: from 0 (as little as possible) to 1 (everything).',
  },
  toggle('read_by_human', 'Values made for reading.', { shapes: true, reported: 'ReadByHuman' }),
  toggle(
    'details',
    'The structure of the file (MediaTrace) in place of its fields: XML with `output=XML`, otherwise text.',
    { extra: true, shapes: true, reported: 'Details' },
  ),
  {
    name: 'inform',
    extra: true,
    shapes: true,
    type: 'string',
    default: null,
    reported: 'Inform',
    pattern: TEMPLATE,
    form: 'must be lines such as General;%Format% that name no file',
    lines: true,
    description: 'Template of the output, which is text: `General;%Format%`, one line for each kind of stream.',
  },
  toggle('cover_data', 'Pictures in the file as base64, in the output; they count to its limit.', {
    extra: true,
    shapes: true,
    reported: 'Cover_Data',
  }),
  {
    name: 'acquisition_data_output_mode',
    extra: true,
    type: 'enum',
    values: ['segmentParameter', 'parameterSegment'],
    default: null,
    flag: 'AcquisitionDataOutputMode',
    description: 'Order of acquisition data in EBUCore and NISO Z39.87.',
  },
  { ...fields('hide_parameter', 'HideParameter', 'Fields that are not printed, unless `full` is set.'), shapes: true },
  fields('show_parameter', 'ShowParameter', 'Fields that are printed although they are hidden by default.'),
  toggle('legacy_stream_display', 'Compatible parts of sound, 3D and HDR video, too.', {
    ...LISTED,
    flag: 'LegacyStreamDisplay',
    shapes: true,
  }),
  toggle('inform_version', 'The version of the library too, with `output=Text`.', {
    ...LISTED,
    flag: 'inform_version',
  }),
  toggle('inform_timestamp', 'The time of the report too, with `output=Text`.', {
    ...LISTED,
    flag: 'inform_timestamp',
  }),
  toggle('ssl_ignore_security', 'Accept a source whose certificate does not verify.'),
];

/** From `--Info_OutputFormats`: one name per line, followed by its description. */
const outputsIn = (said: string): string[] =>
  MEDIAINFO_OUTPUTS.filter((output) => new RegExp(`^${output.replaceAll('.', '\\.')}(?:\\s|$)`, 'm').test(said));

/** From `--Help` of builds that list options without effect. */
const lackedIn = (help: string): string[] =>
  (/^Without effect: (.+)$/m.exec(help)?.[1] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => /^[A-Za-z]{1,32}$/.test(name));

/**
 * Builds that ignore an option print their normal output, so support is detected from the output for a WAV with a
 * cover.
 */
const EXTRAS = [
  { option: 'Details=1', args: ['--Details=1', '--Output=Text'], works: /^\s*0+ / },
  { option: 'Inform=template', args: ['--Inform=General;template of %Format%'], works: /^\s*template of Wave\s*$/ },
  { option: 'Cover_Data=base64', args: ['--Output=JSON', '--Cover_Data=base64'], works: /"Cover_Data": ?"iVBORw0KGgo/ },
];

function mediaTypeOf(output: string): string {
  if (output.endsWith('JSON')) return 'application/json';
  if (output === 'Text') return 'text/plain';
  // All other export formats are XML.
  return output === 'HTML' ? 'text/html' : 'application/xml';
}

function agree(options: Readonly<Record<string, string>>): void {
  const { output = 'JSON', details, inform } = options;
  if (inform !== undefined && output !== 'JSON') throw new OptionError('inform', 'cannot be combined with output');
  if (details !== 'true') return;
  if (inform !== undefined) throw new OptionError('inform', 'cannot be combined with details');
  if (!TRACES.includes(output))
    throw new OptionError('details', `cannot be combined with output ${output}; accepted: ${TRACES.join(', ')}`);
}

/** Output format: a template is text, and so is a trace that is not requested as XML. */
function formatOf({ output, details, inform }: Readonly<Record<string, unknown>>): string {
  const isText = (inform ?? null) !== null || (String(details) === 'true' && output !== 'XML');
  return isText ? 'Text' : String(output ?? 'JSON');
}

export const mediainfo: InFile<InImage<Program<'mediainfo'>>> = {
  name: 'mediainfo',
  options: MEDIAINFO_OPTIONS,
  agree,
  args(options, address) {
    agree(options);
    const read = [...readOptions(MEDIAINFO_OPTIONS, options)];
    const values = new Map(read.map(([spec, value]) => [spec.name, value]));
    const inform = values.get('inform');
    return [
      ...(values.get('details') === true ? ['--Details=1'] : []),
      // One option under two names: the later one would win.
      inform === null ? `--Output=${values.get('output')}` : `--Inform=${inform}`,
      ...(values.get('cover_data') === true ? ['--Cover_Data=base64'] : []),
      ...(values.get('full') === true ? ['--Full'] : []),
      `--Language=${values.get('language')}`,
      `--ParseSpeed=${values.get('parse_speed')}`,
      `--ReadByHuman=${values.get('read_by_human') === true ? 1 : 0}`,
      ...read.flatMap(([{ flag, passed }, value]) =>
        flag === undefined || value === null || value === false ? [] : [`--${flag}=${passed ?? value}`],
      ),
      address,
    ];
  },
  format: (options) => (formatOf(options).endsWith('JSON') ? 'json' : 'text'),
  reads: ['image', 'document', 'archive'],
  verifiesTls: (options) => options['ssl_ignore_security'] !== 'true',
  /** Its exit code is always 0: a failure is recognised by missing output. */
  failure({ code, stdout, stderr, options }) {
    if (code === 0 && !isEmpty(stdout, options)) {
      const isFormatHidden = options['hide_parameter']?.includes('General_Format') === true;
      return !isFormatHidden && isUnrecognised(stdout) ? UNRECOGNISED : undefined;
    }
    // A template for streams that the source does not have.
    if (code === 0 && options['inform'] !== undefined && message(stderr) === undefined) return undefined;
    return message(stderr) ?? 'mediainfo found nothing in the source';
  },
  formats: { of: formatOf, mediaType: (output) => `${mediaTypeOf(output)}; charset=utf-8` },
  file: {
    byDefault: true,
    enables: 'Run mediainfo.',
    description: 'mediainfo and its options.',
    tunable: true,
    hosts: true,
  },
  proof: {
    ask: { version: '--Version', help: '--Help' },
    says: /^MediaInfoLib - v?(\S+).*$/m,
    /** Its build options, not its version, decide which formats it writes and which options have an effect. */
    async built(print, help, read) {
      const outputs = outputsIn(await print('--Info_OutputFormats'));
      const extras = [];
      for (const { option, args, works } of EXTRAS) if (works.test(await read(args))) extras.push(option);
      return [...outputs.map((output) => `Output=${output}`), ...extras, ...lackedIn(help).map((name) => `!${name}`)];
    },
    misreads: findsPcm,
  },
};

/**
 * Each format has its own form of empty output. If one prints an empty frame, stderr and the source proxy reveal the
 * failure.
 */
const NOTHING =
  /^(?:\s*|\s*\{\s*(?:"creatingLibrary"[^{}]*\{[^{}]*\},\s*)?"media": ?null\s*\}\s*|[\s\S]{0,600}<media\s*\/>\s*<\/MediaInfo>\s*|\s*<html>[\s\S]{0,400}<body>\s*<\/body>\s*<\/html>\s*)$/;

/** Lines that stand below a report, and alone where there is none. */
const BELOW = ['inform_version', 'inform_timestamp'];

function isEmpty(stdout: string, options: Readonly<Record<string, string>>): boolean {
  if (stdout.length >= 4096) return false;
  const below = BELOW.filter((name) => options[name] === 'true').length;
  return NOTHING.test(stdout) || stdout.split('\n').filter((line) => line.trim() !== '').length <= below;
}

const UNRECOGNISED = 'mediainfo recognises no media in the source';

/** Of a file that it does not know it tells size and dates, as one track without a format. */
function isUnrecognised(stdout: string): boolean {
  if (stdout.length >= 4096) return false;
  const json = stdout.match(/"@type": ?"[^"]*"/g);
  if (json) return json.length === 1 && !/"Format": ?"/.test(stdout);
  const xml = stdout.match(/<track type="[^"]*"/g);
  if (xml) return xml.length === 1 && !stdout.includes('<Format>');
  return /^General\s*\n/.test(stdout) && !/^(?:Format +:|(?:Video|Audio|Text|Image|Other|Menu)\b)/m.test(stdout);
}

/** `E: <address>, <message of the transport>`; a page sent by an origin is not passed on. */
function message(stderr: string): string | undefined {
  const line = /^E: (.+)$/m.exec(stderr)?.[1] ?? stderr.split('\n').find((text) => text.trim() !== '');
  const said = line?.replace(/^[a-z0-9+.-]+:\/\/\S+, /i, '').trim();
  return said === undefined || said === '' || said.startsWith('<') ? undefined : said.slice(0, 300);
}
