import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';

/**
 * An origin's response in any protocol: the part of an HTTP response that is used. Node's own responses have this
 * shape.
 */
export type OriginAnswer = Readable & {
  statusCode?: number | undefined;
  headers: IncomingHttpHeaders;
  complete: boolean;
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
