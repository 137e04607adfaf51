/** probe_report in the runner: the additional tool runs for it, and its result. */
import { codeMember } from '../../base/causes.ts';
import { isObject } from '../../base/is_object.ts';
import type { AssignedTool, Assignment } from '../../platform/bus/messages.ts';
import { captionGatherer, type CaptionsRead } from '../../media/report/captions.ts';
import { framesOf, showsCaptions } from '../../media/report/frames.ts';
import { report, type Input, type Told } from '../../media/report/report.ts';
import { sides } from '../../media/report/side.ts';
import type { StreamGaps } from '../../media/report/warnings.ts';
import { extensionOf } from '../../source/playlist/mapping.ts';
import { ffprobe } from '../../media/tools/ffprobe.ts';
import { probeReport, REPORT_TOOLS } from '../../media/tools/probe_report.ts';
import { TOOL_TABLE } from '../../media/tools/table.ts';
import type { RawReport, RawToolResult } from './output.ts';

/** Small enough to be parsed beside the agent's other work. */
const MOST_BYTES = 16 * 1024 * 1024;

/** Tools with options that shape their output: they run once more for the report, without these options. */
export function runsForReport({ kind, report: { enabled }, tools }: Assignment): AssignedTool[] {
  if (!enabled || kind !== 'file') return [];
  return tools.flatMap((tool) => {
    if (!probeReport.from.some((name) => name === tool.name)) return [];
    const given = (TOOL_TABLE[tool.name]?.options ?? []).filter(({ name }) => Object.hasOwn(tool.options, name));
    if (!given.some(({ shapes }) => shapes)) return [];
    // Sections may be off because of an option that shapes the output (`show_entries`): the report needs them.
    const left = new Set(given.flatMap(({ name, shapes, offWith }) => (shapes || offWith !== undefined ? [name] : [])));
    return [{ ...tool, options: Object.fromEntries(Object.entries(tool.options).filter(([name]) => !left.has(name))) }];
  });
}

/** Options that decide what ffprobe prints or decodes; all others decide how it reads the source. */
const PRINTS = /^(?:show_|count_|skip_frame$|analyze_frames$|export_side_data$)/;
const SHAPES = new Set(ffprobe.options.flatMap(({ name, shapes }) => (shapes ? [name] : [])));

/** Of one more run of ffprobe: how it reads the source, not what it prints. */
export const readingOptions = ({ options }: AssignedTool): Record<string, string> =>
  Object.fromEntries(Object.entries(options).filter(([name]) => !SHAPES.has(name) && !PRINTS.test(name)));

/** ffprobe's output up to this size is read for its streams, by the runs that follow it. */
const MOST_LISTED = 4 * 1024 * 1024;

/** Undefined: it did not print its streams as JSON. */
export function printedStreams(ran: RawToolResult | undefined) {
  if (!ran?.output || ran.format !== 'json' || ran.output.length > MOST_LISTED) return undefined;
  try {
    const printed: unknown = JSON.parse(ran.output.toString());
    if (!isObject(printed) || !Array.isArray(printed['streams'])) return undefined;
    return { streams: printed['streams'].filter(isObject), format: printed['format'] };
  } catch {
    return undefined;
  }
}

const LIVE = /^(?:rtmps?|rtsps?|srt)$/;

/** Before 5.1 the side data of frames cannot be selected, and whole they make the JSON of some versions invalid. */
const namesSideData = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 1);
};

type Runs = ReturnType<typeof framesOf> & object;
/** Of pictures that should be read: the runs of ffprobe over them; or why they are not read. */
export type FramesRun = { [Run in keyof Runs]: AssignedTool } | { unread: string };
export interface FramesRan {
  ran: RawToolResult[];
  /** Of the pictures. */
  printed?: RawToolResult;
  captions?: CaptionsRead;
  unread?: string;
}

/** ffprobe once more, over some pictures, where the tools leave open what these carry. */
export function framesRun(
  { kind, report: { enabled, frames = 'auto' }, source, tools }: Assignment,
  ran: readonly RawToolResult[],
): FramesRun | undefined {
  const tool = tools.find(({ name }) => name === ffprobe.name);
  const told = toldBy(ran.find(({ name }) => name === ffprobe.name));
  if (!enabled || kind !== 'file' || !tool || !told || LIVE.test(source.scheme)) return undefined;
  const runs = framesOf(told.output, frames);
  if (!runs) return undefined;
  if (runs.pictures && !namesSideData(tool.version))
    return { unread: `ffprobe ${tool.version} cannot list what pictures carry, as 5.1 and later can` };
  const reading = readingOptions(tool);
  const run = (options: Record<string, string>): AssignedTool => ({ ...tool, options: { ...reading, ...options } });
  return {
    ...(runs.pictures ? { pictures: run(runs.pictures) } : {}),
    first: run(runs.first),
    captions: run(runs.captions),
  };
}

/** Which captions there are is asked only where there are some. */
export async function readPictures(
  asked: FramesRun,
  remainingMs: () => number,
  run: (tool: AssignedTool, onOutput?: (bytes: Buffer) => void) => Promise<RawToolResult>,
): Promise<FramesRan> {
  if ('unread' in asked) return { ran: [], ...asked };
  if (remainingMs() < 1) return { ran: [], unread: 'no time was left to read pictures' };
  const read: FramesRan = { ran: [] };
  const packets = async (tool: AssignedTool): Promise<boolean> => {
    if (remainingMs() < 1) return false;
    const gathered = captionGatherer();
    read.ran.push(await run(tool, (bytes) => gathered.push(bytes)));
    read.captions = gathered.told();
    return read.captions.captions.length > 0;
  };
  if (asked.pictures) read.ran.push((read.printed = await run(asked.pictures)));
  if (showsCaptions(read.printed?.output) ?? (await packets(asked.first))) await packets(asked.captions);
  return read;
}

/** What was printed, or why nothing. A run that cannot go to the middle fails behind the first pictures. */
function picturesIn({ printed, captions, unread }: FramesRan): Pick<Input, 'frames' | 'captions' | 'unread'> {
  if (!printed) return { captions, unread };
  return {
    captions,
    frames: toldBy({ ...printed, success: true })?.output,
    unread: printed.success ? 'ffprobe decoded none of the pictures' : (printed.error ?? 'ffprobe failed'),
  };
}

export interface MadeReport {
  result: RawReport;
  /** The report as callers see it, but always with its diff. Policies are evaluated on it. */
  seen: object | undefined;
}

/** What was read of the source once the tools had finished. */
interface ReadAfter {
  pictures?: FramesRan | undefined;
  gaps?: readonly StreamGaps[] | undefined;
}

/** `own` and the pictures: runs made only for the report; their time counts as the report's. */
export function reportOf(
  assignment: Assignment,
  tools: readonly RawToolResult[],
  own: readonly RawToolResult[],
  redact: (text: string) => string,
  { pictures, gaps = [] }: ReadAfter = {},
): MadeReport | undefined {
  const { policy, kind } = assignment;
  const { diff, enabled, prefer } = assignment.report;
  if (!enabled || kind !== 'file') return undefined;
  const begun = performance.now();
  const runs = pictures?.ran ?? [];
  const made = report({
    ...sides((name) => toldBy([...own, ...tools].find((tool) => tool.name === name))),
    diff: diff || policy !== undefined,
    prefer,
    extension: extensionOf(assignment.source),
    ...(pictures ? picturesIn(pictures) : {}),
    damage: [...own, ...runs, ...tools].find(({ damage }) => damage !== undefined)?.damage,
    gaps,
  });
  const longest = own.reduce((most, { durationMs }) => Math.max(most, durationMs), 0);
  const result = {
    name: probeReport.name,
    version: '1',
    exitCode: null,
    signal: null,
    format: 'json',
    durationMs: longest + runs.reduce((sum, { durationMs }) => sum + durationMs, 0) + performance.now() - begun,
    usageMs: [...own, ...runs].reduce((sum, { usageMs }) => sum + usageMs, 0),
  } as const;
  if (!made) {
    const first = tools.find(({ error, name }) => error !== undefined && REPORT_TOOLS.some((tool) => tool === name));
    return {
      result: {
        ...result,
        success: false,
        failure: 'failed',
        ...codeMember(first),
        error: `neither ${REPORT_TOOLS.join(' nor ')} gave a result to report on${first ? `: ${first.error}` : ''}`,
        output: null,
      },
      seen: undefined,
    };
  }
  const { diff: _, ...others } = made;
  const whole = redact(JSON.stringify(made));
  const output = Buffer.from(diff || made.diff === undefined ? whole : redact(JSON.stringify(others)));
  return {
    result: { ...result, success: true, output },
    seen: policy && (JSON.parse(whole) as object),
  };
}

export function toldBy(result: RawToolResult | undefined, mostBytes = MOST_BYTES): Told | undefined {
  if (!result?.success || result.output === null || result.output.length > mostBytes) return undefined;
  try {
    return { version: result.version, output: JSON.parse(result.output.toString()) };
  } catch {
    return undefined;
  }
}
