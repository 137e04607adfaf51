/** A job's source, as its tools read it through the agent's source proxy. */
import type { AssignedTool, Assignment, Side } from '../../platform/bus/messages.ts';
import type { FailureCode } from '../../platform/bus/result_body.ts';
import type { ToolName } from '../../media/tools/table.ts';
import { isDecisive, SourceError } from '../../source/error.ts';
import { protocolOf } from '../../source/protocols/table.ts';
import type { OriginUse } from '../../source/meter.ts';
import type { Failure, SourceProxy } from '../../source/proxy.ts';
import type { Source } from '../../source/source.ts';
import { TOOL_TABLE } from '../../media/tools/table.ts';
import { openInTurn } from './two_sources.ts';

export type OriginUses = Readonly<Record<string, OriginUse>>;

export interface SourceFailure {
  failure: FailureCode;
  status?: number;
  message: string;
  /**
   * The tool cannot know the cause: its result reports this failure and not the tool's own message about a broken
   * connection.
   */
  decisive?: boolean;
}

export interface JobSource {
  /** The address on 127.0.0.1 that this tool reads the source from. */
  address(tool: ToolName): string;
  /** Variables that make the guard the HTTP proxy, for other addresses that the tool opens. */
  environment(tool: ToolName): Record<string, string>;
  /** Resolves, connects, and reads what every tool needs first. Never rejects: a failure recurs when the tool reads. */
  prepare(): Promise<unknown>;
  /** Restores the caller's redacted address, and removes secrets. `side`: of which source the text tells. */
  redact: (text: string, side?: Side) => string;
  ioUsage(): number;
  /** What each tool cost the origin. */
  origin(): OriginUses;
  /** Why the source could not be read, by this tool or by any. */
  failure(tool?: ToolName): SourceFailure | undefined;
  /** The kind of playlist by its first bytes; undefined if it is none. Never rejects. */
  playlistKind(): Promise<'hls' | 'dash' | undefined>;
  /** Why this tool cannot read this kind of source: it need not be started. */
  cannotRead(tool: ToolName): string | undefined;
  /** An error in the address itself: no tool needs to be started. */
  unreadable?: SourceFailure;
  /** In a comparison of two sources: closes this one, and opens the other. */
  next?(): JobSource;
  close(): void;
}

/** Whether a tool runs only for a certain kind of source, beside other tools. */
export const waitsForKind = ({ name }: Pick<AssignedTool, 'name'>, beside: readonly unknown[]): boolean =>
  beside.length > 1 && TOOL_TABLE[name]?.file?.onlyFor !== undefined;

/** Never throws: if the address is invalid, the tools fail with that error and the request ends like any other. */
export type OpenSource = (assignment: Assignment) => JobSource;

export const sourceOpener =
  (proxy: SourceProxy): OpenSource =>
  (assignment) => {
    const open = (source: Source, readBefore: number): JobSource => {
      try {
        return openSource(proxy, source, assignment, readBefore);
      } catch (error) {
        return unreadable(error);
      }
    };
    const { source, other } = assignment;
    return other === undefined ? open(source, 0) : openInTurn([source, other], open);
  };

function openSource(
  proxy: SourceProxy,
  source: Source,
  { tools, allow, maxBytes }: Assignment,
  readBefore: number,
): JobSource {
  const verify = Object.fromEntries(
    tools.map(({ name, options }) => [name, TOOL_TABLE[name]?.verifiesTls(options) ?? true]),
  );
  const those = (fact: 'readsStreams' | 'readsPlaylistsAsTheyAre'): string[] =>
    tools.filter(({ name }) => TOOL_TABLE[name]?.[fact]).map(({ name }) => name);
  const open = proxy.open({
    source,
    allow,
    limits: { maxBytes, readBefore },
    tls: { verify },
    live: those('readsStreams'),
    readPlaylistsAsTheyAre: those('readsPlaylistsAsTheyAre'),
    // For a tool that waits for a playlist, the proxy knows when it finds one.
    followsParts: tools.some((tool) => TOOL_TABLE[tool.name]?.followsParts === true && !waitsForKind(tool, tools)),
  });
  const redact = open.redact;
  const { relayedAs } = protocolOf(source);
  return {
    address: (tool) => open.address(tool),
    environment: (tool) => open.environment(tool),
    prepare: () => open.prepare(),
    playlistKind: () => open.playlistKind(),
    // RTSP is relayed to tools that support it. Converting it to a file for the others would need an RTP reader and a
    // muxer here.
    cannotRead: (tool) =>
      relayedAs !== undefined && TOOL_TABLE[tool]?.readsStreams !== true
        ? `${tool} cannot read ${relayedAs}`
        : undefined,
    // Kept as a function of its own: the last output is redacted after the source is closed.
    redact: (output) => redact(output),
    ioUsage: () => open.stats().ioUsage,
    origin: () => open.stats().origin,
    failure(tool) {
      const stats = open.stats();
      const failure = tool === undefined ? stats.failure : stats.failures[tool];
      return failure && failureOf(failure);
    },
    close: () => open.close(),
  };
}

const CODES: Readonly<Record<Failure['code'], FailureCode>> = {
  // An invalid or unsupported address is the caller's error, like a refused one.
  'source-invalid': 'source-forbidden',
  'source-scheme': 'source-forbidden',
  'source-too-long': 'source-forbidden',
  refused: 'source-forbidden',
  'origin-unreachable': 'origin-unreachable',
  'too-large': 'source-too-large',
  cut: 'source-cut',
};

function failureOf({
  code,
  status,
  message,
  reason,
}: Pick<Failure, 'code' | 'message'> & { status?: number | undefined; reason?: SourceError['reason'] }): SourceFailure {
  return {
    failure: reason === 'upload-lost' ? reason : CODES[code],
    message,
    ...(status === undefined ? {} : { status }),
    ...(isDecisive({ reason }) ? { decisive: true } : {}),
  };
}

function unreadable(error: unknown): JobSource {
  const failure: SourceFailure =
    error instanceof SourceError ? failureOf(error) : { failure: 'failed', message: 'the source cannot be opened' };
  return {
    // Port 9 (discard): no tool gets anything from it.
    address: () => 'http://127.0.0.1:9/',
    environment: () => ({}),
    prepare: () => Promise.resolve(),
    playlistKind: () => Promise.resolve(undefined),
    redact: (text) => text,
    ioUsage: () => 0,
    origin: () => ({}),
    failure: () => failure,
    cannotRead: () => undefined,
    unreadable: failure,
    close() {},
  };
}
