import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

/** A real origin on 127.0.0.1 that records its requests. */
export interface Origin {
  port: number;
  url: string;
  requests: {
    method: string;
    path: string;
    host: string;
    range: string | undefined;
    authorization: string | undefined;
    headers: IncomingMessage['headers'];
  }[];
  connections: number;
  close(): Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse, path: string) => void;

export async function startOrigin(handler: Handler, tls?: { cert: string; key: string }): Promise<Origin> {
  const origin: Origin = { port: 0, url: '', requests: [], connections: 0, close: () => Promise.resolve() };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    const { method = '', url = '', headers } = request;
    origin.requests.push({
      method,
      path: url,
      host: headers.host ?? '',
      range: headers.range,
      authorization: headers.authorization,
      headers,
    });
    response.on('error', () => {});
    handler(request, response, url);
  };
  const server: Server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    origin.connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin.port = (server.address() as AddressInfo).port;
  origin.url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${origin.port}`;
  origin.close = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return origin;
}

/** Bytes that encode their offset, so that a misplaced piece is detected. */
export function pattern(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let i = 0; i + 4 <= length; i += 4) bytes.writeUInt32BE((i ^ 0x5bd1e995) >>> 0, i);
  return bytes;
}

/** Answers like a good file server, with ranges. */
export function sendFile(
  body: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
  headers: Record<string, string> = {},
): void {
  const match = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  if (match === null) {
    response
      .writeHead(200, { 'accept-ranges': 'bytes', 'content-length': body.length, etag: '"one"', ...headers })
      .end(body);
    return;
  }
  const from = Number(match[1]);
  const to = Math.min(match[2] === '' ? Infinity : Number(match[2]), body.length - 1);
  if (from > to) {
    response.writeHead(416, { 'content-range': `bytes */${body.length}` }).end();
    return;
  }
  response
    .writeHead(206, {
      'accept-ranges': 'bytes',
      'content-length': to - from + 1,
      'content-range': `bytes ${from}-${to}/${body.length}`,
      etag: '"one"',
      ...headers,
    })
    .end(body.subarray(from, to + 1));
}

const LONGEST_HEAD = 500;

/** A response over TLS that is ended in the middle was read to the end of its record. */
export const TLS_RECORD = 16 * 1024 + 64;

/**
 * Asserts that bodies of this length were read, each once, and nothing else but the heads of their responses, and of
 * each what came behind the part that was wanted.
 */
export function assertRead({ bytes, requests }: { bytes: number; requests: number }, length: number, behind = 0): void {
  const more = bytes - length;
  assert.ok(
    more > 0 && more <= requests * (LONGEST_HEAD + behind),
    `${bytes} bytes of ${length} in ${requests} responses`,
  );
}

/** Closes everything that was added, in reverse order, at the end of a test. */
export class Cleanup {
  readonly #list: (() => unknown)[] = [];
  add<T extends { close(): unknown }>(what: T): T {
    this.#list.push(() => what.close());
    return what;
  }
  async run(): Promise<void> {
    for (const close of this.#list.splice(0).toReversed()) await close();
  }
}
