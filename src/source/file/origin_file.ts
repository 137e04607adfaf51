import { fillBody, type OriginAnswer } from '../http/answer.ts';
import { NOTHING, PAGE_SIZE, type Page, type PageCache } from './cache.ts';
import { Distance } from './distance.ts';
import { cut, SourceError, worthAnotherTry } from '../error.ts';
import { brokenAt, readFailure, refusedStatus, sourceClosed } from '../failures.ts';
import { drop, type Exchange } from '../http/exchange.ts';
import { contentRange, readHead, type Head } from '../http/head.ts';
import { markOf } from '../http/identity.ts';
import { FileEnd, type Opened } from './file_end.ts';
import { layoutOf, type Layout, type Peek } from './layout.ts';
import { OriginStream } from './origin_stream.ts';
import { Meter } from '../meter.ts';
import { PageReader, type Reader } from './page_reader.ts';
import {
  demandedRun,
  nextRun,
  OF_FILE,
  OF_PART,
  OF_SOUND,
  type Beginning,
  type Run,
  type Wanted,
} from './read_ahead.ts';
import type { Pace } from './pace.ts';
import type { Part, Transport } from '../http/transport.ts';

export type FileContext = Exchange & {
  cache: PageCache;
  /** Of the tool that first asked for this address, or `NOBODY`. */
  count: Meter;
  maxBytes: number;
  pace: Pace;
  idleMs: number;
  /** Maximum number of concurrent requests to the origin for one file. */
  maxFetches: number;
  /** An origin that answers within this time is not read ahead. */
  nearMs: number;
  /** Of a playlist: it is read from its beginning, whatever its format. */
  isPart: boolean;
};

/** The first bytes of a file, and what its host says of it. */
export interface FirstBytes extends Pick<Head, 'size' | 'type'> {
  bytes: Buffer;
}

/** For a file whose bytes are counted elsewhere. */
export const NOBODY = new Meter({ request() {}, bytes() {} });

/** Half a megabyte: for most files the first response contains what a probe needs. */
const HEAD_PAGES = 8;
/** A quarter of the cache: the report looks at a file's first pictures and captions once the tools have read it all. */
const READ_AGAIN_PAGES = 128;
const LARGE = 2 << 20;
const MOST_TRIES = 4;
let files = 0;

/** One file on an origin: opened once, read in pages by any number of readers, each page fetched once. */
export class OriginFile {
  readonly url: string;
  readonly #context: FileContext;
  readonly #id = `${++files}:`;
  readonly #transport: Transport;
  #opening: Promise<Head> | undefined;
  #head: Head | undefined;
  #mark: string | undefined;
  #stream: OriginStream | undefined;
  #restarts = 0;
  #readers = new Set<PageReader>();
  readonly #loading = new Set<Page>();
  #wanted: Wanted[] = [];
  #layout: Layout | undefined;
  #running = 0;
  readonly #distance: Distance;
  /** A read-ahead has failed: from then on only pages that a tool waits for are fetched. */
  #plain = false;
  #error: SourceError | undefined;

  constructor(transport: Transport, context: FileContext) {
    this.url = transport.url;
    this.#context = context;
    this.#transport = transport;
    this.#distance = new Distance(context.nearMs);
  }

  get error(): SourceError | undefined {
    return this.#error;
  }

  /** Requests the head of the file; the bytes of the first response are kept. */
  open(meter = this.#context.count): Promise<Head> {
    return this.#wait(this.start(), meter);
  }

  /** The same without a tool that waits. */
  start(): Promise<Head> {
    return (this.#opening ??= this.#open());
  }

  get isNear(): boolean {
    return this.#distance.isNear;
  }

  /** The first bytes, up to `length`. */
  async first(length: number, meter?: Meter): Promise<Buffer> {
    const reader = await this.read(0, length, meter);
    const parts: Buffer[] = [];
    let have = 0;
    try {
      for (let part = await reader.next(); part !== undefined; part = await reader.next()) {
        parts.push(Buffer.from(part.bytes.subarray(0, length - have)));
        part.release();
        have += parts.at(-1)!.length;
        if (have >= length) break;
      }
    } finally {
      reader.close();
    }
    return Buffer.concat(parts);
  }

  /** The same of what is there: nothing is read for it. */
  beginning(most: number): FirstBytes | undefined {
    if (this.#head === undefined) return undefined;
    const { type, size = this.#stream?.length } = this.#head;
    const page = this.#context.cache.peek(`${this.#id}${this.#stream === undefined ? '' : `s${this.#restarts}:`}0`);
    if (page === undefined && size !== 0) return undefined;
    return { bytes: Buffer.from(page?.bytes.subarray(0, Math.min(most, page.filled)) ?? NOTHING), size, type };
  }

  async read(from: number, to = Infinity, meter = this.#context.count): Promise<Reader> {
    const head = await this.open(meter);
    if (!head.ranged) return this.#readStream(meter);
    const range = { from, end: Math.min(to, head.size ?? 0) };
    const reader = new PageReader(this, range, meter, () => this.#readers.delete(reader));
    this.#readers.add(reader);
    return reader;
  }

  /** The page at a reader's position. Starts fetching it if it is missing. */
  page(reading: PageReader): Page {
    const index = Math.floor(reading.at / PAGE_SIZE);
    const page = this.#context.cache.get(this.#id + index);
    if (page !== undefined && (!this.#error || page.filled > reading.at % PAGE_SIZE)) return page;
    if (this.#error) throw this.#error;
    this.#fetch(demandedRun(reading, this.#has), reading.meter, { demanded: true });
    return this.#context.cache.get(this.#id + index)!;
  }

  /** Fetches pages before they are requested. */
  ahead(): void {
    if (this.#distance.isNear) return;
    // Uses open connections only: a request that waits for a new one would delay those that follow it.
    const most = Math.min(this.#context.maxFetches, Math.max(1, this.#transport.ready()));
    while (this.#running < most && !this.#error && !this.#plain) {
      const next = this.#next();
      if (next === undefined) {
        this.#wanted = [];
        return;
      }
      this.#fetch(next.run, next.meter, { demanded: false });
    }
  }

  /** What to fetch in advance, and for whom. */
  #next(): { run: Run; meter: Meter } | undefined {
    const predicted = nextRun([], this.#wanted, this.#has);
    if (predicted !== undefined) return { run: predicted, meter: this.#context.count };
    // Half of the cache: the other half has pages that were read and that a slower tool still needs.
    const most = Math.floor(this.#context.cache.maxBytes / PAGE_SIZE / 2 / this.#readers.size);
    for (const reader of this.#readers) {
      const run = nextRun([reader], [], this.#has, most);
      if (run !== undefined) return { run, meter: reader.meter };
    }
    return undefined;
  }

  close(error = sourceClosed()): void {
    this.#error ??= error;
    this.#stream?.close(error);
    for (const page of this.#loading) page.wake();
  }

  /** Waits until more bytes of a page have arrived. */
  async waitFor(page: Page, meter: Meter): Promise<void> {
    const begun = performance.now();
    await this.#wait(page.changed(), meter);
    this.#distance.waited(performance.now() - begun);
  }

  /** Adds no turn of the queue: the page may be gone by then. */
  async #wait<T>(promise: Promise<T>, asked: Meter): Promise<T> {
    const { pace } = this.#context;
    const meter = this.#countedBy(asked);
    pace.begin();
    meter.begin();
    try {
      return await promise;
    } finally {
      meter.end();
      pace.end();
    }
  }

  #countedBy(asked: Meter): Meter {
    return this.#context.count === NOBODY ? NOBODY : asked;
  }

  /** What is read for a tool counts to it. */
  #for(asked: Meter): FileContext {
    return { ...this.#context, count: this.#countedBy(asked) };
  }

  get begins(): Beginning {
    if (this.#context.isPart) return OF_PART;
    return this.#layout?.isSound ? OF_SOUND : OF_FILE;
  }

  get inFlight(): number {
    return this.#distance.inFlight;
  }

  readonly #has = (page: number): boolean => this.#context.cache.has(this.#id + page);

  async #open(): Promise<Head> {
    const end = this.#context.isPart ? undefined : FileEnd.of(this.#transport, this.#context.count);
    try {
      const { response, url } = await this.#request({ from: 0, to: HEAD_PAGES * PAGE_SIZE }, this.#context);
      this.#distance.connected(this.#transport.roundTripMs());
      const head = readHead(response, url);
      this.#head = head;
      this.#mark = markOf(response);
      if (head.size !== undefined && head.size > this.#context.maxBytes) {
        response.destroy();
        throw new SourceError('too-large', `the file is larger than ${this.#context.maxBytes} bytes`, {
          reason: 'limit',
          detail: String(head.size),
        });
      }
      // A large file is read over several connections, and each takes two or three round trips to open.
      if (head.ranged && (head.size ?? 0) > LARGE && !this.#distance.isNear)
        this.#transport.warm(this.#context.maxFetches);
      if (head.size === 0) drop(response);
      else if (head.ranged)
        this.#fetch({ first: 0, count: Math.min(HEAD_PAGES, Math.ceil(head.size! / PAGE_SIZE)) }, this.#context.count, {
          demanded: true,
          opened: { answer: response, before: 0 },
        });
      else this.#stream = new OriginStream(response, this.#context, `${this.#id}s0:`, head.size);
      if (end !== undefined && (await end.isAsked)) this.#fetchEnd(end, head);
      return head;
    } catch (error) {
      end?.drop();
      throw this.#fail(error);
    }
  }

  #fetchEnd(end: FileEnd, { ranged, size = 0 }: Head): void {
    const run = ranged ? FileEnd.run(size, HEAD_PAGES) : undefined;
    if (run === undefined) end.drop();
    else
      this.#fetch(run, this.#context.count, {
        demanded: false,
        opened: { answer: end.answer(size, this.#mark!), before: FileEnd.before(size) },
      });
  }

  async #readStream(meter: Meter): Promise<Reader> {
    const context = this.#for(meter);
    if (this.#error) throw this.#error;
    if (this.#head?.size === 0) return { next: () => Promise.resolve(undefined), close: () => {} };
    if (this.#stream?.complete() !== true) {
      // The origin does not support ranges and the beginning is no longer cached: read from the start again, a limited
      // number of times.
      if (++this.#restarts > MOST_TRIES)
        throw cut('limit', 'the host does not support ranges, and the file was read too often');
      const { response } = await this.#transport.ask(undefined, context.count);
      if (response.statusCode !== 200) {
        drop(response);
        throw this.#fail(refusedStatus(response.statusCode));
      }
      this.#stream = new OriginStream(response, context, `${this.#id}s${this.#restarts}:`, this.#head?.size);
    }
    return this.#stream!.read(this.#countedBy(meter));
  }

  #fetch(run: Run, meter: Meter, { demanded, opened }: { demanded: boolean; opened?: Opened }): void {
    const { cache, isPart } = this.#context;
    const size = this.#head!.size!;
    const pages: Page[] = [];
    for (let i = run.first; i < run.first + run.count; i++)
      pages.push(cache.add(this.#id + i, Math.min(PAGE_SIZE, size - i * PAGE_SIZE), !isPart && i < READ_AGAIN_PAGES));
    this.#running++;
    for (const page of pages) this.#loading.add(page);
    void this.#load(run, pages, this.#for(meter), opened)
      .catch((error: unknown) => {
        if (demanded) this.#fail(error);
        else this.#plain = true;
      })
      .finally(() => {
        this.#running--;
        pages.forEach((page, i) => {
          this.#loading.delete(page);
          if (page.filled < page.bytes.length) cache.remove(this.#id + (run.first + i));
          page.loaded();
          page.wake();
        });
        this.ahead();
      });
  }

  async #load(run: Run, pages: Page[], context: FileContext, opened: Opened | undefined): Promise<void> {
    const from = run.first * PAGE_SIZE;
    const end = Math.min((run.first + run.count) * PAGE_SIZE, this.#head!.size!);
    let at = from;
    let before = 0;
    // Bytes before the first page are read over.
    const space = (): Buffer =>
      before > 0 ? Buffer.allocUnsafe(before) : (pages[Math.floor((at - from) / PAGE_SIZE)]?.space ?? NOTHING);
    const filled = (count: number): void => {
      if (before > 0) {
        before -= count;
        return;
      }
      const page = pages[Math.floor((at - from) / PAGE_SIZE)]!;
      at += count;
      page.grown(count);
      if (page.filled === page.bytes.length) page.loaded();
      this.#look();
    };
    let failed: unknown;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const begun = at;
      try {
        const asked = performance.now();
        const early = tries === 0 ? await opened?.answer : undefined;
        before = early === undefined ? 0 : opened!.before;
        const given = performance.now();
        const response = early ?? (await this.#ask({ from: at, to: end }, context));
        await fillBody(response, context, space, filled);
        if (early === undefined) this.#distance.received(at - begun, performance.now() - asked);
        else this.#distance.transferred(at - begun, performance.now() - given);
      } catch (error) {
        failed = brokenAt(error, at, this.#head!.size, from);
        if (!worthAnotherTry(error)) throw failed;
      }
      if (at >= end) return;
      if (at > begun) tries = Math.min(tries, 1);
      else if (tries + 1 < MOST_TRIES) await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** tries).unref());
    }
    throw (
      failed ??
      cut('protocol', 'the host sent less of the file than declared', { detail: `at ${at} of ${this.#head!.size}` })
    );
  }

  async #request(part: Part, { count }: FileContext): ReturnType<Transport['ask']> {
    const begun = performance.now();
    const answered = await this.#transport.ask(part, count);
    this.#distance.answered(performance.now() - begun);
    return answered;
  }

  async #ask(part: Part, context: FileContext): Promise<OriginAnswer> {
    let { response } = await this.#request(part, context);
    // The target of the redirect may have expired.
    if ([401, 403, 404, 410].includes(response.statusCode) && this.#transport.forget()) {
      drop(response);
      ({ response } = await this.#request(part, context));
    }
    const status = response.statusCode;
    const given = contentRange(response);
    if (
      status === 206 &&
      given?.from === part.from &&
      (given.size === undefined || given.size === this.#head!.size) &&
      markOf(response) === this.#mark
    )
      return response;
    drop(response);
    if (status >= 400 && status !== 416) throw refusedStatus(status);
    throw cut('changed', 'the file changed while it was read', {
      detail: `status ${status}, content-range ${response.headers['content-range'] ?? 'none'}`,
    });
  }

  #look(): void {
    const size = this.#head?.size;
    if (size === undefined || this.#context.isPart) return;
    const peek: Peek = (offset, length) => this.#context.cache.peekBytes(this.#id, offset, length);
    if (this.#layout === undefined) {
      const head = peek(0, Math.min(192, size));
      if (head === undefined) return;
      this.#layout = layoutOf(head, size) ?? { step: () => [] };
    }
    // A damaged file may refer to positions past its end.
    this.#wanted.push(
      ...this.#layout
        .step(peek)
        .flatMap(({ from, to }) => (from < size ? [{ from: Math.max(0, from), to: Math.min(to, size) }] : [])),
    );
    if (this.#wanted.length > 0) this.ahead();
  }

  #fail(error: unknown): SourceError {
    this.#error ??= readFailure(error);
    return this.#error;
  }
}
