/**
 * A job's source as its tools read it through the agent's source proxy; in a comparison of two sources, one after the
 * other. While one is open, the other is not: no connection or credential of the first is left when the second is
 * opened.
 */
import { once } from 'node:events';
import type { Cause } from '../../base/causes.ts';
import { SIDES, type AssignedTool, type Assignment, type Side } from '../../platform/bus/messages.ts';
import type { FailureCode } from '../../platform/bus/result_body.ts';
import { CONTENT_BYTES, contentOf, type Content } from '../../media/tools/content.ts';
import { wholeReads } from '../../media/tools/qc_options.ts';
import { TOOL_TABLE, type ToolName } from '../../media/tools/table.ts';
import { redactor } from '../../source/address/redact.ts';
import { isDecisive, isSourceError, OUTCOMES, SourceError } from '../../source/error.ts';
import type { Job } from '../../source/job.ts';
import { failureOf as failureIn } from '../../source/job_record.ts';
import type { OriginUse } from '../../source/meter.ts';
import type { Failure, SourceProxy } from '../../source/proxy.ts';
import { answerTimeout } from '../../source/failures.ts';
import type { Listed, Listing } from '../../source/listing/listing.ts';
import type { Tagged } from '../../source/http/object_tags.ts';
import type { Source } from '../../source/source.ts';

export type OriginUses = Readonly<Record<string, OriginUse>>;

export interface SourceFailure {
  failure: FailureCode;
  status?: number;
  /** More exact than `failure`. */
  code: Cause;
  message: string;
  /** The proxy ended the read, or never gave anything: what the tool printed is no result, even if it succeeded. */
  decisive?: boolean;
}

/** Whether a tool runs only for a certain kind of source, beside other tools. */
export const waitsForKind = ({ name }: Pick<AssignedTool, 'name'>, beside: readonly unknown[]): boolean =>
  beside.length > 1 && TOOL_TABLE[name]?.file?.onlyFor !== undefined;

/** One of the sources: what the proxy serves, or an error in the address itself. */
type Opened = Job | SourceFailure;
const isJob = (opened: Opened | undefined): opened is Job => opened !== undefined && !('failure' in opened);

export class JobSource {
  readonly #open: (source: Source, readBefore: number) => Opened;
  readonly #sources: readonly Source[];
  /** Removes the secrets of each source from what a tool says of another. */
  readonly #strike: readonly ((text: string) => string)[];
  /** Those opened so far; the last is the current one. */
  readonly #opened: Opened[];
  /** A run failed or had no time left: an equal request may get more. */
  cutShort = false;

  /** Never throws: if the address is invalid, the tools fail with that error and the request ends like any other. */
  constructor(proxy: SourceProxy, assignment: Assignment) {
    const { source, other } = assignment;
    this.#sources = other === undefined ? [source] : [source, other];
    this.#strike = other === undefined ? [] : this.#sources.map(redactor);
    this.#open = (one, readBefore) => open(proxy, one, assignment, readBefore);
    this.#opened = [this.#open(source, 0)];
  }

  get #job(): Job | undefined {
    const opened = this.#opened.at(-1);
    return isJob(opened) ? opened : undefined;
  }

  /** An error in the address itself: no tool is started, and none has an address. */
  get unreadable(): SourceFailure | undefined {
    const opened = this.#opened.at(-1)!;
    return isJob(opened) ? undefined : opened;
  }

  /** The address on 127.0.0.1 that this tool reads the source from. */
  address(tool: ToolName): string {
    return this.#job!.address(tool);
  }

  /** Variables that make the guard the HTTP proxy, for other addresses that the tool opens. */
  environment(tool: ToolName): Record<string, string> {
    return this.#job!.environment(tool);
  }

  /** Resolves, connects, and reads what every tool needs first. Never rejects: a failure recurs when the tool reads. */
  async prepare(): Promise<void> {
    if (this.#job?.source.listing === undefined) await this.#job?.prepare();
  }

  /** Lists the bucket of a source that asks for it, at the expense of a tool. */
  async list(tool: ToolName, listing: Listing, signal: AbortSignal): Promise<Listed | SourceFailure> {
    const job = this.#job;
    if (job === undefined) return this.unreadable!;
    try {
      return await job.list(tool, listing, signal);
    } catch (error) {
      return toldBy(job.failed(signal.aborted ? answerTimeout() : error, job.main, tool));
    }
  }

  /** Tags its object, at the expense of a tool. Never rejects. */
  async tag(tool: ToolName, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Tagged> {
    try {
      return (await this.#job?.tag(tool, tags, signal)) ?? { written: false, ...this.unreadable };
    } catch (error) {
      const known = signal.aborted || !isSourceError(error) ? answerTimeout() : error;
      const { cause: code, message } = failureIn(known);
      return { written: false, code, message: this.redact(message) };
    }
  }

  /** The kind of playlist by its first bytes; undefined if it is none. Never rejects. */
  async playlistKind(): Promise<'hls' | 'dash' | undefined> {
    return this.#job?.playlistKind();
  }

  /**
   * Why this tool cannot read this kind of source: it need not be started. RTSP is relayed to tools that support it.
   * Converting it to a file for the others would need an RTP reader and a muxer here.
   */
  cannotRead(tool: ToolName): string | undefined {
    const relayedAs = this.#job?.protocol.relayedAs;
    return relayedAs !== undefined && TOOL_TABLE[tool]?.readsStreams !== true
      ? `${tool} cannot read ${relayedAs}`
      : undefined;
  }

  /**
   * Restores the caller's redacted address, and removes secrets: also once the source is closed. `side`: of which
   * source the text tells; by default of the current one. Secrets of both are removed, addresses are restored by the
   * source that served them.
   */
  readonly redact = (text: string, side: Side = SIDES[this.#opened.length - 1]!): string => {
    const at = SIDES.indexOf(side);
    const opened = this.#opened[at];
    const own = isJob(opened) ? opened.redact(text) : opened ? text : (this.#strike[at]?.(text) ?? text);
    return this.#strike.reduce((struck, strike, index) => (index === at ? struck : strike(struck)), own);
  };

  ioUsage(): number {
    return this.#jobs().reduce((sum, job) => sum + job.stats().ioUsage, 0);
  }

  /**
   * Reads the whole file for a tool, until `signal`; bytes are gone after `take`. Why it was not read to its end, if it
   * was not; null: the source is no single file.
   */
  async readWhole(
    tool: ToolName,
    signal: AbortSignal,
    take: (bytes: Buffer) => void,
  ): Promise<string | null | undefined> {
    const job = this.#job;
    if (job?.source.class !== 'file' || (await job.playlistKind()) !== undefined) return null;
    const late = 'the time ran out';
    const whyNot = (error: unknown): string => {
      if (signal.aborted) return late;
      return error instanceof SourceError ? this.redact(failureIn(error).message) : 'the source cannot be read';
    };
    const read = job.readWhole(tool, (bytes) => {
      signal.throwIfAborted();
      take(bytes);
    });
    const ended = await Promise.race([once(signal, 'abort').then(() => late), read.then(() => undefined, whyNot)]);
    if (ended !== undefined) this.cutShort = true;
    return ended;
  }

  /** How long a tool has waited for the host of the current source. */
  waitedMs(tool: ToolName): number {
    return this.#job?.stats().origin[tool]?.ms ?? 0;
  }

  /** What the current source is, if it is something else than media: by its first bytes, as far as they were read. */
  content(): Content | undefined {
    const read = this.#job?.beginning(CONTENT_BYTES);
    return read && contentOf(read.bytes, read);
  }

  /**
   * What tells the file from every other one; undefined if there are two, it is not known, or the result is cut short.
   */
  identity(): string | undefined {
    return this.#sources.length === 1 && !this.cutShort ? this.#job?.identity : undefined;
  }

  /** What each tool cost the origins. */
  origin(): OriginUses {
    const all: Record<string, OriginUse> = {};
    for (const job of this.#jobs())
      for (const [tool, use] of Object.entries(job.stats().origin)) {
        const { requests, connections, bytes, ms } = all[tool] ?? NOTHING;
        all[tool] = {
          requests: requests + use.requests,
          connections: connections + use.connections,
          bytes: bytes + use.bytes,
          ms: ms + use.ms,
        };
      }
    return all;
  }

  #jobs(): Job[] {
    return this.#opened.filter(isJob);
  }

  /** Why this tool could not read the current source; without a tool, why none could read any of the job's. */
  failure(tool?: ToolName): SourceFailure | undefined {
    if (tool !== undefined) return failureOf(this.#opened.at(-1)!, tool);
    const failures = this.#sources.map((_, at) => this.#opened[at] && failureOf(this.#opened[at]));
    return failures.length === 1 ? failures[0] : failureOfBoth(failures);
  }

  /** In a comparison of two sources, while the first is open. */
  get hasNext(): boolean {
    return this.#opened.length < this.#sources.length;
  }

  /** Closes the first source and opens the second. What was read of the first counts within the limit of the second. */
  next(): void {
    this.close();
    this.#opened.push(this.#open(this.#sources[this.#opened.length]!, this.ioUsage()));
  }

  close(): void {
    for (const job of this.#jobs()) job.close();
  }
}

const NOTHING: OriginUse = { requests: 0, connections: 0, bytes: 0, ms: 0 };

function open(proxy: SourceProxy, source: Source, { tools, allow, maxBytes }: Assignment, readBefore: number): Opened {
  const verify = Object.fromEntries(
    tools.map(({ name, options }) => [name, TOOL_TABLE[name]?.verifiesTls(options) ?? true]),
  );
  const those = (fact: 'readsStreams' | 'readsPlaylistsAsTheyAre'): string[] =>
    tools.filter(({ name }) => TOOL_TABLE[name]?.[fact]).map(({ name }) => name);
  try {
    return proxy.open({
      source,
      allow,
      limits: { maxBytes, reads: wholeReads(tools.find(({ name }) => name === 'qc')?.options), readBefore },
      tls: { verify },
      live: those('readsStreams'),
      readPlaylistsAsTheyAre: those('readsPlaylistsAsTheyAre'),
      // For a tool that waits for a playlist, the proxy knows when it finds one.
      followsParts: tools.some((tool) => TOOL_TABLE[tool.name]?.followsParts === true && !waitsForKind(tool, tools)),
    });
  } catch (error) {
    if (error instanceof SourceError) return toldBy(failureIn(error));
    return { failure: 'failed', code: 'failed', message: 'the source cannot be opened' };
  }
}

function failureOf(opened: Opened, tool?: ToolName): SourceFailure | undefined {
  if (!isJob(opened)) return opened;
  const stats = opened.stats();
  const failure = tool === undefined ? stats.failure : stats.failures[tool];
  const isUnread = tool !== undefined && !stats.served.includes(tool);
  return failure && { ...toldBy(failure), ...(isUnread ? { decisive: true } : {}) };
}

/** Only what happened to both is a failure of the request: otherwise each run tells its own. */
function failureOfBoth([a, b]: readonly (SourceFailure | undefined)[]): SourceFailure | undefined {
  if (a === undefined || b === undefined || a.failure !== b.failure) return undefined;
  return {
    failure: a.failure,
    code: a.code === b.code ? a.code : a.failure,
    ...(a.status !== undefined && a.status === b.status ? { status: a.status } : {}),
    message: `a: ${a.message}; b: ${b.message}`,
  };
}

const toldBy = ({ code, status, cause, message, reason }: Failure): SourceFailure => ({
  failure: reason === 'upload-lost' ? reason : OUTCOMES[code],
  code: cause,
  message,
  ...(status === undefined ? {} : { status }),
  ...(isDecisive({ reason }) ? { decisive: true } : {}),
});
