/** The port from which runners read uploaded files: what is stored, encrypted, to who has the token of that file. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { Spool } from './spool.ts';

/** Reads of one runner run side by side, and there are few uploads. */
const MOST_CONNECTIONS = 1_024;
const IDLE_MS = 30_000;

const refuse = (response: ServerResponse, status: number): void => void response.writeHead(status).end();

async function answer(spool: Spool, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = /^\/([0-9a-f]{32})$/.exec(request.url ?? '')?.[1];
  const token = /^Bearer ([\w-]{43})$/.exec(request.headers.authorization ?? '')?.[1];
  const range = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(request.headers.range ?? '');
  if (request.method !== 'GET' || id === undefined || token === undefined || range === null)
    return refuse(response, 404);
  const [start, end] = [Number(range[1]), Number(range[2])];
  const file = spool.read(id, token, { start, end });
  if (file === undefined) return refuse(response, 404);
  if (start > end || end >= file.size) return refuse(response, 416);
  response.writeHead(206, { 'content-length': end - start + 1, 'content-type': 'application/octet-stream' });
  await pipeline(file.open(), response);
}

export type UploadServer = Awaited<ReturnType<typeof serveUploads>>;

export async function serveUploads(spool: Spool, at: { host?: string | undefined; port: number }) {
  const server: Server = createServer(
    { maxHeaderSize: 4_096, requestTimeout: 10_000, headersTimeout: 10_000, keepAliveTimeout: 15_000 },
    (request, response) => {
      // A runner that reads too slowly, or a socket that breaks: the runner asks again.
      answer(spool, request, response).catch(() => response.destroy());
    },
  );
  server.maxConnections = MOST_CONNECTIONS;
  server.on('connection', (socket) => socket.setTimeout(IDLE_MS, () => socket.destroy()));
  server.on('clientError', (_error, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: at.port, ...(at.host === undefined ? {} : { host: at.host }) }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close(): Promise<void> {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
