import type { OriginAnswer } from '../http/answer.ts';
import { PAGE_SIZE, type Page, type PageCache } from './cache.ts';
import { cut, isSourceError, type SourceError } from '../error.ts';
import { brokenAt, brokenConnection, sourceClosed, stoppedSending } from '../failures.ts';
import type { Pace } from './pace.ts';
import type { Meter } from '../meter.ts';
import type { Piece, Reader } from './page_reader.ts';

export interface StreamContext {
  cache: PageCache;
  idleMs: number;
  pace: Pick<Pace, 'begin' | 'end'>;
  signal: AbortSignal;
}

/** How far a stream runs ahead of its fastest reader. Ahead of its slowest, three quarters of the cache. */
const AHEAD = 1 << 20;

/**
 * A body that can only be read from its beginning. It is kept in pages as far as the cache reaches, so that both tools
 * share one transfer.
 */
export class OriginStream {
  readonly #response: OriginAnswer;
  readonly #context: StreamContext;
  readonly #key: string;
  readonly #size: number | undefined;
  readonly #readers = new Set<{ at: number }>();
  #page: Page | undefined;
  #at = 0;
  #ended = false;
  #error: unknown;
  #idle: NodeJS.Timeout | undefined;
  #waiters: (() => void)[] = [];
  #waits = false;

  constructor(response: OriginAnswer, context: StreamContext, key: string, size: number | undefined) {
    this.#response = response;
    this.#context = context;
    this.#key = key;
    this.#size = size;
    this.#watch();
    const broken = (error?: Error | null): void => {
      const short = !response.complete || (size !== undefined && this.#at < size);
      this.#end(isSourceError(error) ? error : short ? brokenConnection() : undefined);
    };
    response
      .on('data', (chunk: Buffer) => this.#take(chunk))
      .on('end', () => broken())
      .on('close', () => broken())
      .on('error', broken);
    // Its file may be forgotten before the job ends.
    context.signal.addEventListener('abort', this.#aborted, { once: true });
    if (context.signal.aborted) this.#aborted();
  }

  /** How long the body is; undefined: it has not ended. */
  get length(): number | undefined {
    return this.#ended && this.#error === undefined ? this.#at : undefined;
  }

  /** Whether everything from the first byte on is still available for a new reader. */
  complete(): boolean {
    return this.#at === 0 || this.#context.cache.has(`${this.#key}0`);
  }

  read(meter: Pick<Meter, 'begin' | 'end'>): Reader {
    const place = { at: 0 };
    this.#readers.add(place);
    const next = async (): Promise<Piece | undefined> => {
      for (;;) {
        if (place.at < this.#at) {
          const index = Math.floor(place.at / PAGE_SIZE);
          const page = this.#context.cache.get(this.#key + index);
          if (page === undefined) throw cut('limit', 'the file was read too unevenly to be cached');
          const piece = page.lend(place.at % PAGE_SIZE, PAGE_SIZE);
          place.at += piece.bytes.length;
          this.#flow();
          return piece;
        }
        if (this.#error !== undefined) throw this.#error;
        if (this.#ended) return undefined;
        meter.begin();
        await new Promise<void>((resolve) => {
          this.#waiters.push(resolve);
          this.#tell();
        });
        meter.end();
      }
    };
    const close = (): void => {
      this.#readers.delete(place);
      // Nobody can read it any more.
      if (this.#readers.size === 0 && !this.complete()) this.close();
      else this.#flow();
    };
    return { next, close };
  }

  close(error = sourceClosed()): void {
    this.#end(error);
  }

  readonly #aborted = (): void => this.close();

  #take(chunk: Buffer): void {
    if (this.#ended) return;
    this.#idle?.refresh();
    for (let rest = chunk; rest.length > 0;) {
      if (this.#page === undefined || this.#page.filled === PAGE_SIZE) {
        this.#page?.loaded();
        this.#page = this.#context.cache.add(this.#key + Math.floor(this.#at / PAGE_SIZE), PAGE_SIZE);
      }
      const part = rest.subarray(0, PAGE_SIZE - this.#page.filled);
      this.#page.append(part);
      this.#at += part.length;
      rest = rest.subarray(part.length);
    }
    this.#wake();
    this.#flow();
  }

  #flow(): void {
    if (this.#ended) return;
    const places = [...this.#readers].map(({ at }) => at);
    const full =
      this.#at - Math.max(0, ...places) >= AHEAD ||
      (places.length > 0 && this.#at - Math.min(...places) >= this.#context.cache.maxBytes * 0.75);
    if (full && !this.#response.isPaused()) {
      this.#response.pause();
      clearTimeout(this.#idle);
    } else if (!full && this.#response.isPaused()) {
      this.#response.resume();
      this.#watch();
    }
    this.#tell();
  }

  /** A reader that waits because a slower one pauses the connection does not wait for the origin. */
  #tell(): void {
    const waits = this.#waiters.length > 0 && !this.#ended && !this.#response.isPaused();
    if (waits === this.#waits) return;
    this.#waits = waits;
    if (waits) this.#context.pace.begin();
    else this.#context.pace.end();
  }

  /** Silence only counts while data is requested from the host. */
  #watch(): void {
    this.#idle = setTimeout(() => this.#end(stoppedSending()), this.#context.idleMs);
  }

  #end(error: SourceError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = brokenAt(error, this.#at, this.#size);
    clearTimeout(this.#idle);
    this.#context.signal.removeEventListener('abort', this.#aborted);
    this.#page?.loaded();
    if (error !== undefined) this.#response.destroy();
    this.#wake();
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    this.#tell();
    for (const wake of waiters) wake();
  }
}
