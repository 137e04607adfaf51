/**
 * Every option of the tools: what is accepted, what is refused, and the arguments that it becomes. The same table is
 * tested and written to docs/options.md.
 */
import { WRITER_NAMES, writerOptions } from '../../src/media/tools/ffprobe_writers.ts';
import type { OptionSpec } from '../../src/media/tools/option.ts';
import type { Run } from '../../src/media/tools/tool.ts';
import { FILE_ROWS, sectionOf, TOOL_TABLE, type SectionName, type ToolName } from '../../src/media/tools/table.ts';

export interface Tried {
  value: unknown;
  args: string[];
}
export interface OptionRow {
  tool: ToolName;
  /** Its name in requests. */
  section: SectionName;
  spec: OptionSpec;
  accepts: string;
  accepted: Tried[];
  refused: unknown[];
}

const TEXTS: Record<string, unknown[]> = {
  output_format: [
    'csv=p=0',
    'csv=s=x:p=0',
    'default=noprint_wrappers=1:nokey=1',
    'json=compact=1',
    'compact=s=\\::e=none',
    "flat=s='_':h=0",
    'xml=q=1',
    'ini=h=0:sv=fail',
  ],
  show_entries: ['stream=codec_name:format=duration', '-i'],
  select_streams: ['v:0', '-report', '--', '$(id)'],
  read_intervals: ['%+#5', '01:30%01:45'],
  fflags: ['+genpts+igndts'],
  err_detect: ['explode'],
  export_side_data: ['mvs'],
  language: ['de', 'pt-BR'],
  sha256: ['0'.repeat(64), '0123456789abcdefABCDEF'.repeat(3).slice(0, 64)],
  md5: ['0'.repeat(32)],
  hide_parameter: ['General_CodecID_Compatible', 'General_Format,Audio_Duration/String3'],
  show_parameter: ['General_FileExtension'],
  inform: [
    'General;%Format%',
    'General;%Format%\\r\\n\nVideo;%Width%x%Height%',
    'Video_Begin;$if(%Width%,"a b",c)',
    'General;File: %FileName% \u{1f3ac}',
  ],
};

/** Values that a pattern must not let through, beside those that every pattern is tried with. */
const HOSTILE: Record<string, unknown[]> = {
  output_format: [
    'csv=q=1',
    'csv=s=ab',
    'csv=s= ',
    'csv=p',
    'csv=p=',
    'csv=p=2',
    'csv==1',
    "csv=s='x",
    'csv=s=\\',
    'json=p=0',
    'default=toString=1',
    'csv=/etc/passwd',
    'csv=p=0\n',
    'JSON',
    '=csv',
    'mermaid',
  ],
  // Each was tried with mediainfo 26.10 and 20.09: the first six and the next two are other outputs or files there.
  inform: [
    'General;file:///etc/passwd',
    'General;"file:///etc/passwd"',
    'Video;x\nGeneral;file:///etc/passwd',
    'General;FILE:///etc/passwd',
    'Details;1',
    'MAXML',
    'JSON',
    'Graph_Svg',
    'FILE:///etc/passwd',
    ' file:///etc/passwd',
    '\nfile:///etc/passwd',
    '\u0000file:///etc/passwd',
    '"file:///etc/passwd"',
    'cstr://140737488355328',
    '%Format%',
    ';',
    'General;a\rb',
    'General;a\n',
    'general;%Format%',
    'General;%Format%\nDetails;1',
  ],
};

for (const name of ['hide_parameter', 'show_parameter'])
  HOSTILE[name] = ['Format', 'General_', 'General_Format,', 'General_A Video_B', 'General_file:', 'general_A'];

HOSTILE['sha256'] = ['0'.repeat(63), '0'.repeat(65), 'g'.repeat(64)];
HOSTILE['md5'] = ['0'.repeat(64), ' '.repeat(32)];

/** Values that no option of the type takes. */
const WRONG: Record<OptionSpec['type'], unknown[]> = {
  boolean: ['yes', 2, null, [true], {}],
  integer: ['5', 1.5, true, [], {}, 1e300],
  number: ['0.5', true, [], {}, Number.MAX_VALUE],
  string: [5, true, [], {}, '', 'a\nb', 'a\u0000b', '\ud800', 'x'.repeat(513)],
  enum: ['nonsense', '', 5, true, [], {}],
};

function valuesOf(spec: OptionSpec): unknown[] {
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = spec;
  switch (spec.type) {
    case 'boolean':
      return [true, false];
    case 'enum':
      return [...(spec.values ?? []), ...(TEXTS[spec.name] ?? [])];
    case 'string':
      return TEXTS[spec.name] ?? ['a'];
    case 'integer':
      return [...new Set([minimum, maximum, Math.min(maximum, Math.max(spec.least ?? minimum, 7))])];
    case 'number':
      return [minimum, maximum, (minimum + maximum) / 4];
  }
}

function refusedOf(spec: OptionSpec): unknown[] {
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = spec;
  const outside =
    spec.type === 'integer' || spec.type === 'number'
      ? [minimum - 1, maximum + 1].filter((value) => Math.abs(value) <= 2 ** 53 && (value < minimum || value > maximum))
      : [];
  const gap = spec.least === undefined ? [] : [1, spec.least - 1];
  const none = spec.default === null && spec.type !== 'boolean' ? [] : [null];
  const patterned = spec.pattern === undefined ? [] : ['file:///etc/passwd', '-i /etc/passwd'];
  const own = HOSTILE[spec.name] ?? [];
  return [...WRONG[spec.type].filter((value) => value !== null), ...outside, ...gap, ...none, ...patterned, ...own];
}

const said = (spec: OptionSpec): string => {
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = spec;
  if (spec.type === 'enum')
    return `${(spec.values ?? []).join(' ')}${spec.suffixed ? ', alone or with the options of the format' : ''}`;
  if (spec.type === 'boolean') return 'true or false';
  if (spec.type === 'string')
    return spec.form !== undefined
      ? spec.form.replace(/^must be /, '')
      : spec.pattern === undefined
        ? 'text, at most 512 characters'
        : `text of the form \`${spec.pattern.replaceAll('|', '\\|')}\``;
  const kind = spec.type === 'integer' ? 'whole number' : 'number';
  return `${kind}, ${spec.least === undefined ? minimum : `0, or ${spec.least}`} to ${maximum}`;
};

const ADDRESS = 'ADDRESS';
/** Tools whose arguments depend on the streams of the source. */
const RUNS: Partial<Record<ToolName, Run>> = {
  qc: {
    wallMs: 0,
    streams: (['video', 'audio'] as const).map((type, index) => ({ index, type, declared: null, channels: 2 })),
  },
};
export const argsOf = (tool: ToolName, options: Record<string, string>): string[] =>
  TOOL_TABLE[tool]!.args(options, ADDRESS, RUNS[tool]);

/** A graph is long: the filter alone that the option is of. */
function changedFilter(before: string, after: string): string {
  const had = new Set(before.split(/[,;]/));
  return after
    .split(/[,;]/)
    .filter((filter) => !had.has(filter))
    .join(',');
}

/** The arguments of one option: what stands there beyond those of the defaults, or what is missing of them. */
export function difference(tool: ToolName, options: Record<string, string>): string[] {
  const before = argsOf(tool, {});
  const after = argsOf(tool, options);
  let from = 0;
  while (from < after.length && after[from] === before[from]) from++;
  let back = 0;
  while (back < after.length - from && back < before.length - from && after.at(-1 - back) === before.at(-1 - back))
    back++;
  // A value that changed is shown with its flag.
  if (from > 0 && from < after.length - back && !after[from]!.startsWith('-') && after[from - 1]!.startsWith('-'))
    from--;
  const added = after.slice(from, after.length - back);
  if (after[from] === '-filter_complex') return [changedFilter(before[from + 1] ?? '', after[from + 1] ?? '')];
  return added.length > 0 ? added : before.slice(from, before.length - back).map((arg) => `without ${arg}`);
}

const textOf = (value: unknown): string => String(value);

export function optionTable(): OptionRow[] {
  return FILE_ROWS.filter((row) => 'args' in row).flatMap((row) => {
    const { name: tool, options } = row;
    return options.map((spec): OptionRow => ({
      tool,
      section: sectionOf(row),
      spec,
      accepts: said(spec),
      refused: refusedOf(spec),
      accepted: valuesOf(spec).map((value) => ({ value, args: difference(tool, { [spec.name]: textOf(value) }) })),
    }));
  });
}

const shownArgs = (args: string[]): string =>
  args.length === 0 ? 'nothing' : `\`${args.join(' ').replaceAll('|', '\\|')}\``;

/** What a line of the table cannot say. */
const NOTES: Partial<Record<ToolName, string[]>> = {
  ffprobe: [
    'Options of an output format follow it as on the command line of ffprobe (`csv=p=0:s=x`), by their short or their',
    'long name:',
    '',
    ...WRITER_NAMES.map((writer) => {
      const options = writerOptions(writer).map(({ name, short }) => `\`${short}\` (\`${name}\`)`);
      return `- \`${writer}\`: ${options.join(', ')}`;
    }),
    '',
    'One that the format does not have is a 400 that names those it has.',
    '',
    'With `show_entries`, the sections `show_format`, `show_streams`, `show_programs` and `show_chapters` are off, so',
    'that the output has the named entries alone. One that the request sends as true is on. `show_error` stays on.',
    '',
  ],
  mediainfo: [
    '`inform` makes the output text, and cannot be combined with `output` or `details`. Its lines begin with',
    '`General`, `Video`, `Audio`, `Text`, `Other`, `Image`, `Menu`, `Page` or `File` (with `_Begin`, `_Middle`,',
    '`_End`). `file:/` is refused anywhere in it, because mediainfo would print such a file. `details` prints text or,',
    'with `output=XML`, XML.',
    '26.10 and 20.09 have all three; 24.06 has `cover_data`; 21.09 has `inform` and `cover_data`; 19.09 has `inform`.',
    '26.10 has the others, too; of these, 20.09 has `acquisition_data_output_mode`.',
    '',
    'Of `--Help`, what writes or names a file (`--LogFile`, `--File_Duplicate`, `--ExternalMetadata`, `--Ssl_…`,',
    '`--Ssh_…`), loads a plugin (`--Enable_FFmpeg`) or prints a list (`--Info-Parameters`, `--Info_OutputFormats`) is',
    'no option here. `--File_TestContinuousFileNames` and `--BOM` change nothing about a source that is one address.',
    'In place of `--File_Curl;UserAgent`, a request has `headers`.',
    '',
  ],
};

export function optionPage(): string {
  const table = optionTable();
  const lines = (tool: ToolName, extra: boolean): string[] =>
    table
      .filter((row) => row.tool === tool && (row.spec.extra === true) === extra)
      .map(({ spec, accepts, accepted }) => {
        const telling = accepted.filter(({ value }) => value !== spec.default && value !== 0 && value !== false);
        const shown = (spec.type === 'integer' ? telling.at(-1) : telling[0]) ?? accepted[0]!;
        const without = accepted.find(({ value }) => value === false)?.args.join(' ');
        const off = spec.flag === undefined ? `false: \`${without}\`` : `passed: \`-${spec.flag}\`; false: ${without}`;
        const value = typeof shown.value === 'string' ? shown.value.replaceAll('|', '\\|') : String(shown.value);
        const example =
          spec.default === true
            ? off
            : `${value}: ${shown.args.length === 0 ? 'nothing (the agent uses it)' : shownArgs(shown.args)}`;
        const names = [spec.name, ...(spec.aliases ?? [])].map((name) => `\`${name}\``).join(' ');
        return `| ${names} | ${accepts} | ${String(spec.default)} | ${example} |`;
      });
  const nameOf = (tool: ToolName) => table.find((row) => row.tool === tool)!.section;
  const head = '| option | accepts | default | the tool gets |\n|---|---|---|---|';
  return [
    '# Options of the tools',
    '',
    'What each tool accepts, as fields of its section of a request, and the arguments that it then gets.',
    '`test/tools/options.test.ts` tries each line: accepted values, values refused with 400, and the exact arguments.',
    'A value is always one argument after its flag: it never becomes a flag, and no shell sees it.',
    'The number 0 is not passed where it is the default.',
    'An option or an output format that the chosen version or its build does not have is a 400 that names both.',
    '',
    ...[...new Set(table.map(({ tool }) => tool))].flatMap((tool) => {
      const extras = lines(tool, true);
      const further =
        extras.length > 0 ? ['Where the chosen version has them, these too:', '', head, ...extras, ''] : [];
      return [`## ${nameOf(tool)}`, '', head, ...lines(tool, false), '', ...further, ...(NOTES[tool] ?? [])];
    }),
  ].join('\n');
}
