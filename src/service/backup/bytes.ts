/** Streams of bytes in bounded memory: reading exact amounts, and passing through a transform. */
import { pipeline, type Duplex } from 'node:stream';

export type Bytes = AsyncIterable<Buffer>;

export class ByteReader {
  readonly #source: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);
  #ended = false;

  constructor(source: Bytes) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Fewer than `count` only at the end of the stream. */
  async upTo(count: number): Promise<Buffer> {
    const parts = [this.#held];
    let length = this.#held.length;
    while (length < count && !this.#ended) {
      const { value, done } = await this.#source.next();
      if (done === true) this.#ended = true;
      else {
        parts.push(value);
        length += value.length;
      }
    }
    const all = parts.length === 1 ? this.#held : Buffer.concat(parts, length);
    this.#held = all.subarray(count);
    return all.subarray(0, count);
  }

  /** A line without its end; undefined if there is none within `most` bytes. */
  async line(most: number): Promise<string | undefined> {
    let text = '';
    while (text.length < most) {
      const [byte] = await this.upTo(1);
      if (byte === undefined) return undefined;
      if (byte === 0x0a) return text;
      text += String.fromCharCode(byte);
    }
    return undefined;
  }

  async *rest(): AsyncGenerator<Buffer> {
    if (this.#held.length > 0) yield this.#held;
    this.#held = Buffer.alloc(0);
    while (!this.#ended) {
      const { value, done } = await this.#source.next();
      if (done === true) this.#ended = true;
      else yield value;
    }
  }

  /** Ends the source where it is not read to its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    await this.#source.return?.();
  }
}

/** What a transform of Node makes of a stream. An error of either side ends both, and is the reader's to handle. */
export const through = (source: Bytes, transform: Duplex): Bytes => pipeline(source, transform, () => {});

/** Pieces of exactly `size` bytes, except the last one. Nothing comes of an empty stream. */
export async function* pieces(source: Bytes, size: number): AsyncGenerator<Buffer> {
  const reader = new ByteReader(source);
  for (;;) {
    const piece = await reader.upTo(size);
    if (piece.length > 0) yield piece;
    if (piece.length < size) return;
  }
}

export async function* of(...parts: (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield typeof part === 'string' ? Buffer.from(part) : part;
}
