/** Runs the tools of one assignment in parallel, and determines the outcome of each. */
import { constants } from 'node:os';
import type { Cause } from '../../base/causes.ts';
import { within } from '../../base/retry.ts';
import { withoutResult, type AssignedTool, type Assignment } from '../../platform/bus/messages.ts';
import type { FailureCode } from '../../platform/bus/result_body.ts';
import { HLS_PROGRAM } from '../../media/hls/built_in.ts';
import { programFile } from '../../base/program_file.ts';
import { isJson } from '../result/json_scanner.ts';
import { OptionError } from '../../media/tools/option.ts';
import { type Exit, type Finished, type Launcher, LauncherError, type Limits } from './launcher.ts';
import type { RawBody, RawToolResult } from './output.ts';
import { MOST_PRINTED } from '../../media/report/captions.ts';
import { facetsOf } from './facets.ts';
import { framesRun, readPictures, reportOf, runsForReport, type FramesRan, type FramesRun } from './report.ts';
import { waitsForKind, type JobSource, type OriginUses, type SourceFailure } from './source.ts';
import type { Allowance } from './compare.ts';
import type { QcRan, QcRun, RunAfter } from './qc.ts';
import type { ReadTimeline } from './timeline.ts';
import { TOOL_TABLE, type ToolName } from '../../media/tools/table.ts';
import { qc } from '../../media/tools/qc.ts';
import { MOST_FILE_BYTES } from '../../media/qc/limits.ts';
import { keepsPictures } from '../../media/tools/qc_options.ts';
import type { Program, Run } from '../../media/tools/tool.ts';

export interface RunSettings {
  toolsDir: string;
  /** Replaces {node} in the command of tools that are scripts. */
  nodePath: string;
  outputBytes: number;
  memoryBytes: number;
}

export interface Running {
  assignment: Assignment;
  remainingMs: number;
  launcher: Launcher;
  source: JobSource;
  settings: RunSettings;
  /** Aborted when the job is dropped: what still runs is killed then, and nothing is started any more. */
  signal: AbortSignal;
  /** Called when content checks begin to decode. */
  follow?: QcRun['follow'];
  /** For a tool that runs after others. */
  after?: RunAfter | undefined;
}

/** Code that few jobs need is imported on first use, because jobs wait for an agent to start. */
export async function runJob(running: Running): Promise<RawBody> {
  const { assignment, source } = running;
  const begun = performance.now();
  const { tag } = assignment.source;
  const made: Made = assignment.source.listing
    ? await (await import('./listing.ts')).listingOf(running, assignment.source.listing)
    : assignment.kind === 'compare'
      ? await compare(running)
      : await runAtOnce(running);
  const tagged =
    tag && made.listing === undefined
      ? await (
          await import('./tags.ts')
        ).taggedBy(running, tag, made, running.remainingMs - (performance.now() - begun))
      : undefined;
  const { decisive: _, ...failure } = source.failure() ?? {};
  const identity = source.identity();
  return {
    ...made,
    ...(tagged ? { tagged } : {}),
    ioUsage: source.ioUsage(),
    ...(identity === undefined ? {} : { identity }),
    origin: rounded(source.origin()),
    ...('failure' in failure ? { source: failure as SourceFailure } : {}),
  };
}

type Made = Omit<RawBody, 'ioUsage' | 'origin' | 'source'>;

const rounded = (uses: OriginUses): NonNullable<RawBody['origin']> =>
  Object.fromEntries(Object.entries(uses).map(([tool, use]) => [tool, { ...use, ms: Math.round(use.ms) }]));

async function runAtOnce(running: Running): Promise<Omit<Made, 'comparison'>> {
  const begun = performance.now();
  const { assignment, source } = running;
  const asked = assignment.tools.filter(({ name }) => name !== qc.name);
  const later = asked.filter((tool) => waitsForKind(tool, asked));
  const run = (tools: readonly AssignedTool[]) => Promise.all(tools.map((tool) => runTool(tool, running)));
  const [atOnce, waited, own] = await Promise.all([
    run(asked.filter((tool) => !later.includes(tool))),
    later.length === 0 ? { ran: [], skipped: [] } : runForKind(later, running),
    run(runsForReport(assignment)),
  ]);
  const ran = [...atOnce, ...waited.ran];
  const found = likeTheReaders(ran, source);
  const content = await contentIn(running, found, begun);
  const tools = [...found, ...(content ? [content.result] : [])];
  const pictures = framesRun(assignment, [...own, ...tools]);
  const frames = pictures && (await picturesWithin(pictures, running, begun));
  const read = assignment.timeline ? await timelineIn(running, tools, begun) : undefined;
  const report = reportOf(assignment, tools, own, source.redact, { pictures: frames, gaps: read?.gaps });
  const policy = assignment.policy
    ? (await import('./policy.ts')).verdictIn(assignment, { tools, own, report: report?.seen }, source.redact)
    : undefined;
  const facets = facetsOf([...own, ...tools], policy);
  return {
    tools,
    ...(waited.skipped.length > 0 ? { skipped: waited.skipped } : {}),
    ...(report ? { report: report.result } : {}),
    ...(policy ? { policy } : {}),
    ...(facets ? { facets } : {}),
    ...(read ? { timeline: read.timeline } : {}),
    ...(content?.pictures ? { pictures: content.pictures } : {}),
  };
}

/**
 * Runs after those of the tools, within what is left of the time. What is read while it is printed may be more than an
 * output: up to `mostPrinted` bytes.
 */
function runsAfter(running: Running, begun: number, mostPrinted: number) {
  const remaining = (): number => {
    const left = running.remainingMs - (performance.now() - begun);
    if (left < 1) running.source.cutShort = true;
    return left;
  };
  const printing = { ...running.settings, outputBytes: mostPrinted };
  const run: QcRun['run'] = (tool, onOutput, after) => {
    const settings = onOutput ? printing : running.settings;
    return runTool(tool, { ...running, remainingMs: remaining(), settings, after }, onOutput);
  };
  return { remaining, run };
}

function picturesWithin(asked: FramesRun, running: Running, begun: number): Promise<FramesRan> {
  const { remaining, run } = runsAfter(running, begun, MOST_PRINTED);
  return readPictures(asked, remaining, run);
}

/** After all other runs, so that what the tools say of the source never depends on it. */
async function timelineIn(running: Running, ran: readonly RawToolResult[], begun: number): Promise<ReadTimeline> {
  const { timelineOf } = await import('./timeline.ts');
  const { run } = runsAfter(running, begun, STREAMED_BYTES);
  return timelineOf({ assignment: running.assignment, ran, run });
}

/** Kept of the time of the checks: their pictures are printed even if they are cut short. */
const PRINTING_MS = 1_000;

/** The checks of content, if they are asked for. */
async function contentIn(running: Running, ran: readonly RawToolResult[], begun: number): Promise<QcRan | undefined> {
  const { assignment, remainingMs } = running;
  const tool = assignment.tools.find(({ name }) => name === qc.name);
  if (!tool) return undefined;
  const { qcOf } = await import('./qc.ts');
  const keptMs = keepsPictures(tool.options) ? PRINTING_MS : 0;
  const { run, remaining } = runsAfter({ ...running, remainingMs: remainingMs - keptMs }, begun, STREAMED_BYTES);
  const last = runsAfter(running, begun, MOST_FILE_BYTES);
  const readFile: QcRun['readFile'] = (take, mostMs) => {
    const timeout = AbortSignal.timeout(Math.max(0, Math.floor(Math.min(remaining(), mostMs))));
    return running.source.readWhole(tool.name, AbortSignal.any([timeout, running.signal]), take);
  };
  return qcOf({ tool, assignment, ran, run, runLast: last.run, readFile, follow: running.follow });
}

/** Several versions on one source, or one version of each tool on two. */
async function compare(running: Running): Promise<Pick<RawBody, 'tools' | 'comparison'>> {
  const { assignment, launcher, settings, remainingMs, signal } = running;
  const { comparisonOf, runInTurn, runSeveral } = await import('./compare.ts');
  const { source } = running;
  const run = async (allowance: Allowance) => {
    const ran = await runSeveral(assignment.tools, {
      ...allowance,
      outputBytes: settings.outputBytes,
      run: (tool, { outputBytes, remainingMs: left }) =>
        runTool(tool, { ...running, remainingMs: left, settings: { ...settings, outputBytes } }),
    });
    return likeTheReaders(ran, source);
  };
  const tools = source.hasNext
    ? await runInTurn(source, { remainingMs, signal, killAll: () => launcher.killAll(), run })
    : await run({ remainingMs, kept: 0 });
  return { tools, comparison: comparisonOf(tools, source.redact) };
}

/** Runs tools that depend on the kind of source. A tool for another kind, or for one not known in time, is skipped. */
async function runForKind(
  tools: readonly AssignedTool[],
  running: Running,
): Promise<{ ran: RawToolResult[]; skipped: ToolName[] }> {
  const begun = performance.now();
  const kind = await within(running.remainingMs, running.source.playlistKind()).catch(() => undefined);
  const remainingMs = running.remainingMs - (performance.now() - begun);
  const fits = ({ name }: AssignedTool): boolean => kind !== undefined && TOOL_TABLE[name]?.file?.onlyFor === kind;
  return {
    ran: await Promise.all(tools.filter(fits).map((tool) => runTool(tool, { ...running, remainingMs }))),
    skipped: tools.filter((tool) => !fits(tool)).map(({ name }) => name),
  };
}

/** If no tool that reads this kind of source reached the origin, the other tools fail for the same reason. */
function likeTheReaders(tools: RawToolResult[], source: JobSource): RawToolResult[] {
  const reads = ({ name }: RawToolResult): boolean => source.cannotRead(name) === undefined;
  const readers = tools.filter(reads);
  if (readers.length === 0 || !readers.every(({ failure }) => failure === 'origin-unreachable')) return tools;
  return tools.map((tool) => (reads(tool) ? tool : { ...tool, failure: 'origin-unreachable' }));
}

/** A tool that the kernel or the launcher ended with its container. */
const KILLED = { exitCode: 128 + constants.signals.SIGKILL };
const STDERR_BYTES = 64 * 1024;
/** Of an output that is not held: packets of days. */
const STREAMED_BYTES = 64 * 1024 * 1024 * 1024;
/**
 * A decoder starts a thread per core. Process limits are counted per user id: over all runners of a node, unless user
 * namespaces separate them.
 */
const PROCESSES = 8192;
const OPEN_FILES = 256;
const FILE_BYTES = 64 * 1024 * 1024;
/** Of each tool. */
export const ENVIRONMENT = { HOME: '/tmp', LC_ALL: 'C.UTF-8' };

function limitsOf(wallMs: number, command: readonly string[], { outputBytes, memoryBytes }: RunSettings): Limits {
  return {
    wallMs,
    // Several threads may use CPU time in parallel: this only bounds what the wall clock misses.
    cpuSeconds: Math.ceil(wallMs / 1000) * 4 + 5,
    dataBytes: dataLimit(command, memoryBytes),
    fileBytes: FILE_BYTES,
    processes: PROCESSES,
    files: OPEN_FILES,
    stdoutBytes: outputBytes,
    stderrBytes: STDERR_BYTES,
  };
}

async function runTool(
  asked: AssignedTool,
  running: Running,
  onOutput?: (bytes: Buffer) => void,
): Promise<RawToolResult> {
  const result = await runOnce(asked, running, onOutput);
  if (!result.success) running.source.cutShort = true;
  return result;
}

async function runOnce(
  asked: AssignedTool,
  running: Running,
  onOutput?: (bytes: Buffer) => void,
): Promise<RawToolResult> {
  const { launcher, source, settings, remainingMs } = running;
  const begun = performance.now();
  const end = (more: Partial<RawToolResult>): RawToolResult => {
    const ms = performance.now() - begun;
    const { build } = asked;
    return { ...withoutResult(asked), ...(build === undefined ? {} : { build }), durationMs: ms, usageMs: ms, ...more };
  };
  const fail: Fail = (failure, message, { code, ...ended } = {}) => {
    const { exitCode = null } = ended;
    const says = code === undefined && exitCode !== null && SAYS_EXIT_CODE.includes(failure);
    return end({
      failure,
      ...(code === undefined ? {} : { code }),
      error: source.redact(says ? `${message} (exit code ${exitCode})` : message),
      ...ended,
    });
  };

  const tool = TOOL_TABLE[asked.name];
  if (!tool) return fail('unavailable', `${asked.name} is not available on this runner`);
  if (source.unreadable) return fail(source.unreadable.failure, source.unreadable.message, source.unreadable);
  const unable = source.cannotRead(asked.name);
  if (unable !== undefined) return fail('failed', unable, { code: 'unsupported' });
  const wallMs = Math.max(1, Math.floor(Math.min(asked.timeoutMs, remainingMs)));
  const address = source.address(asked.name);
  let argv: string[];
  try {
    argv = [
      ...withFittingHeap(commandOf(asked, settings), settings.memoryBytes),
      ...tool.args(asked.options, address, runOf(running, wallMs)),
    ];
  } catch (error) {
    if (error instanceof OptionError) return fail('failed', error.message);
    throw error;
  }
  if (running.signal.aborted) return fail('failed', 'the job was dropped');
  const environment = { ...ENVIRONMENT, ...source.environment(asked.name) };
  try {
    const finished = await launcher.run(
      {
        argv,
        env: environment,
        limits: limitsOf(wallMs, asked.command, settings),
        ports: portsOf(address, environment),
      },
      onOutput,
    );
    return judge({ ...finished, asked, tool, source, wallMs, fail, end });
  } catch (error) {
    if (!(error instanceof LauncherError)) throw error;
    // The tools container died: on cgroup v2, running out of memory kills all of it.
    if (error.code === 'lost') return fail('out-of-memory', `${asked.name} ran out of memory`, KILLED);
    if (error.code === 'late') return fail('timeout', `${asked.name} did not finish within ${wallMs} ms`, KILLED);
    return fail('unavailable', `${asked.name} ${asked.version} cannot be started`);
  }
}

const runOf = ({ assignment, after }: Running, wallMs: number): Run => ({
  wallMs,
  beside: assignment.tools.length > 1,
  ...after,
});

/** The port of the source, and of the proxy for other addresses that the tool opens. */
const portsOf = (address: string, { http_proxy: proxy = address }: Record<string, string>): number[] => [
  ...new Set([address, proxy].map((text) => Number(new URL(text).port))),
];

/** `code`: what is wrong is not the tool, so its exit code says nothing. */
type Fail = (failure: FailureCode, message: string, ended?: Ended & { code?: Cause }) => RawToolResult;
type Ended = Partial<Omit<RawToolResult, 'code'>>;

/** Failures of the tool itself. */
const SAYS_EXIT_CODE: readonly FailureCode[] = ['failed', 'crashed', 'out-of-memory'];

interface ToolRun extends Finished {
  asked: AssignedTool;
  tool: Program;
  source: JobSource;
  wallMs: number;
  fail: Fail;
  end: (more: Partial<RawToolResult>) => RawToolResult;
}

/** Failures print little: only the head of a longer output is examined. */
const JUDGED = 128 * 1024;

function judge({ asked, tool, source, exit, stdout, stderr, wallMs, fail, end }: ToolRun): RawToolResult {
  const ms = exit.wallUs / 1000;
  const format = tool.format(asked.options);
  const facts: Ended = {
    durationMs: ms,
    usageMs: ms,
    exitCode: codeOf(exit),
    signal: signalName(exit.signal),
    format,
  };
  if (exit.timedOut || exit.signal === constants.signals.SIGXCPU) {
    // Which of the two spent the time: the tool, or the host that it waited for.
    const waitedMs = Math.min(ms, wallMs, source.waitedMs(asked.name));
    const waited = `${Math.round(waitedMs)} ms of it waiting for the host`;
    const message = `${asked.name} did not finish within ${wallMs} ms: it spent ${waited}`;
    return fail('timeout', message, { ...facts, code: waitedMs > wallMs / 2 ? 'timeout-origin' : 'timeout' });
  }
  if (exit.capped) return fail('output-too-large', `${asked.name} printed more than the output limit`, facts);
  // Sent neither by the agent nor by a limit: the kernel's OOM killer, where it kills one process and not the
  // container.
  if (exit.signal === constants.signals.SIGKILL && !exit.killed)
    return fail('out-of-memory', `${asked.name} ran out of memory`, facts);
  if (exit.signal !== null) return fail('crashed', `${asked.name} was ended by ${signalName(exit.signal)}`, facts);

  const text = source.redact(stdout.toString('utf8', 0, JUDGED));
  const output = stdout.length > JUDGED || text.trim() !== '' ? stdout : null;
  const errors = source.redact(stderr.toString());
  const own = tool.failure({
    code: exit.code,
    stdout: text,
    stderr: errors,
    format,
    options: asked.options,
  });
  const broken = source.failure(asked.name);
  const said = own ?? (output === null && format === 'json' ? `${asked.name} printed nothing` : undefined);
  // The tool sees a status or a broken connection of the source proxy, which knows why.
  if (broken && (broken.decisive || said !== undefined))
    return fail(broken.failure, broken.message, { ...facts, code: broken.code, output });
  if (said !== undefined) {
    const content = source.content();
    if (content === undefined) return fail('failed', said, { ...facts, output });
    // A damaged picture is no other thing than media for a tool that reads pictures.
    return tool.reads?.includes(content.kind)
      ? fail('failed', `${said}; the source is ${content.text}`, { ...facts, output })
      : fail('failed', `the source is not media: it is ${content.text}`, { ...facts, code: 'not-media', output });
  }
  if (format === 'json' && !isJson(stdout))
    return fail('failed', `${asked.name} printed invalid JSON`, { ...facts, format: 'text', output });
  const verdict = tool.verdict?.(text);
  if (verdict !== undefined)
    return end({ ...facts, failure: 'failed', code: 'must-fix', error: source.redact(verdict), output });
  const damage = tool.damage?.(errors);
  return end({ ...facts, success: true, output, ...(damage === undefined ? {} : { damage }) });
}

/** Exit code as a shell reports it. */
const codeOf = ({ code, signal }: Exit): number => code ?? 128 + (signal ?? 0);

const signalName = (signal: number | null): string | null =>
  signal === null
    ? null
    : (Object.entries(constants.signals).find(([, number]) => number === signal)?.[0] ?? `signal ${signal}`);

/** Each part becomes one argument, whatever it contains; placeholders may stand anywhere in a part. */
export function commandOf(
  { name, version, command }: Pick<AssignedTool, 'name' | 'version' | 'command'>,
  { toolsDir, nodePath }: Pick<RunSettings, 'toolsDir' | 'nodePath'>,
): string[] {
  const root = `${toolsDir}/${name}/${version}`;
  return command.map((part) =>
    part
      .replaceAll('{root}', root)
      .replaceAll('{node}', nodePath)
      .replaceAll('{tools}', toolsDir)
      .replaceAll(HLS_PROGRAM, programFile('hls')),
  );
}

// Tools that are scripts: how Node fits in the memory of a tool.

/** V8 reserves this for machine code as it starts. It counts as data, and hardly any of it is ever used. */
const CODE_BYTES = 512 * 1024 * 1024;
/** Of the tool's memory, beside which Node itself takes some 60 MB. */
const HEAP_SHARE = 0.6;
const HEAP = /^--max-old-space-size=(\d+)$/;

/** What the tool may map as data. The container's limit holds for what it uses. */
const dataLimit = (command: readonly string[], memoryBytes: number): number =>
  memoryBytes + (command[0] === '{node}' ? CODE_BYTES : 0);

/** The command, whose heap was chosen for a tool with the default memory, in this much. */
const withFittingHeap = (argv: readonly string[], memoryBytes: number): string[] =>
  argv.map((part) => {
    const [, asked] = HEAP.exec(part) ?? [];
    if (asked === undefined) return part;
    const most = Math.floor((memoryBytes / 1024 / 1024) * HEAP_SHARE);
    return `--max-old-space-size=${Math.min(Number(asked), most)}`;
  });
