/** A job's source, as its tools read it through the source proxy of this agent. */
import type { AssignedTool, Assignment, FailureCode } from '../bus/messages.ts';
import type { ToolName } from '../tools/table.ts';
import { isDecisive, SourceError } from '../source/error.ts';
import { protocolOf } from '../source/protocols/table.ts';
import type { Failure, SourceProxy } from '../source/proxy.ts';
import { TOOL_TABLE } from '../tools/table.ts';

export interface SourceFailure {
  failure: FailureCode;
  status?: number;
  message: string;
  /** The tool cannot know it: its result says this, and not what the tool made of a broken connection. */
  decisive?: boolean;
}

export interface JobSource {
  /** Where this tool finds the source: an address on 127.0.0.1. */
  address(tool: ToolName): string;
  /** The guard as HTTP proxy, for whatever the tool opens beside that address. */
  environment(tool: ToolName): Record<string, string>;
  /**
   * Resolves, connects, reads what every tool will want first. Never rejects: what fails, fails again when the tool
   * asks.
   */
  prepare(): Promise<unknown>;
  /** Puts the caller's redacted address back, and takes secrets out. */
  redact: (text: string) => string;
  ioUsage(): number;
  /** Why the source could not be read, by this tool or by any. */
  failure(tool?: ToolName): SourceFailure | undefined;
  /** What its first bytes say that it is; undefined where that is no list of other files. Never rejects. */
  playlistKind(): Promise<'hls' | 'dash' | undefined>;
  /** Why this tool cannot read a source of this kind: it need not be started. */
  cannotRead(tool: ToolName): string | undefined;
  /** What is wrong with the address itself: no tool needs to be started for it. */
  unreadable?: SourceFailure;
  close(): void;
}

/** Whether a tool runs only where the source turns out to be of its kind: other tools run beside it. */
export const waitsForKind = ({ name }: Pick<AssignedTool, 'name'>, beside: readonly unknown[]): boolean =>
  beside.length > 1 && TOOL_TABLE[name]?.file?.onlyFor !== undefined;

/**
 * Never throws: where the address cannot be read, the tools fail with what is wrong with it, and the request ends like
 * any other.
 */
export type OpenSource = (assignment: Assignment) => JobSource;

export const sourceOpener =
  (proxy: SourceProxy): OpenSource =>
  (assignment) => {
    try {
      return openSource(proxy, assignment);
    } catch (error) {
      return unreadable(error);
    }
  };

function openSource(proxy: SourceProxy, { source, tools, allow, maxBytes }: Assignment): JobSource {
  const verify = Object.fromEntries(
    tools.map(({ name, options }) => [name, TOOL_TABLE[name]?.verifiesTls(options) ?? true]),
  );
  const those = (fact: 'readsStreams' | 'readsPlaylistsAsTheyAre'): string[] =>
    tools.filter(({ name }) => TOOL_TABLE[name]?.[fact]).map(({ name }) => name);
  const open = proxy.open({
    source,
    allow,
    limits: { maxBytes },
    tls: { verify },
    live: those('readsStreams'),
    readPlaylistsAsTheyAre: those('readsPlaylistsAsTheyAre'),
    // Of one that waits for a playlist the proxy knows when it has found one.
    followsParts: tools.some((tool) => TOOL_TABLE[tool.name]?.followsParts === true && !waitsForKind(tool, tools)),
  });
  const redact = open.redact;
  const { relayedAs } = protocolOf(source);
  return {
    address: (tool) => open.address(tool),
    environment: (tool) => open.environment(tool),
    prepare: () => open.prepare(),
    playlistKind: () => open.playlistKind(),
    // RTSP is relayed to tools that speak it. To make a file of it for the others would take an RTP reader and a muxer
    // here.
    cannotRead: (tool) =>
      relayedAs !== undefined && TOOL_TABLE[tool]?.readsStreams !== true
        ? `${tool} cannot read ${relayedAs}`
        : undefined,
    // Without its object: the last of an output is redacted when the source is closed already.
    redact: (output) => redact(output),
    ioUsage: () => open.stats().ioUsage,
    failure(tool) {
      const stats = open.stats();
      const failure = tool === undefined ? stats.failure : stats.failures[tool];
      return failure && failureOf(failure);
    },
    close: () => open.close(),
  };
}

const CODES: Readonly<Record<Failure['code'], FailureCode>> = {
  // An address that cannot be read or is not offered is the caller's mistake, as one that is refused.
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
    failure: CODES[code],
    message,
    ...(status === undefined ? {} : { status }),
    ...(isDecisive({ reason }) ? { decisive: true } : {}),
  };
}

function unreadable(error: unknown): JobSource {
  const failure: SourceFailure =
    error instanceof SourceError ? failureOf(error) : { failure: 'failed', message: 'the source cannot be opened' };
  return {
    // Port 9 discards: no tool gets anything from it.
    address: () => 'http://127.0.0.1:9/',
    environment: () => ({}),
    prepare: () => Promise.resolve(),
    playlistKind: () => Promise.resolve(undefined),
    redact: (text) => text,
    ioUsage: () => 0,
    failure: () => failure,
    cannotRead: () => undefined,
    unreadable: failure,
    close() {},
  };
}
