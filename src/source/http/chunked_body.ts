/** Decodes a body in chunks, from a host that may be hostile: framing is bounded. */
import { tooMuchFraming } from '../failures.ts';
import { LONGEST_HEAD, ResponseError } from './response_head.ts';

/** A size of twelve digits, blanks and an extension. Of trailers, a line is as long as one of a head. */
const LONGEST_SIZE = 12 + 256;
/**
 * Bytes that are no data, beside twice the data. A chunk of one byte has five of them, so a body of such chunks is read
 * up to 350 kB: a playlist, but no media.
 */
const FRAMING = 1 << 20;

export class ChunkedBody {
  /** Of the current chunk, which are still to come. */
  #left = 0;
  #line = '';
  #reads: 'size' | 'data' | 'end of data' | 'trailer' | 'nothing' = 'size';
  #trailers = 0;
  #data = 0;
  #framing = 0;

  get isComplete(): boolean {
    return this.#reads === 'nothing';
  }

  /**
   * Passes on what `bytes` have of the body as one piece, moved together in place: a paused reader's 75 KB took 9 MB in
   * chunks of one byte. Returns how many of `bytes` belong to the body.
   */
  take(bytes: Buffer, pass: (data: Buffer) => void): number {
    let at = 0;
    let [from, to] = [0, 0];
    while (at < bytes.length && !this.isComplete) {
      if (this.#reads === 'data') {
        const length = Math.min(this.#left, bytes.length - at);
        if (from === to) from = to = at;
        else bytes.copyWithin(to, at, at + length);
        to += length;
        at += length;
        this.#left -= length;
        this.#data += length;
        if (this.#left === 0) this.#reads = 'end of data';
        continue;
      }
      const end = bytes.indexOf(10, at);
      const next = end === -1 ? bytes.length : end + 1;
      if (this.#line.length + next - at > (this.#reads === 'trailer' ? LONGEST_HEAD : LONGEST_SIZE))
        throw tooMuchFraming('line of a chunk');
      this.#line += bytes.toString('latin1', at, next);
      this.#framing += next - at;
      if (this.#framing > 2 * this.#data + FRAMING) throw tooMuchFraming(`${this.#data} bytes of data`);
      at = next;
      if (end === -1) break;
      const line = this.#line;
      this.#line = '';
      if (!line.endsWith('\r\n')) throw new ResponseError('line of a chunk');
      this.#read(line.slice(0, -2));
    }
    if (to > from) pass(bytes.subarray(from, to));
    return at;
  }

  #read(line: string): void {
    if (this.#reads === 'size') {
      const size = /^([0-9a-f]{1,12})[\t ]*(?:;.*)?$/i.exec(line)?.[1];
      if (size === undefined) throw new ResponseError('size of a chunk');
      this.#left = parseInt(size, 16);
      this.#reads = this.#left === 0 ? 'trailer' : 'data';
    } else if (this.#reads === 'end of data') {
      if (line !== '') throw new ResponseError('end of a chunk');
      this.#reads = 'size';
    } else {
      this.#trailers += line.length + 2;
      if (this.#trailers > LONGEST_HEAD) throw tooMuchFraming('trailers');
      if (line === '') this.#reads = 'nothing';
    }
  }
}
