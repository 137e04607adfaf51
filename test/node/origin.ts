/**
 * A small origin on the host's address of the pod bridge, the only private address that the local installation allows.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';

export interface Origin {
  url: string;
  requests: { path: string; range: string | undefined }[];
  close(): Promise<void>;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** Serves the files of a folder with byte ranges, or the responses of a handler. */
export async function startOrigin(host: string, from: string | Handler, port = 0): Promise<Origin> {
  const requests: Origin['requests'] = [];
  const handler: Handler = typeof from === 'string' ? (request, response) => serveFile(from, request, response) : from;
  const server: Server = createServer((request, response) => {
    requests.push({ path: request.url ?? '', range: request.headers.range });
    Promise.resolve(handler(request, response)).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${bound}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export async function serveFile(folder: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const name = basename(decodeURIComponent((request.url ?? '').split('?')[0] ?? ''));
  const path = join(folder, name);
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) {
    response.writeHead(404).end('not here');
    return;
  }
  serveContent(await readFile(path), request, response, {
    'content-type': 'application/octet-stream',
    etag: `"${found.size}-${found.mtimeMs}"`,
  });
}

/** Sends the content, or the requested byte range. */
export function serveContent(
  content: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
  more: Record<string, string> = {},
): void {
  const range = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '');
  const headers = { ...more, 'accept-ranges': 'bytes' };
  if (!range || (range[1] === '' && range[2] === '')) {
    response.writeHead(200, { ...headers, 'content-length': content.length });
    response.end(request.method === 'HEAD' ? undefined : content);
    return;
  }
  const first = range[1] === '' ? Math.max(0, content.length - Number(range[2])) : Number(range[1]);
  const last = range[1] === '' || range[2] === '' ? content.length - 1 : Math.min(Number(range[2]), content.length - 1);
  if (first > last) {
    response.writeHead(416, { ...headers, 'content-range': `bytes */${content.length}` }).end();
    return;
  }
  response.writeHead(206, {
    ...headers,
    'content-range': `bytes ${first}-${last}/${content.length}`,
    'content-length': last - first + 1,
  });
  response.end(request.method === 'HEAD' ? undefined : content.subarray(first, last + 1));
}
