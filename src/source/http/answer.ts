import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';

/** Memory that a body is read into. */
export interface Sink {
  /** Where the next bytes belong; empty if no more are wanted. */
  space(): Buffer;
  /** So many bytes are in it. */
  filled(count: number): void;
  /** There are no more. */
  ended(error?: Error): void;
}

/**
 * An origin's response in any protocol: the part of an HTTP response that is used. Node's own responses have this
 * shape.
 */
export type OriginAnswer = Readable & {
  statusCode?: number | undefined;
  headers: IncomingHttpHeaders;
  complete: boolean;
  /** Reads the body into memory, in place of a stream. */
  into?(sink: Sink): void;
};

/** The response of an origin that does not speak HTTP. */
export class StreamedAnswer extends Readable implements OriginAnswer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  complete = false;
  readonly #hooks: { resume?: () => void; gone?: () => void };

  constructor(
    statusCode: number,
    headers: IncomingHttpHeaders,
    hooks: { resume?: () => void; gone?: () => void } = {},
  ) {
    super({ highWaterMark: 1 << 18 });
    // An error of a discarded response must not be unhandled.
    this.on('error', () => {});
    this.statusCode = statusCode;
    this.headers = headers;
    this.#hooks = hooks;
  }

  /** False: send nothing more until `resume` is called. */
  give(chunk: Buffer): boolean {
    return this.destroyed || this.push(chunk);
  }

  finish(): void {
    if (this.destroyed || this.complete) return;
    this.complete = true;
    this.push(null);
  }

  override _read(): void {
    this.#hooks.resume?.();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#hooks.gone?.();
    done(error);
  }
}
