/** Runs one tool as a service and prints what its binary would print. */
import { type GivenSource, shownSource } from '../given_source.ts';
import type { Api } from '../api/api_client.ts';
import type { Invocation } from '../command.ts';
import { EXIT, Failure, usage, type ExitCode } from '../exits.ts';
import { submit } from '../follow_request.ts';
import { readWriter, type WriterFormat } from '../../media/tools/ffprobe_writers.ts';
import type { ToolResult } from '../../api_types.ts';
import { versionFor } from '../../base/version_order.ts';

// The service hides user info, the values of a query and where a file lay. The binary would print the address or path
// as it was given, in the escapes of the output's format.

type Escape = (text: string) => string;

const inXml: Escape = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const inJson: Escape = (text) => JSON.stringify(text).slice(1, -1);

/** Of ffprobe's `compact` and `csv`: how they escape, and what stands between two fields. */
const inFields =
  (between: string, byDefault: string) =>
  ({ options: { item_sep: separator = between, escape = byDefault } }: WriterFormat): Escape => {
    if (escape === 'none') return (text) => text;
    if (escape === 'c') return (text) => text.replaceAll('\\', String.raw`\\`).replaceAll(separator, `\\${separator}`);
    return (text) => (text.includes(separator) || text.includes('"') ? `"${text.replaceAll('"', '""')}"` : text);
  };
const FIELD_ESCAPES: Readonly<Record<string, (format: WriterFormat) => Escape>> = {
  compact: inFields('|', 'c'),
  csv: inFields(',', 'csv'),
};

/** By ffprobe's names in lower case, and mediainfo's; the others print a name as it is. */
const ESCAPES: Readonly<Record<string, Escape>> = {
  json: inJson,
  ini: (text) => text.replaceAll(/[\\#=:]/g, String.raw`\$&`),
  flat: (text) => text.replaceAll(/[\\"`$]/g, String.raw`\$&`),
  xml: inXml,
  JSON: inJson,
  XML: inXml,
};

/** Those of addresses, whose shown form may need an escape itself. */
const OF_ADDRESSES: readonly Escape[] = [
  (text) => text,
  (text) => text.replaceAll(/[:=#]/g, String.raw`\$&`),
  (text) => text.replaceAll('/', String.raw`\/`),
  inXml,
];

function escapeOf(format: string): Escape {
  const [writer = ''] = format.split('=', 1);
  return FIELD_ESCAPES[writer]?.(readWriter(format)) ?? ESCAPES[writer] ?? ((text) => text);
}

const percent = (sign: string): string => `%${sign.codePointAt(0)!.toString(16).toUpperCase()}`;
/** As the service calls a file that was sent. */
const sentAs = (name: string): string => `upload:///${encodeURIComponent(name).replaceAll(/[!'()*]/g, percent)}`;

export function asGiven(
  output: string,
  { text: given, file }: Pick<GivenSource, 'text' | 'file'>,
  format = '',
): string {
  if (file) {
    const escape = escapeOf(format);
    return output.replaceAll(escape(sentAs(file.name)), () => escape(given));
  }
  const shown = shownSource(given);
  if (shown === given) return output;
  return OF_ADDRESSES.reduce((text, form) => text.replaceAll(form(shown), () => form(given)), output);
}

type ToolName = 'ffprobe' | 'mediainfo';

interface ToolRun {
  tool: ToolName;
  source: GivenSource;
  options: Record<string, unknown>;
  /** Fields of the request beside those of the tool. */
  request?: { timeout?: number; headers?: Record<string, string> };
  /** Of `options`, what the binary does by default: left out for a build in which it has no effect. */
  defaults?: readonly string[];
  /** Whether the reason of a failure goes to stderr. */
  says: boolean;
}

/** How a tool ended that printed something. */
interface Ended {
  output: string;
  code: number;
  error: string | undefined;
}

const OUTPUT = ',"response":';
/** The code of a tool that failed without one. */
const FAILED = 1;

/**
 * The output of the only tool of an envelope. JSON stands in it as the tool printed it, so it is cut out rather than
 * parsed and written again.
 */
export function endedIn(envelope: string, tool: ToolName): Ended {
  const place = envelope.indexOf(OUTPUT);
  const section = (JSON.parse(envelope) as Record<string, ToolResult | undefined>)[tool];
  if (place === -1 || !section) throw new Failure('the answer has no output of the tool', EXIT.unknown);
  // Two objects end behind it: that of the tool, and the envelope.
  const text = envelope.slice(place + OUTPUT.length, envelope.lastIndexOf('}', envelope.lastIndexOf('}') - 1));
  const output = text === 'null' ? '' : text.startsWith('"') ? (JSON.parse(text) as string) : text;
  const { success, error, exit_code: code = FAILED } = section;
  return success ? { output, code: 0, error: undefined } : { output, code, error };
}

/** How the tool ended with a source that it could not read is in the log. */
async function endInLog(api: Api, tool: ToolName, id: string): Promise<Pick<Ended, 'output' | 'code'>> {
  try {
    const detail = await api.call('GET media/log/:id', { params: { id } });
    return { output: detail[`${tool}-response`] ?? '', code: detail['tool-exit-codes'][tool] ?? FAILED };
  } catch (error) {
    // The token may not read the log, or an administrator has turned it off.
    if (error instanceof Failure) return { output: '', code: FAILED };
    throw error;
  }
}

/** The version that the environment names, if any. */
const wantedVersion = (tool: ToolName, { env }: Invocation): string | undefined =>
  env[`PROBEYARD_${tool.toUpperCase()}_VERSION`] || undefined;

/** The default that a build lacks, by the service's error. Stdin cannot be sent a second time. */
const lackedBy = ({ tool, source, defaults = [] }: ToolRun, error: unknown): string | undefined =>
  error instanceof Failure && error.status === 400 && source.file?.canRepeat !== false
    ? defaults.find((name) => error.message.startsWith(`${tool}.${name}: `) && error.message.includes('does not have'))
    : undefined;

async function endOfRun(api: Api, run: ToolRun, invocation: Invocation): Promise<Ended> {
  try {
    return await endOfRequest(api, run, invocation);
  } catch (error) {
    const lacked = lackedBy(run, error);
    if (lacked === undefined) throw error;
    const options = Object.fromEntries(Object.entries(run.options).filter(([name]) => name !== lacked));
    const defaults = run.defaults?.filter((name) => name !== lacked) ?? [];
    return endOfRun(api, { ...run, options, defaults }, invocation);
  }
}

async function endOfRequest(
  api: Api,
  { tool, source, options, request }: ToolRun,
  invocation: Invocation,
): Promise<Ended> {
  const version = wantedVersion(tool, invocation);
  const body = {
    ...(source.file ? {} : { url: source.text }),
    ...request,
    only: tool,
    inject_output: false,
    [tool]: { ...options, ...(version === undefined ? {} : { version }) },
  };
  try {
    const sent = { name: 'POST /v1/probe/file', body, file: source.file } as const;
    const { body: answer } = await submit(api, sent, invocation);
    return endedIn(answer.toString(), tool);
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 404 || error.requestId === undefined) throw error;
    return { ...(await endInLog(api, tool, error.requestId)), error: error.message };
  }
}

const PRINTED: Readonly<Record<ToolName, { before: string; line: string }>> = {
  ffprobe: { before: '', line: 'ffprobe version ' },
  mediainfo: { before: 'MediaInfo Command line, \n', line: 'MediaInfoLib - v' },
};

/** What the service says of a tool's version where the tool would print it: its first line. */
export async function printToolVersion(tool: ToolName, invocation: Invocation): Promise<ExitCode> {
  const { tools } = await (await invocation.api()).call('GET /v1/versions');
  const { latest, versions = [] } = tools.find((one) => one.tool === tool) ?? {};
  const wanted = wantedVersion(tool, invocation) ?? 'latest';
  const names = versions.map(({ version }) => version);
  const exact = versionFor(wanted, names, latest ?? undefined);
  const found = versions.find(({ version }) => version === exact);
  if (!found) throw usage(`${tool}: version "${wanted}" is not available`, `available: ${names.join(', ') || 'none'}`);
  const line = found.reported ?? `${PRINTED[tool].line}${found.version}`;
  await invocation.terminal.data(`${PRINTED[tool].before}${line}\n`);
  return EXIT.done;
}

/** What the binary would print, and its exit code. Why it failed goes to stderr. */
export async function runTool(run: ToolRun, invocation: Invocation): Promise<{ output: string; code: ExitCode }> {
  const { output, code, error } = await endOfRun(await invocation.api(), run, invocation);
  const format = run.options['output_format'] ?? run.options['output'];
  if (error !== undefined && run.says) invocation.terminal.note(`${run.source.shown}: ${error}`);
  return { output: asGiven(output, run.source, format as string | undefined), code: code as ExitCode };
}
