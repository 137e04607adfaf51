import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { OriginAnswer, Sink } from './answer.ts';

/** The connection that an answer comes from. */
interface Giver {
  resume(answer: HttpAnswer): void;
  leave(answer: HttpAnswer, left: () => void): void;
}

/** An answer of HTTP/1: a stream, or read straight into the memory of whoever wants it. */
export class HttpAnswer extends Readable implements OriginAnswer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  complete = false;
  readonly #giver: Giver;
  #sink: Sink | undefined;

  constructor(statusCode: number, headers: IncomingHttpHeaders, giver: Giver) {
    super({ highWaterMark: 65_536 });
    this.statusCode = statusCode;
    this.headers = headers;
    this.#giver = giver;
    // An error of a discarded response must not be unhandled.
    this.on('error', () => {});
  }

  into(sink: Sink): void {
    for (
      let bytes = this.read() as Buffer | null;
      bytes !== null && !this.destroyed;
      bytes = this.read() as Buffer | null
    )
      this.#copy(sink, bytes);
    if (this.complete || this.destroyed) {
      sink.ended(this.errored ?? undefined);
      return;
    }
    this.#sink = sink;
    this.#giver.resume(this);
  }

  /** Where the next bytes of the body belong, if it is read straight into memory; no more than `most`. */
  space(most: number): Buffer | undefined {
    const space = this.#sink?.space();
    return space === undefined || space.length === 0 ? undefined : space.subarray(0, most);
  }

  /** Bytes are in the space. */
  filled(count: number): void {
    this.#sink?.filled(count);
  }

  /** Bytes that are gone after this call. False: nothing more until the next `resume`. */
  give(bytes: Buffer): boolean {
    if (this.destroyed) return true;
    if (this.#sink === undefined) return this.push(Buffer.from(bytes));
    this.#copy(this.#sink, bytes);
    return true;
  }

  finish(): void {
    this.complete = true;
    if (this.#sink === undefined) this.push(null);
    else this.#sink.ended();
  }

  override _read(): void {
    this.#giver.resume(this);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#giver.leave(this, () => done(error));
    this.#sink?.ended(error ?? undefined);
  }

  #copy(sink: Sink, bytes: Buffer): void {
    for (let at = 0; at < bytes.length && !this.destroyed;) {
      const space = sink.space();
      // It takes no more.
      if (space.length === 0) {
        this.destroy();
        return;
      }
      const count = bytes.copy(space, 0, at);
      at += count;
      sink.filled(count);
    }
  }
}
