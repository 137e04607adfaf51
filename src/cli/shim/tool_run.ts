/** Runs one tool as a service and prints what its binary would print. */
import type { Api, Body } from '../api/api.ts';
import type { Invocation } from '../command.ts';
import { EXIT, Failure, type ExitCode } from '../failure.ts';
import { submit } from '../follow.ts';
import type { GivenSource } from '../given_source.ts';
import { asGiven } from './given_name.ts';

export type ToolName = 'ffprobe' | 'mediainfo';

export interface ToolRun {
  tool: ToolName;
  source: GivenSource;
  options: Record<string, unknown>;
  /** Whether the reason of a failure goes to stderr. */
  says: boolean;
}

/** How a tool ended that printed something: 0, or the code in its error. */
export interface Ended {
  output: string;
  code: number;
  error: string | undefined;
}

const OUTPUT = ',"response":';
const EXIT_CODE = / \(exit code (\d{1,3})\)$/;

/**
 * The output of the only tool of an envelope. JSON stands in it as the tool printed it, so it is cut out rather than
 * parsed and written again.
 */
export function endedIn(envelope: string, tool: ToolName): Ended {
  const place = envelope.indexOf(OUTPUT);
  const section = (JSON.parse(envelope) as Record<string, { success: boolean; error?: string } | undefined>)[tool];
  if (place === -1 || !section) throw new Failure('the answer has no output of the tool', EXIT.unknown);
  // Two objects end behind it: that of the tool, and the envelope.
  const text = envelope.slice(place + OUTPUT.length, envelope.lastIndexOf('}', envelope.lastIndexOf('}') - 1));
  const output = text === 'null' ? '' : text.startsWith('"') ? (JSON.parse(text) as string) : text;
  return { output, ...endOf(section) };
}

const endOf = ({
  success,
  error,
}: {
  success: boolean;
  error?: string;
}): { code: number; error: string | undefined } =>
  success ? { code: 0, error: undefined } : { code: Number(EXIT_CODE.exec(error ?? '')?.[1] ?? 1), error };

/** What the tool printed about a source that it could not read is in the log. */
async function printedBefore(api: Api, tool: ToolName, id: string): Promise<string> {
  try {
    const detail = await api.call('GET media/log/:id', { params: { id } });
    return detail[`${tool}-response`] ?? '';
  } catch (error) {
    // The token may not read the log, or an administrator has turned it off.
    if (error instanceof Failure) return '';
    throw error;
  }
}

async function endOfRun(api: Api, { tool, source, options }: ToolRun, invocation: Invocation): Promise<Ended> {
  const version = invocation.env[`PROBEYARD_${tool.toUpperCase()}_VERSION`];
  const body = {
    ...(source.file ? {} : { url: source.text }),
    only: tool,
    inject_output: false,
    [tool]: { ...options, ...(version === undefined || version === '' ? {} : { version }) },
  };
  try {
    const { body: answer } = await submit(
      api,
      { name: 'POST /v1/probe/file', body: body as unknown as Body<'POST /v1/probe/file'>, file: source.file },
      invocation,
    );
    return endedIn(answer.toString(), tool);
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 404 || error.requestId === undefined) throw error;
    const output = await printedBefore(api, tool, error.requestId);
    return { output, ...endOf({ success: false, error: error.message }) };
  }
}

export async function runTool(run: ToolRun, invocation: Invocation): Promise<ExitCode> {
  const { output, code, error } = await endOfRun(await invocation.api(), run, invocation);
  const format = run.options['output_format'] ?? run.options['output'];
  await invocation.terminal.data(asGiven(output, run.source, format as string | undefined));
  if (error !== undefined && run.says) invocation.terminal.note(`${run.source.shown}: ${error}`);
  // mediainfo says by its output alone that it found nothing.
  return (run.tool === 'mediainfo' ? 0 : code) as ExitCode;
}
