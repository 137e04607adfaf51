import type { Socket } from 'node:net';
import { within } from '../../../base/retry.ts';
import { SourceError } from '../../error.ts';
import {
  answerTimeout,
  noAnswer,
  sourceClosed,
  tooManyRedirects,
  unreadAnswers,
  wrongProtocol,
} from '../../failures.ts';
import type { SocketContext } from '../protocol.ts';
import { placeOf } from '../table.ts';
import { authorizationFor, challengeOf, isStale, type Challenge } from './auth.ts';
import { encodeRtsp, headerOf, RtspReader, type RtspFrame, type RtspMessage } from './message.ts';

export interface RtspResponse {
  status: number;
  reason: string;
  headers: RtspMessage['headers'];
  body: Buffer;
}

const MOST_REDIRECTS = 5;
/** Limit of outgoing data that the server does not read. */
const MOST_UNREAD = 64 << 10;

/**
 * A connection to a server, with the source's credentials for it and redirects followed, each to a checked address. One
 * request at a time.
 */
export class RtspUpstream {
  /** The current address of the stream. */
  base: string;
  readonly #context: SocketContext;
  readonly #home: string;
  readonly #onFrame: (frame: RtspFrame) => void;
  readonly #onClose: (error: SourceError | undefined) => void;
  #socket: Socket | undefined;
  #challenge: Challenge | undefined;
  #sequence = 0;
  #waiting:
    { sequence: number; resolve: (response: RtspResponse) => void; reject: (error: SourceError) => void } | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(
    context: SocketContext,
    onFrame: (frame: RtspFrame) => void,
    onClose: (error: SourceError | undefined) => void,
  ) {
    this.#context = context;
    this.base = context.source.url;
    this.#home = authorityOfUrl(this.base);
    this.#onFrame = onFrame;
    this.#onClose = onClose;
  }

  /** Requests are sent in order of the calls. */
  request(method: string, uri: string, headers: RtspMessage['headers'], body?: Buffer): Promise<RtspResponse> {
    const result = this.#last.then(() => this.#ask(method, uri, headers, body));
    this.#last = result.catch(() => {});
    return result;
  }

  /** A tool's own frames are reception reports: one that the server does not read in time is useless and dropped. */
  send(raw: Buffer): void {
    if (this.#socket !== undefined && this.#socket.writableLength <= MOST_UNREAD) this.#socket.write(raw);
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  close(): void {
    this.#closed = true;
    this.#waiting?.reject(sourceClosed());
    this.#socket?.destroy();
  }

  async #ask(
    method: string,
    asked: string,
    headers: RtspMessage['headers'],
    body: Buffer | undefined,
  ): Promise<RtspResponse> {
    let uri = asked;
    let tries = 0;
    for (let hop = 0; hop <= MOST_REDIRECTS;) {
      if (this.#closed) throw sourceClosed();
      this.#socket ??= await this.#connect();
      const response = await this.#exchange(method, uri, headers, body);
      if (
        response.status === 401 &&
        this.#mayLogIn() &&
        (tries++ === 0 || (tries === 2 && isStale(response.headers)))
      ) {
        this.#challenge = challengeOf(response.headers);
        if (this.#challenge !== undefined) continue;
      }
      const location = headerOf(response.headers, 'location');
      if (
        ![301, 302, 303, 305, 307, 308].includes(response.status) ||
        location === undefined ||
        (method !== 'DESCRIBE' && method !== 'OPTIONS')
      )
        return response;
      uri = this.#follow(uri, location);
      hop++;
    }
    throw tooManyRedirects(MOST_REDIRECTS);
  }

  #follow(uri: string, location: string): string {
    const match = /^(rtsps?):\/\/(?:[^/?#@]*@)?([^/?#@\s]+)([^\s#]*)$/i.exec(location);
    if (match === null)
      throw new SourceError('refused', 'the host redirects to an address that is not rtsp or rtsps', {
        reason: 'redirects',
      });
    const next = `${match[1]!.toLowerCase()}://${match[2]!.toLowerCase()}${match[3]!}`;
    const rest = uri.startsWith(this.base) ? uri.slice(this.base.length) : '';
    this.base = next;
    this.#challenge = undefined;
    const old = this.#socket;
    this.#socket = undefined;
    old?.removeAllListeners('close');
    old?.destroy();
    return next + rest;
  }

  /** The caller's credentials are sent only to the host that the caller named. */
  #mayLogIn(): boolean {
    return this.#context.source.credentials !== undefined && authorityOfUrl(this.base) === this.#home;
  }

  async #connect(): Promise<Socket> {
    const { host, port } = placeOf(this.base);
    const socket = await this.#context.dial(host, port, { secure: this.base.startsWith('rtsps:') });
    if (this.#closed) {
      socket.destroy();
      throw sourceClosed();
    }
    this.#context.count.request(true);
    const reader = new RtspReader();
    const gone = (error?: SourceError): void => {
      if (this.#socket !== socket) return;
      socket.destroy();
      this.#waiting?.reject(error ?? noAnswer());
      this.#waiting = undefined;
      this.#onClose(error);
    };
    socket.on('data', (bytes: Buffer) => {
      try {
        this.#context.count.bytes(bytes.length);
        for (const item of reader.read(bytes)) {
          if (item.kind === 'frame') this.#onFrame(item);
          else this.#message(item);
        }
      } catch (cause) {
        gone(cause instanceof SourceError ? cause : wrongProtocol('RTSP', { cause }));
      }
    });
    socket.on('error', () => gone()).on('close', () => gone());
    return socket;
  }

  #message({ start, headers, body }: RtspMessage): void {
    const match = /^RTSP\/1\.\d (\d{3}) ?(.*)$/.exec(start);
    const sequence = headerOf(headers, 'cseq');
    if (match === null) {
      if (this.#socket !== undefined && this.#socket.writableLength > MOST_UNREAD) throw unreadAnswers();
      // Servers may send keep-alive requests too.
      this.#socket?.write(
        encodeRtsp(start.startsWith('OPTIONS') ? 'RTSP/1.0 200 OK' : 'RTSP/1.0 501 Not Implemented', [
          ['CSeq', sequence ?? '0'],
        ]),
      );
      return;
    }
    const waiting = this.#waiting;
    if (waiting === undefined || (sequence !== undefined && Number(sequence) !== waiting.sequence)) return;
    this.#waiting = undefined;
    waiting.resolve({ status: Number(match[1]), reason: match[2] ?? '', headers, body: Buffer.from(body) });
  }

  #exchange(
    method: string,
    uri: string,
    headers: RtspMessage['headers'],
    body: Buffer | undefined,
  ): Promise<RtspResponse> {
    const sequence = ++this.#sequence;
    const own = headers.filter(([name]) => !['cseq', 'authorization'].includes(name.toLowerCase()));
    const { credentials } = this.#context.source;
    const login: RtspMessage['headers'] =
      this.#challenge && credentials && this.#mayLogIn()
        ? [['Authorization', authorizationFor(this.#challenge, credentials, method, uri)]]
        : [];
    const answer = Promise.withResolvers<RtspResponse>();
    this.#waiting = { sequence, ...answer };
    this.#socket!.write(encodeRtsp(`${method} ${uri} RTSP/1.0`, [['CSeq', String(sequence)], ...own, ...login], body));
    return within(this.#context.idleMs, answer.promise, () => {
      this.#waiting = undefined;
      return answerTimeout();
    });
  }
}

const authorityOfUrl = (url: string): string => `${url.slice(0, url.indexOf(':'))} ${placeOf(url).authority}`;
