import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setImmediate as otherWork } from 'node:timers/promises';
import { PageCache } from './file/cache.ts';
import { cut, isSourceError, type SourceError } from './error.ts';
import { sourceClosed, unreadableScheme } from './failures.ts';
import { type Access, accessOf, textOf } from './http/exchange.ts';
import type { Tagged } from './http/object_tags.ts';
import { type Listed, type Listing, listBucket } from './listing/listing.ts';
import type { PageMemory } from './file/page_memory.ts';
import { makeGuard, type Guard, type GuardOptions } from './address/guard.ts';
import { JobRecord } from './job_record.ts';
import type { Meter } from './meter.ts';
import { nameOf } from './playlist/mapping.ts';
import type { Head } from './http/head.ts';
import { NOBODY, OriginFile, type FileContext, type FirstBytes } from './file/origin_file.ts';
import type { Failure, JobOptions, JobStats, Limits, Prepared, SourceLog } from './job_options.ts';
import { outputRedactor } from './output.ts';
import { makeParameters } from './playlist/parameters.ts';
import { fetchParts } from './playlist/parts_ahead.ts';
import { makePace, type Pace, type PaceOptions } from './file/pace.ts';
import { playlistKind, type PlaylistKind } from './playlist/playlist.ts';
import type { Pool } from './http/pool.ts';
import type { Protocol, SocketContext } from './protocols/protocol.ts';
import { originUrl, placeOf, protocolOf } from './protocols/table.ts';
import type { Rewriter } from './playlist/rewriter.ts';
import type { Source } from './source.ts';
import { recordingTransport } from './protocols/stream/recording.ts';
import { isWeb, targetOf, type S3Settings } from './address/target.ts';
import { loadedTransport, webTransport, type Transport } from './http/transport.ts';

/** The job and tool that a proxy secret identifies, so that no tool can act as another. */
export interface Login {
  job: Job;
  tool: string;
}

export interface JobSettings {
  /** Registers a tool's secret. */
  admit(secret: string, login: Login): void;
  /** Forgets the job, its secrets and its connections. */
  closed(job: Job): void;
  log: SourceLog | undefined;
  port: number;
  rtspPort: number;
  guard: GuardOptions;
  s3: S3Settings;
  cacheBytes: number;
  memory: PageMemory;
  idleMs: number;
  maxFetches: number;
  nearMs: number;
  /** `owner`: the only job that uses it. */
  pool(guard: Guard, verify: boolean, owner: string | undefined): Pool;
  dial(
    guard: Guard,
    verify: boolean,
    host: string,
    port: number,
    options: { secure: boolean; address?: string | undefined },
  ): Promise<Socket>;
  throughEgress(host: string): boolean;
  offlineMs: number;
  rewriter: Rewriter;
  pace: PaceOptions;
  /** How much of a stream is recorded for a tool that can only read files. */
  recording: { ms: number; bytes: number };
}

interface Opened {
  verify: boolean;
  anonymous: boolean;
  recorded?: boolean;
}

const MOST_FILES = 1024;
const LONGEST_TURN_MS = 5;
/** Of a listing: 1,000 names of 1 kB, each character encoded, with what is said of them. */
const MOST_PAGE_BYTES = 8 << 20;
/** One request's source: what its tools may read, what was read, and the failures. */
export class Job {
  /** Common prefix of the secrets of this job's tools. */
  readonly id = randomBytes(8).toString('hex');
  readonly #secrets = new Map<string, string>();
  readonly main: string;
  readonly name: string;
  /** Restores the caller's address in a tool's output, and removes every secret: also once the job is closed. */
  readonly redact: (text: string) => string;
  readonly source: Source;
  readonly protocol: Protocol;
  readonly guard: Guard;
  /** Query parameters for the HLS validator. */
  readonly parameters = makeParameters();
  /** Rewritten, by tool and path. */
  readonly playlists = new Map<string, Buffer>();
  readonly #settings: JobSettings;
  readonly #limits: Limits;
  readonly #verify: Readonly<Record<string, boolean>>;
  readonly #access: Access | undefined;
  readonly #live: readonly string[];
  readonly #asTheyAre: readonly string[];
  /** Whether files beside the source belong to it: a playlist has parts, a file has none. */
  #hasParts: boolean;
  #isPlaylist = false;
  readonly #cache: PageCache;
  readonly #pace: Pace;
  #slow: SourceError | undefined;
  readonly #abort = new AbortController();
  /** Aborts the reads but not the job: its tools still get responses. */
  readonly #reads = new AbortController();
  readonly #files = new Map<string, OriginFile>();
  /** Of the source, each time that it was opened; undefined: without a strong validator. */
  readonly #identities = new Set<string | undefined>();
  /** Something else than the source was read. */
  #readsOthers = false;
  readonly #record: JobRecord;

  constructor(options: JobOptions, settings: JobSettings) {
    this.source = options.source;
    this.protocol = protocolOf(options.source);
    this.#settings = settings;
    this.#limits = options.limits;
    this.#verify = options.tls?.verify ?? {};
    this.main = originUrl(options.source, settings.s3);
    this.#live = options.live ?? [];
    this.#asTheyAre = options.readPlaylistsAsTheyAre ?? [];
    // The last segment of a stream's path is often its key.
    this.name = options.source.class === 'stream' ? 'stream' : nameOf(options.source.url);
    this.guard = makeGuard({ ...settings.guard, allow: [...(settings.guard.allow ?? []), ...(options.allow ?? [])] });
    this.#access = accessOf(options.source, this.main, settings.s3);
    this.#hasParts =
      options.source.class !== 'file' || options.followsParts === true || /\.(?:xml|isml?)$/i.test(this.name);
    // A live stream has its own pace.
    this.#pace = makePace(
      { ...settings.pace, ...(options.source.class === 'stream' ? { minBytes: 0 } : {}) },
      (error) => this.#tooSlow(error),
    );
    this.#cache = new PageCache(settings.cacheBytes, settings.memory);
    this.redact = outputRedactor(options.source, {
      port: settings.port,
      rtspPort: settings.rtspPort,
      id: this.id,
      main: this.main,
      name: this.name,
    });
    this.#record = new JobRecord({
      main: this.main,
      log: settings.log,
      redact: this.redact,
      shown: (url) => this.parameters.shown(url),
      received: (count, all) => this.#received(count, all),
    });
  }

  #received(count: number, all: number): void {
    const { maxBytes, reads = 1, readBefore = 0 } = this.#limits;
    const most = maxBytes * reads;
    this.#pace.received(count);
    if (all + readBefore > most) throw cut('limit', `more than ${most} bytes were read`);
  }

  get rewriter(): Rewriter {
    return this.#settings.rewriter;
  }

  get closed(): boolean {
    return this.#abort.signal.aborted;
  }

  get offlineMs(): number {
    return this.#settings.offlineMs;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get secrets(): readonly string[] {
    return [...this.#secrets.values()];
  }

  #secret(tool: string): string {
    const known = this.#secrets.get(tool);
    if (known !== undefined) return known;
    const made = `${this.id}${randomBytes(8).toString('hex')}`;
    this.#secrets.set(tool, made);
    if (!this.closed) this.#settings.admit(made, { job: this, tool });
    return made;
  }

  prefix(tool: string): string {
    return `http://127.0.0.1:${this.#settings.port}/${this.#secret(tool)}/${tool}`;
  }

  /** The address that a tool opens: `http://127.0.0.1:PORT/<secret>/<tool>/<file name>` */
  address(tool: string): string {
    if (this.protocol.relayedAs !== undefined)
      return `rtsp://127.0.0.1:${this.#settings.rtspPort}/${this.#secret(tool)}/${tool}/${this.name}`;
    const kind = this.#live.includes(tool) ? undefined : this.protocol.recordedAs;
    return `${this.prefix(tool)}/${this.name}${kind === undefined ? '' : `.${kind}`}`;
  }

  /** Playlists are not rewritten for this tool, and its requests with `no-cache` are fetched again. */
  readsAsTheyAre(tool: string): boolean {
    return this.#asTheyAre.includes(tool);
  }

  /** Whether the origin's certificate must be valid for this tool. */
  verifies(tool: string): boolean {
    return this.#verify[tool] !== false;
  }

  /** Makes the guard the HTTP proxy for other addresses that the tool requests. */
  environment(tool: string): Record<string, string> {
    const proxy = `http://${this.#secret(tool)}:${tool}@127.0.0.1:${this.#settings.port}`;
    return { http_proxy: proxy, https_proxy: proxy, HTTPS_PROXY: proxy, no_proxy: '127.0.0.1', NO_PROXY: '127.0.0.1' };
  }

  /**
   * Resolves, connects and reads the head before the tools do. Never rejects: a failure is cached and recurs when a
   * tool reads.
   */
  async prepare(tools: readonly string[] = Object.keys(this.#verify)): Promise<Prepared> {
    const wanted = tools.length === 0 ? [''] : tools;
    // RTSP is spoken by the tool itself, and a stream opened too early would pass by unread.
    if (this.source.class === 'stream') return { ok: true, size: undefined, type: '' };
    // A file is read ahead over several connections, which take two or three round trips to open. So are the parts of a
    // far playlist.
    const { maxFetches } = this.#settings;
    if (isWeb(this.main))
      this.#pool(true).warm(targetOf(this.main), this.source.class === 'file' ? maxFetches : 2, maxFetches);
    let failure: Failure | undefined;
    for (const tool of wanted) {
      try {
        const { file, head } = await this.file(this.main, tool);
        void fetchParts(file, {
          open: (url) => this.#file(url, this.meter(tool), { verify: true, anonymous: false }),
          isPlaylist: () => this.isPlaylist(this.main),
          decodes: this.#live.length > 0,
        });
        return { ok: true, size: head.size, type: head.type };
      } catch (error) {
        failure ??= this.failed(error, this.main, tool);
      }
    }
    return { ok: false, failure: failure! };
  }

  /**
   * The kind of playlist by the first bytes, regardless of the name; undefined if it is none or cannot be read. Never
   * rejects.
   */
  async playlistKind(): Promise<PlaylistKind | undefined> {
    // The first data of a stream belongs to the tool that opens it.
    if (this.source.class === 'stream') return undefined;
    for (const tool of Object.keys(this.#verify)) {
      try {
        const { file, head } = await this.file(this.main, tool);
        const kind = await playlistKind(file, head);
        if (kind !== undefined) this.isPlaylist(this.main);
        return kind;
      } catch {
        // Another tool may accept the certificate. The failure is recorded when a tool reads.
      }
    }
    return undefined;
  }

  /**
   * The opened file of an address. A tool without verification shares the verified transfer if the certificate is
   * valid, so that the origin is read once. Otherwise it gets a transfer of its own.
   */
  async file(url: string, tool: string, anonymous = false): Promise<{ file: OriginFile; head: Head }> {
    const recorded = this.source.class === 'stream' && url === this.main && !this.#live.includes(tool);
    const meter = this.meter(tool);
    const file = this.#file(url, meter, { verify: true, anonymous, recorded });
    try {
      return { file, head: this.#identified(url, await file.open(meter)) };
    } catch (error) {
      if (this.#verify[tool] !== false || !isSourceError(error) || error.reason !== 'certificate') throw error;
      const trusting = this.#file(url, meter, { verify: false, anonymous, recorded });
      return { file: trusting, head: this.#identified(url, await trusting.open(meter)) };
    }
  }

  /**
   * Reads the whole source for a tool. What is cached comes without a wait, so timers get their turn here. Bytes are
   * gone after `take`. Throws a SourceError.
   */
  async readWhole(tool: string, take: (bytes: Buffer) => void): Promise<void> {
    const { file, head } = await this.file(this.main, tool);
    const reader = await file.read(0, head.size, this.meter(tool));
    let since = performance.now();
    try {
      for (let piece = await reader.next(); piece !== undefined; piece = await reader.next()) {
        take(piece.bytes);
        piece.release();
        if (performance.now() - since < LONGEST_TURN_MS) continue;
        await otherWork();
        since = performance.now();
      }
    } finally {
      reader.close();
    }
  }

  /** Lists its bucket, at the expense of a tool. Throws a SourceError. */
  list(tool: string, listing: Listing, signal: AbortSignal): Promise<Listed> {
    const access = this.#access;
    const context = { pool: this.#pool(true), access, signal, count: this.meter(tool) };
    return listBucket(this.source, listing, this.main, (url) => {
      // Amazon may have named the region of the bucket meanwhile.
      const target = { ...(access?.home ?? targetOf(url)), path: targetOf(url).path };
      return textOf(context, target, MOST_PAGE_BYTES);
    });
  }

  /** Writes tags to its object, at the expense of a tool. Throws a SourceError. */
  async tag(tool: string, tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Tagged> {
    const access = this.#access;
    const { tagObject, untagged } = await import('./http/object_tags.ts');
    const [identity] = this.#identities;
    if (this.#identities.size !== 1 || identity === undefined)
      return untagged('unknown', 'it is not known which object was read');
    const context = { pool: this.#pool(true), access, signal, count: this.meter(tool) };
    return tagObject(context, access?.home ?? targetOf(this.main), { identity, tags });
  }

  #identified(url: string, head: Head): Head {
    // Two are enough to tell that it changed.
    if (url === this.main && this.#identities.size < 2) this.#identities.add(head.identity);
    return head;
  }

  /** The source turned out to be a playlist, regardless of its name: its parts are read with its credentials. */
  isPlaylist(url: string): void {
    if (url === this.main) this.#hasParts = this.#isPlaylist = true;
  }

  /** The first bytes of the source, up to `most`, and what its host says of it; undefined: nothing was read. */
  beginning(most: number): FirstBytes | undefined {
    for (const file of this.#files.values()) {
      const beginning = file.url === this.main ? file.beginning(most) : undefined;
      if (beginning !== undefined) return beginning;
    }
    return undefined;
  }

  /** Undefined: the source is more than one file, or changed, or its host does not say which file it is. */
  get identity(): string | undefined {
    if (this.source.class !== 'file' || this.#isPlaylist || this.#readsOthers) return undefined;
    return this.#identities.size === 1 ? [...this.#identities][0] : undefined;
  }

  /** A live playlist is fetched again each time. */
  forget(file: OriginFile): void {
    for (const [key, value] of this.#files) if (value === file) this.#files.delete(key);
  }

  /** The next request fetches the address again; current readers continue. */
  forgetUrl(url: string): void {
    for (const key of this.#files.keys()) if (key.endsWith(` ${url}`)) this.#files.delete(key);
  }

  /** Records why an address could not be read. */
  failed(error: unknown, url: string, tool: string): Failure {
    return this.#record.failed(error, url, tool);
  }

  /** Records that a tool is given what an address has, or the beginning of it. */
  served(url: string, tool: string): void {
    this.#record.served(url, tool);
  }

  refuse(url: string): void {
    this.#record.refuse(url);
  }

  stats(): JobStats {
    return this.#record.stats();
  }

  meter(tool: string): Meter {
    return this.#record.meter(tool);
  }

  socketContext(verify: boolean, meter: Meter): SocketContext {
    return {
      source: this.source,
      place: placeOf(this.source.url),
      guard: this.guard,
      signal: this.#abort.signal,
      count: meter,
      idleMs: this.#settings.idleMs,
      offlineMs: this.#settings.offlineMs,
      dial: (host, port, options) => this.#settings.dial(this.guard, verify, host, port, options),
      throughEgress: this.#settings.throughEgress,
    };
  }

  close(): void {
    this.#abort.abort();
    this.#reads.abort();
    this.#pace.close();
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
    this.playlists.clear();
    this.#cache.clear();
    this.#settings.closed(this);
  }

  #tooSlow(error: SourceError): void {
    this.#slow = error;
    for (const file of this.#files.values()) file.close(error);
    this.#reads.abort();
  }

  #pool(verify: boolean): Pool {
    return this.#settings.pool(this.guard, verify, this.#access === undefined ? undefined : this.id);
  }

  #open(verify: boolean, meter: Meter): Transport {
    const { open } = this.protocol;
    if (open === undefined) throw unreadableScheme(this.source.scheme);
    const context = this.socketContext(verify, meter);
    return loadedTransport(this.source.url, () => open(context));
  }

  #file(url: string, meter: Meter, { verify, anonymous: unsigned, recorded = false }: Opened): OriginFile {
    if (this.closed) throw sourceClosed();
    if (url !== this.main) this.#readsOthers = true;
    // Otherwise a tool compromised by a file could read the caller's other files with the caller's credentials.
    const anonymous = unsigned || (url !== this.main && !this.#hasParts);
    const key = `${verify ? 'v' : 'u'}${anonymous ? 'a' : 'c'}${recorded ? 'r' : 'o'} ${url}`;
    if (this.#slow !== undefined) throw this.#slow;
    const known = this.#files.get(key);
    if (known !== undefined) return known;
    if (this.#files.size >= MOST_FILES) this.#files.delete(this.#files.keys().next().value!);
    const context: FileContext = {
      pool: this.#pool(verify),
      access: anonymous ? undefined : this.#access,
      signal: this.#reads.signal,
      count: meter,
      pace: this.#pace,
      cache: this.#cache,
      maxBytes: this.#limits.maxBytes,
      idleMs: this.#settings.idleMs,
      maxFetches: this.#settings.maxFetches,
      nearMs: this.#settings.nearMs,
      isPart: this.#isPlaylist && url !== this.main,
    };
    // A session counts everything received on its socket, which is more than the media data.
    const live = this.source.class === 'stream' && !isWeb(url);
    const file = recorded
      ? // Data of a recording was counted when it was recorded.
        new OriginFile(recordingTransport(this.#file(url, meter, { verify, anonymous }), this.#settings.recording), {
          ...context,
          count: NOBODY,
        })
      : new OriginFile(
          isWeb(url) ? webTransport(url, context) : this.#open(verify, meter),
          live ? { ...context, count: NOBODY } : context,
        );
    this.#files.set(key, file);
    return file;
  }
}
