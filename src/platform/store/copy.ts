/** COPY of rows out of and into Postgres, as streams in bounded memory. pg has no calls for it, only the protocol. */
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import pg from 'pg';

/** What pg's connection does beside its types. */
interface Wire {
  stream: Duplex;
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
}

/** The handlers that pg calls for the statement in hand. */
abstract class Copy implements pg.Submittable {
  readonly #text: string;
  readonly #done = Promise.withResolvers<void>();
  #failed = false;

  constructor(text: string) {
    this.#text = text;
    this.#done.promise.catch(() => {});
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  get failed(): boolean {
    return this.#failed;
  }

  submit(connection: pg.Connection): void {
    (connection as unknown as Wire).query(this.#text);
  }

  handleError(error: Error): void {
    this.#failed = true;
    this.#done.reject(error);
  }

  handleReadyForQuery(): void {
    this.#done.resolve();
  }

  handleCommandComplete(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(connection: Wire): void {
    connection.sendCopyFail('no rows were to be sent');
  }
  handleCopyData(): void {}
}

/** Above it the connection is paused until the reader has caught up. */
const MOST_HELD = 1_048_576;

class CopyOut extends Copy {
  readonly #rows: Buffer[] = [];
  #bytes = 0;
  #stream: Duplex | undefined;
  #more = Promise.withResolvers<void>();

  override handleCopyData({ chunk }: { chunk: Buffer } = { chunk: Buffer.alloc(0) }, connection?: Wire): void {
    // pg reuses the buffer that it gives.
    this.#rows.push(Buffer.from(chunk));
    this.#bytes += chunk.length;
    if (this.#bytes > MOST_HELD && connection) {
      this.#stream = connection.stream;
      this.#stream.pause();
    }
    this.#more.resolve();
  }

  async *rows(): AsyncGenerator<Buffer> {
    let ended = false;
    const end = this.done.then(
      () => (ended = true),
      () => (ended = true),
    );
    for (;;) {
      while (this.#rows.length > 0) {
        const rows = this.#rows.splice(0);
        this.#bytes = 0;
        yield Buffer.concat(rows);
      }
      this.#stream?.resume();
      this.#stream = undefined;
      if (ended) return this.done;
      await Promise.race([this.#more.promise, end]);
      this.#more = Promise.withResolvers();
    }
  }
}

/** A reader that stops early must end the connection. */
export const copyOut = (client: pg.Client, statement: string): AsyncGenerator<Buffer> =>
  client.query(new CopyOut(statement)).rows();

class CopyIn extends Copy {
  readonly #ready = Promise.withResolvers<Wire>();

  override handleCopyInResponse(connection: Wire): void {
    this.#ready.resolve(connection);
  }

  override handleError(error: Error): void {
    super.handleError(error);
    this.#ready.reject(error);
  }

  async send(rows: AsyncIterable<Buffer>): Promise<void> {
    const wire = await this.#ready.promise;
    const stop = new AbortController();
    void this.done.catch(() => {}).then(() => stop.abort());
    let sent = 0;
    try {
      for await (const chunk of rows) {
        if (this.failed || !wire.stream.writable) break;
        wire.sendCopyFromChunk(chunk);
        sent += chunk.length;
        // A connection that takes everything at once leaves no time to hear of an error otherwise.
        if (sent >= MOST_HELD) {
          sent = 0;
          await turn();
        }
        if (wire.stream.writableNeedDrain) await once(wire.stream, 'drain', { signal: stop.signal }).catch(() => {});
      }
    } catch (error) {
      wire.sendCopyFail('the rows could not be read');
      await this.done.catch(() => {});
      throw error;
    }
    if (!this.failed && wire.stream.writable) wire.endCopyFrom();
    await this.done;
  }
}

export const copyIn = (client: pg.Client, statement: string, rows: AsyncIterable<Buffer>): Promise<void> =>
  client.query(new CopyIn(statement)).send(rows);
