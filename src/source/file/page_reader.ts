import type { Meter } from '../meter.ts';
import { type Page, PAGE_SIZE } from './cache.ts';
import { type Beginning, firstWindow, type Reading, widened, widest } from './read_ahead.ts';

/** Bytes whose memory is reused after their release. A piece that is never released keeps it. */
export interface Piece {
  readonly bytes: Buffer;
  release(): void;
}

/** Bytes in pieces: of a file, a stream or a recording. */
export interface Reader {
  /** The next piece; undefined at the end. */
  next(): Promise<Piece | undefined>;
  close(): void;
}

/** The file that a reader reads. */
export interface Paged {
  page(reader: PageReader): Page;
  ahead(): void;
  readonly begins: Beginning;
  /** Bytes that one connection brings in a round trip, as far as known. */
  readonly inFlight: number;
  waitFor(page: Page, meter: Meter): Promise<void>;
}

/** Reads a range of a file, page by page. */
export class PageReader implements Reader, Reading {
  readonly start: number;
  readonly end: number;
  at: number;
  #widened = 0;
  #widenedAt: number;
  readonly meter: Meter;
  readonly #file: Paged;
  readonly #closed: () => void;

  constructor(file: Paged, { from, end }: { from: number; end: number }, meter: Meter, closed: () => void) {
    this.#file = file;
    this.meter = meter;
    this.start = from;
    this.at = from;
    this.#widenedAt = from;
    this.end = end;
    this.#closed = closed;
  }

  get glance(): number {
    return this.#file.begins.glance;
  }

  get window(): number {
    return Math.max(this.#widened, firstWindow(this.#file.begins.window, this.#file.inFlight));
  }

  async next(): Promise<Piece | undefined> {
    while (this.at < this.end) {
      const page = this.#file.page(this);
      const from = this.at % PAGE_SIZE;
      if (page.filled > from) {
        const piece = page.lend(from, from + this.end - this.at);
        this.at += piece.bytes.length;
        this.#file.ahead();
        return piece;
      }
      this.#widen();
      await this.#file.waitFor(page, this.meter);
    }
    return undefined;
  }

  close(): void {
    this.#closed();
  }

  /**
   * The reader waits although half a window was read since the last widening: the window is too small for this
   * connection.
   */
  #widen(): void {
    if (this.at - this.#widenedAt < (this.window * PAGE_SIZE) / 2) return;
    this.#widened = widened(this.window, widest(this.#file.inFlight));
    this.#widenedAt = this.at;
  }
}
