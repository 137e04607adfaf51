/** The HTTP server of the API: its limits, its responses to malformed requests, and its shutdown. */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { Tally } from '../../../base/tally.ts';
import { siteOf } from '../../accounts/networks.ts';

// Closes connections of callers that read too slowly: a response is held until its socket has taken it, so a caller who
// reads a byte a second would hold its memory for hours. A connection with nothing to send is never slow.

const LEAST_BYTES_PER_S = 64_000;
const OVER_MS = 30_000;
/** The kernel takes data for a slow caller in bursts, so the whole period counts, sampled in steps. */
const STEPS = 6;

/** Bytes that the caller has taken at a point in time. */
interface Progress {
  at: number;
  taken: number;
}

/** Pure. `history`: one entry per sample with unsent data, oldest first. */
export function isSlow(history: readonly Progress[], overMs = OVER_MS): boolean {
  const last = history.at(-1);
  const first = history.findLast(({ at }) => last !== undefined && last.at - at >= overMs);
  if (!first || !last) return false;
  return last.taken - first.taken < (LEAST_BYTES_PER_S * (last.at - first.at)) / 1_000;
}

interface SlowSocketOptions {
  overMs?: number;
  onClosed?: () => void;
}

function closeSlowSockets(server: Server, { overMs = OVER_MS, onClosed = () => {} }: SlowSocketOptions): void {
  const histories = new Map<Socket, Progress[]>();
  server.on('connection', (socket: Socket) => {
    histories.set(socket, []);
    socket.once('close', () => histories.delete(socket));
  });
  const look = (): void => {
    const at = performance.now();
    for (const [socket, history] of histories) {
      // Data written but not yet taken by the kernel.
      if (socket.writableLength === 0) {
        history.length = 0;
        continue;
      }
      history.push({ at, taken: socket.bytesWritten - socket.writableLength });
      if (history.length > 2 * STEPS) history.shift();
      if (!isSlow(history, overMs)) continue;
      onClosed();
      socket.destroy();
    }
  };
  const timer = setInterval(look, overMs / STEPS);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}

export type HttpServer = Awaited<ReturnType<typeof listen>>;

/** A source of 8192 characters takes up to three times that in a query. */
const MAX_HEADER_BYTES = 64 * 1024;
/**
 * Longer than the time-out of load balancers, so that they close idle connections, and not this server during their
 * next request.
 */
const KEEP_ALIVE_MS = 75_000;
/** For the whole request, with at most a megabyte of body: a slow sender cannot hold a connection longer. */
const REQUEST_MS = 60_000;

const deadlines = new WeakMap<IncomingMessage, NodeJS.Timeout>();

/** The body is read as a stream, by a reader that bounds its time itself (upload_form.ts). */
export const withoutDeadline = (request: IncomingMessage): void => clearTimeout(deadlines.get(request));

/** An unread body up to this size is read and dropped, so that the connection can be used again. */
const MOST_DROPPED_BYTES = 64 * 1024;

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/**
 * A caller that goes on sending would see a broken connection instead of the answer: `fetch` of Node with 200 MB got it
 * in 0 of 20 calls, and in 59 of 60 with two seconds.
 */
const LINGER_MS = 5_000;

function isUnread(request: IncomingMessage): boolean {
  const { headers, complete, readableDidRead } = request;
  if (complete || !hasBody(request)) return false;
  // After `Expect` the body may come nevertheless, or the next request. Node drops no body that was begun.
  if (headers.expect !== undefined || readableDidRead) return true;
  return (Number(headers['content-length']) || Infinity) > MOST_DROPPED_BYTES;
}

/** For a refusal before the whole body was read: no more of it is read, and the connection ends with the answer. */
export function closeIfUnread(request: IncomingMessage, response: ServerResponse): void {
  if (!isUnread(request)) return;
  const { socket } = request;
  response.setHeader('Connection', 'close');
  if (request.headers.expect !== undefined) return;
  socket.destroySoon = () => {
    request._read = () => {};
    socket.pause();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
}

/**
 * `Expect: 100-continue`: the caller sends its body once it is read, so that a refusal before that costs nothing. Node
 * itself would send 100 at once.
 */
function continueOnceRead(request: IncomingMessage, response: ServerResponse): void {
  const read = request._read.bind(request);
  request._read = (size) => {
    request._read = read;
    // After an answer Node reads what is left of a body.
    if (!response.headersSent) response.writeContinue();
    read(size);
  };
}

/** Node's own time-out for requests is one for all of them. */
function bodyDeadline(request: IncomingMessage, late: () => void): void {
  if (!hasBody(request)) return;
  const timer = setTimeout(late, REQUEST_MS);
  timer.unref();
  deadlines.set(request, timer);
  const done = (): void => clearTimeout(timer);
  request.once('end', done).once('close', done);
}

const WHAT_IS_WRONG: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'the headers or the query are too large',
  ERR_HTTP_REQUEST_TIMEOUT: 'the request timed out',
};

function refuse(newId: () => string, error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const body = JSON.stringify({ error: WHAT_IS_WRONG[error.code ?? ''] ?? 'not a valid HTTP request' });
  socket.end(
    [
      'HTTP/1.1 400 Bad Request',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${newId()}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

interface ConnectionBounds {
  most: number;
  /** Whether the address of a connection is that of a caller. */
  byAddress: boolean;
  onRefused(by: 'address' | 'replica'): void;
}

/** An address alone has at most half of the connections, a further one half of the rest. */
function boundConnections(server: Server, { most, byAddress, onRefused }: ConnectionBounds): void {
  server.maxConnections = most;
  server.on('drop', () => onRefused('replica'));
  if (!byAddress) return;
  const connections = new Tally<string>();
  server.on('connection', (socket: Socket) => {
    const site = siteOf(socket.remoteAddress ?? '');
    connections.add(site);
    socket.once('close', () => connections.add(site, -1));
    if (connections.of(site) - 1 < most - (connections.total - 1)) return;
    onRefused('address');
    socket.destroy();
  });
}

/** Node's `pipeline` of a body that is a stream adds 7 of `close`; this server up to 5: its log, trace and bounds. */
const LISTENERS = 16;

interface ListenOptions extends SlowSocketOptions {
  connections?: ConnectionBounds;
}

export async function listen(
  handler: RequestListener,
  at: { host: string | undefined; port: number },
  newId: () => string,
  { connections, ...slow }: ListenOptions = {},
) {
  const respond = (request: IncomingMessage, response: ServerResponse): void => {
    response.setMaxListeners(LISTENERS);
    bodyDeadline(request, () => {
      const error = Object.assign(new Error('the body is late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      if (response.headersSent) request.socket.destroy();
      else refuse(newId, error, request.socket);
    });
    handler(request, response);
  };
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: REQUEST_MS,
      requestTimeout: 0,
      noDelay: true,
    },
    respond,
  );
  server.on('checkContinue', (request, response) => {
    continueOnceRead(request, response);
    respond(request, response);
  });
  if (connections) boundConnections(server, connections);
  closeSlowSockets(server, slow);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => refuse(newId, error, socket));
  server.listen(at.port, at.host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    /**
     * Accepts no new connections; resolves when every request is answered, or after `withinMs`, when the rest is
     * closed.
     */
    close: (withinMs: number) =>
      new Promise<void>((resolve) => {
        const cut = setTimeout(() => server.closeAllConnections(), withinMs);
        server.close(() => {
          clearTimeout(cut);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}
