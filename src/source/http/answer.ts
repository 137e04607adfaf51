/** What an origin answers, in any protocol. */
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { brokenConnection, sourceClosed, stoppedSending } from '../failures.ts';
import type { Pace } from '../file/pace.ts';

/** Memory that a body is read into. */
interface Sink {
  /** Where the next bytes belong; empty if no more are wanted. */
  space(): Buffer;
  /** So many bytes are in it. */
  filled(count: number): void;
  /** There are no more. */
  ended(error?: Error): void;
}

/** Where a body comes from. */
interface Giver {
  /** It may go on, after `give` was false. */
  resume?(): unknown;
  /** Nobody wants more of it. */
  gone?(): void;
  /** The same of one that writes into memory: `left` is called when it does so no more. */
  leave?(left: () => void): void;
}

/** An HTTP response, or what stands for one: a stream, or read straight into the memory of whoever wants it. */
export class OriginAnswer extends Readable {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  complete = false;
  readonly #giver: Giver;
  #sink: Sink | undefined;

  constructor(statusCode: number, headers: IncomingHttpHeaders, giver: Giver = {}, highWaterMark = 1 << 18) {
    super({ highWaterMark });
    // An error of a discarded response must not be unhandled.
    this.on('error', () => {});
    this.statusCode = statusCode;
    this.headers = headers;
    this.#giver = giver;
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
    this.#giver.resume?.();
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

  /** False: nothing more until the next `resume`. `isLent`: the bytes are others after this call. */
  give(bytes: Buffer, isLent = false): boolean {
    if (this.destroyed) return true;
    if (this.#sink === undefined) return this.push(isLent ? Buffer.from(bytes) : bytes);
    this.#copy(this.#sink, bytes);
    return true;
  }

  finish(): void {
    if (this.destroyed || this.complete) return;
    this.complete = true;
    if (this.#sink === undefined) this.push(null);
    else this.#sink.ended();
  }

  override _read(): void {
    this.#giver.resume?.();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#giver.gone?.();
    if (this.#giver.leave === undefined) done(error);
    else this.#giver.leave(() => done(error));
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

interface Transfer {
  idleMs: number;
  pace: Pick<Pace, 'whole'>;
  signal: AbortSignal;
}

/**
 * Reads a body into memory: `space` is where the next bytes belong, and empty if no more are wanted. Rejects if the
 * connection breaks or is silent for too long. Leaving a body early closes its connection.
 */
export function fillBody(
  response: OriginAnswer,
  { idleMs, pace, signal }: Transfer,
  space: () => Buffer,
  filled: (count: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let received = 0;
    const length = Number(response.headers['content-length'] ?? NaN);
    const finish = (error?: Error): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(idle);
      signal.removeEventListener('abort', onAbort);
      const settle = (): void => (error === undefined ? resolve() : reject(error));
      if (response.complete) {
        if (error === undefined) pace.whole(received);
        settle();
        return;
      }
      response.destroy();
      // Until then the connection may write to the memory.
      if (response.closed) settle();
      else response.once('close', settle);
    };
    const onAbort = (): void => finish(sourceClosed());
    const idle = setTimeout(() => finish(stoppedSending()), idleMs);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) {
      onAbort();
      return;
    }
    response.into({
      space,
      filled(bytes) {
        idle.refresh();
        received += bytes;
        try {
          filled(bytes);
          // After the last byte the end follows at once, and frees the connection for the next request.
          if (space().length === 0 && received !== length) finish();
        } catch (error) {
          finish(error as Error);
        }
      },
      ended: (error) => finish(response.complete ? undefined : (error ?? brokenConnection())),
    });
  });
}
