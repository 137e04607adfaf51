/** The HTTP server of the API: its limits, its responses to malformed requests, and its shutdown. */
import { createServer, STATUS_CODES, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { closeSlowSockets, type SlowSocketOptions } from './slow_sockets.ts';

export interface HttpServer {
  port: number;
  /**
   * Accepts no new connections; resolves when every request is answered, or after `withinMs`, when the rest is closed.
   */
  close(withinMs: number): Promise<void>;
}

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

/** Node's own time-out for requests is one for all of them. */
function bodyDeadline(request: IncomingMessage, late: () => void): void {
  if (request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined) return;
  const timer = setTimeout(late, REQUEST_MS);
  timer.unref();
  deadlines.set(request, timer);
  const done = (): void => clearTimeout(timer);
  request.once('end', done).once('close', done);
}

const answerTo = (code: string | undefined): [status: number, text: string] => {
  if (code === 'HPE_HEADER_OVERFLOW') return [400, 'the headers or the query are too large'];
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [400, 'the request timed out'];
  return [400, 'not a valid HTTP request'];
};

function refuse(newId: () => string, error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const [status, text] = answerTo(error.code);
  const body = JSON.stringify({ error: text });
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${newId()}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

export async function listen(
  handler: RequestListener,
  at: { host: string | undefined; port: number },
  newId: () => string,
  slow: SlowSocketOptions = {},
): Promise<HttpServer> {
  const server: Server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: REQUEST_MS,
      requestTimeout: 0,
      noDelay: true,
    },
    (request, response) => {
      bodyDeadline(request, () => {
        const error = Object.assign(new Error('the body is late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
        if (response.headersSent) request.socket.destroy();
        else refuse(newId, error, request.socket);
      });
      return handler(request, response);
    },
  );
  closeSlowSockets(server, slow);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => refuse(newId, error, socket));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: at.port, ...(at.host === undefined ? {} : { host: at.host }) }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: (withinMs) =>
      new Promise((resolve) => {
        const cut = setTimeout(() => server.closeAllConnections(), withinMs);
        server.close(() => {
          clearTimeout(cut);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}
