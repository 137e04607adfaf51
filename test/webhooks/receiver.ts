/** A receiver of webhooks on 127.0.0.1, which answers as the test says and records what arrives. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A signing secret as its owner sees it. */
export const secretText = (secret: Buffer): string => `whsec_${secret.toString('base64')}`;

export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}
export interface Receiver {
  port: number;
  url: string;
  received: Received[];
  /** The answer to the following webhooks. */
  answer: (response: ServerResponse, received: Received) => void;
  close(): Promise<void>;
}

export async function startReceiver(tls?: ServerOptions): Promise<Receiver> {
  const received: Received[] = [];
  const listener: RequestListener = (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const one = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(parts).toString(),
      };
      received.push(one);
      receiver.answer(response, one);
    });
  };
  const server = tls ? createSecureServer(tls, listener) : createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    port,
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    received,
    answer: (response) => void response.writeHead(204).end(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}
