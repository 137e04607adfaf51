/** HTTP/1.1 with an origin, one request at a time. */
import type { Socket } from 'node:net';
import { unreachable } from '../error.ts';
import {
  answerTimeout,
  brokenConnection,
  endlessInterim,
  noAnswer,
  sourceClosed,
  tooMuchFraming,
  wrongProtocol,
} from '../failures.ts';
import { Backlog } from '../protocols/backlog.ts';
import { OriginAnswer } from './answer.ts';
import { headEnd, LONGEST_HEAD, parseHead, ResponseError, type ResponseHead } from './response_head.ts';

/** The origin closed a kept connection meanwhile, or had sent bytes on it before: the request may be sent again. */
export class StaleConnection extends Error {}

/**
 * Usually one or two precede a response. Reading a flood of them would occupy the event loop. Together they may be as
 * long as one head.
 */
const MOST_INTERIM = 16;

/**
 * What is read of any connection passes through it, unless it is read into memory of a page. Each buffer of its own
 * for 64 KB would have the garbage collector run through the whole heap every 30 MB.
 */
const PASSAGE = Buffer.allocUnsafeSlow(65_536);

interface Asking {
  resolve(answer: OriginAnswer): void;
  reject(error: Error): void;
  /** The connection has taken a request before. */
  reused: boolean;
  late: NodeJS.Timeout;
  signal: AbortSignal;
}

export interface RequestOptions {
  timeoutMs: number;
  signal: AbortSignal;
  /** Called with what each read of the socket brings, heads and framing included; of TLS, deciphered. May throw. */
  received(count: number): void;
}

interface Reading {
  answer: OriginAnswer;
  /** Bytes of the body that are still to come, or how it is decoded. */
  left: number | ChunkedBody | 'close';
  keepsAlive: boolean;
}

/**
 * A connection to an origin: one request at a time. In place of Node's client, which makes two buffers of each piece of
 * a body: bodies are read into the memory of their pages.
 */
export class Connection {
  readonly #changed: (connection: Connection) => void;
  #socket: Socket | undefined;
  #asking: Asking | undefined;
  #reading: Reading | undefined;
  #into: Buffer = PASSAGE;
  /** The beginning of a head. */
  #head: Backlog | undefined;
  #interim = 0;
  #interimBytes = 0;
  #used = false;
  #paused = false;
  #dead = false;
  #isClosed = false;
  #keptMs: number | undefined;
  /** Of the last request: what the host sends after its answer counts to it as well. */
  #received: (count: number) => void = () => {};
  #quiet: Promise<void> | undefined;

  /** For the socket that this connection gets. */
  readonly onread = {
    buffer: (): Buffer => (this.#into = this.#next()),
    callback: (count: number, buffer: Uint8Array): boolean => {
      this.#take(count, buffer as Buffer);
      return true;
    },
  };

  /** `changed`: it can take a request again, is paused, or is closed. */
  constructor(changed: (connection: Connection) => void) {
    this.#changed = changed;
  }

  /** `reads`: the socket passes on what it reads as a stream does, and not by `onread`. */
  attach(socket: Socket, reads: boolean): void {
    this.#socket = socket;
    if (reads) socket.on('data', (bytes: Buffer) => this.#take(bytes.length, bytes));
    socket
      .on('end', () => this.#ended())
      .on('error', (error: NodeJS.ErrnoException) => this.#fail(undefined, error))
      .on('timeout', () => this.isIdle && this.close())
      .on('close', () => {
        this.#isClosed = true;
        this.#fail();
      });
    // What it said before it was asked is no answer.
    if (this.#dead) socket.destroy();
  }

  get isOpen(): boolean {
    return !this.#dead && this.#socket !== undefined && !this.#socket.destroyed && this.#socket.readable;
  }

  get isIdle(): boolean {
    return this.isOpen && this.#asking === undefined && this.#reading === undefined;
  }

  /** Whoever reads from it takes no more for now. */
  get isPaused(): boolean {
    return this.#paused;
  }

  /** It has taken no request yet. */
  get isFresh(): boolean {
    return !this.#used;
  }

  /** How long it may stay without a request; `most`: by our own rules. */
  rest(most: number): void {
    const ms = Math.min(most, (this.#keptMs ?? Infinity) - 1000);
    if (ms <= 0) this.close();
    else this.#socket?.setTimeout(ms).unref();
  }

  /** `text`: the whole request, in Latin-1. */
  async ask(text: string, { timeoutMs, signal, received }: RequestOptions): Promise<OriginAnswer> {
    await this.#quiet;
    return new Promise((resolve, reject) => {
      if (signal.aborted || !this.isOpen) {
        reject(signal.aborted ? sourceClosed() : this.#used ? new StaleConnection('ECONNRESET') : noAnswer());
        this.#changed(this);
        return;
      }
      const late = setTimeout(() => this.#fail(answerTimeout()), timeoutMs);
      this.#asking = { resolve, reject, reused: this.#used, late, signal };
      this.#used = true;
      this.#received = received;
      this.#interim = this.#interimBytes = 0;
      signal.addEventListener('abort', this.#aborted, { once: true });
      this.#socket!.setTimeout(0).ref();
      this.#socket!.write(text, 'latin1');
    });
  }

  close(error?: Error): void {
    this.#fail(error);
  }

  /** Reading goes on after a pause. */
  #resumed(answer: OriginAnswer): void {
    if (this.#reading?.answer === answer) this.#resume();
  }

  /**
   * Whoever reads this answer has left: what is still to come of it is of no use. `left`: nothing more is read into its
   * memory. What TLS has deciphered it writes there to the last byte, although the socket is destroyed meanwhile.
   */
  #left(answer: OriginAnswer, left: () => void): void {
    if (this.#reading?.answer === answer) this.#fail();
    if (this.#dead && !this.#isClosed) this.#socket!.once('close', left);
    else left();
  }

  readonly #aborted = (): void => this.#fail(sourceClosed());

  /** Where the next bytes are read into. */
  #next(): Buffer {
    const left = this.#reading?.left;
    const space = typeof left === 'number' ? this.#reading!.answer.space(left) : undefined;
    return space ?? PASSAGE;
  }

  #take(count: number, buffer: Buffer): void {
    try {
      this.#received(count);
      if (buffer === this.#into && buffer !== PASSAGE) this.#filled(count);
      else this.#read(buffer.subarray(0, count));
    } catch (error) {
      this.#fail(error instanceof ResponseError ? this.#nonsense(error) : (error as Error));
    }
  }

  /** Bytes of the body that are where they belong. */
  #filled(count: number): void {
    const reading = this.#reading!;
    reading.left = (reading.left as number) - count;
    reading.answer.filled(count);
    if (reading.left === 0 && this.#reading === reading) this.#complete();
  }

  #read(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0 && !this.#dead) {
      if (this.#asking !== undefined) rest = this.#readHead(rest);
      else if (this.#reading !== undefined) rest = this.#readBody(this.#reading, rest);
      else {
        // Without a request there is nothing to say.
        this.#fail(wrongProtocol('HTTP', { detail: 'bytes without a request' }));
        return;
      }
    }
  }

  #readHead(bytes: Buffer): Buffer {
    const before = this.#head?.length ?? 0;
    this.#head?.append(bytes);
    const all = this.#head?.bytes ?? bytes;
    const end = headEnd(all, before);
    if ((end ?? all.length) > LONGEST_HEAD)
      throw unreachable('head', 'the head of the answer of the host is longer than 16 KB');
    if (end === undefined) {
      if (this.#head === undefined) (this.#head = new Backlog()).append(bytes);
      return all.subarray(all.length);
    }
    this.#head = undefined;
    const head = parseHead(all.toString('latin1', 0, end));
    if (head.status === 101) throw new ResponseError('another protocol');
    if (head.status >= 200) this.#answer(head);
    else {
      this.#interimBytes += end;
      if (++this.#interim > MOST_INTERIM || this.#interimBytes > LONGEST_HEAD) throw endlessInterim();
    }
    return all.subarray(end + 4);
  }

  #answer({ status, headers, body, keepsAlive, keptMs }: ResponseHead): void {
    const giver = {
      resume: (): void => this.#resumed(answer),
      leave: (left: () => void): void => this.#left(answer, left),
    };
    const answer: OriginAnswer = new OriginAnswer(status, headers, giver, 65_536);
    this.#keptMs = keptMs;
    this.#reading = { answer, left: body === 'chunked' ? new ChunkedBody() : body, keepsAlive };
    const { resolve } = this.#endAsking()!;
    resolve(answer);
    if (body === 0) this.#complete();
  }

  #readBody(reading: Reading, bytes: Buffer): Buffer {
    const { answer, left } = reading;
    if (left instanceof ChunkedBody) {
      const taken = left.take(bytes, (data) => this.#pass(answer, data));
      if (left.isComplete && this.#reading === reading) this.#complete();
      return bytes.subarray(taken);
    }
    const body = left === 'close' ? bytes : bytes.subarray(0, left);
    if (left !== 'close') reading.left = left - body.length;
    this.#pass(answer, body);
    if (reading.left === 0 && this.#reading === reading) this.#complete();
    return bytes.subarray(body.length);
  }

  #pass(answer: OriginAnswer, bytes: Buffer): void {
    if (answer.give(bytes, true)) return;
    if (this.#paused) return;
    this.#paused = true;
    this.#socket?.pause();
    this.#changed(this);
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket?.resume();
  }

  #complete(): void {
    const { answer, keepsAlive } = this.#reading!;
    this.#reading = undefined;
    answer.finish();
    if (!keepsAlive) {
      this.#fail();
      return;
    }
    this.#resume();
    // What the host has sent beyond this answer is read first, or it would be the answer to the next request.
    this.#quiet = new Promise((resolve) => setImmediate(resolve));
    this.#changed(this);
  }

  /** The host says nothing more. */
  #ended(): void {
    if (this.#reading?.left === 'close') {
      this.#reading.keepsAlive = false;
      this.#complete();
    } else this.#fail();
  }

  #endAsking(): Asking | undefined {
    const asking = this.#asking;
    if (asking === undefined) return undefined;
    this.#asking = undefined;
    clearTimeout(asking.late);
    asking.signal.removeEventListener('abort', this.#aborted);
    return asking;
  }

  #fail(error?: Error, cause?: NodeJS.ErrnoException): void {
    if (this.#dead) return;
    this.#dead = true;
    const asking = this.#endAsking();
    const reading = this.#reading;
    this.#reading = undefined;
    this.#socket?.destroy();
    if (asking !== undefined) asking.reject(error ?? this.#unanswered(asking, cause));
    reading?.answer.destroy(error ?? brokenConnection());
    this.#changed(this);
  }

  /** On a kept connection it may be more of the answer before: an empty line, or a body longer than declared. */
  #nonsense(cause: ResponseError): Error {
    return this.#asking?.reused === true && this.#interim === 0
      ? new StaleConnection(cause.message)
      : wrongProtocol('HTTP', { detail: cause.message, cause });
  }

  #unanswered({ reused }: Asking, cause: NodeJS.ErrnoException | undefined): Error {
    const detail = cause?.code ?? 'ECONNRESET';
    return reused && this.#head === undefined && this.#interim === 0
      ? new StaleConnection(detail)
      : noAnswer({ detail, cause });
  }
}

// Decodes a body in chunks, from a host that may be hostile: framing is bounded.

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
