import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';

/**
 * Runs as a child process. An HTTPS origin behind a relay that is 40 ms away. The relay adds 20 ms each way and one
 * round trip per connection (that of TCP), and paces each connection at 100 Mbit/s. It answers the message
 * `listen` with one more port, to which nobody has a connection yet, `near` and `near https` with a port at no
 * distance, and any other with what it has sent since the last, and the requests for it. Arguments: folder, certificate
 * file, key file.
 */

const [folder = '.', certificate = '', key = ''] = process.argv.slice(2);
const oneWay = Number(process.env['BENCH_ONE_WAY_MS'] ?? 20);
const bytesPerMs = Number(process.env['BENCH_MBIT'] ?? 100) * 125;
/** The maximum in flight, which is twice the bandwidth-delay product of the line. */
const window = bytesPerMs * oneWay * 4;
/** Bytes that left the origin, and bytes that passed the line. */
let sent = 0;
let delivered = 0;
const sockets = new Set<() => void>();
let connections = 0;
let requests = 0;
/** By the wall clock, which the process that asks has, too. `end`: the last byte has left. */
export interface Asked {
  at: number;
  end: number | undefined;
  connection: number;
  what: string;
  bytes: number;
}
let asked: Asked[] = [];
const clock = (): number => performance.timeOrigin + performance.now();
/** Connections by the order in which they were made. */
const numbers = new WeakMap<Socket, number>();
let numbered = 0;

const serve: RequestListener = (request, response) => {
  requests++;
  const path = join(folder, decodeURIComponent(new URL(request.url ?? '/', 'http://h').pathname));
  let size: number;
  try {
    size = statSync(path).size;
  } catch {
    response.writeHead(404).end();
    return;
  }
  const match = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '');
  const isSuffix = match?.[1] === '';
  const from = match === null ? 0 : isSuffix ? Math.max(0, size - Number(match[2])) : Number(match[1]);
  const to = match?.[2] && !isSuffix ? Math.min(Number(match[2]), size - 1) : size - 1;
  if (from >= size) {
    response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
    return;
  }
  const range = match === null ? {} : { 'content-range': `bytes ${from}-${to}/${size}` };
  const one: Asked = {
    at: clock(),
    end: undefined,
    connection: numbers.get((request.socket as TLSSocket & { _parent?: Socket })._parent ?? request.socket) ?? 0,
    what: `${request.url} ${request.headers.range ?? 'all'}`,
    bytes: to - from + 1,
  };
  asked.push(one);
  response.on('close', () => {
    one.end = clock();
  });
  response.writeHead(match === null ? 200 : 206, {
    'accept-ranges': 'bytes',
    'content-length': to - from + 1,
    'content-type': 'application/octet-stream',
    ...range,
  });
  createReadStream(path, { start: from, end: to })
    .on('error', () => response.destroy())
    .pipe(response);
};

const origin = createHttps(
  { cert: readFileSync(certificate), key: readFileSync(key), keepAliveTimeout: 30_000 },
  serve,
);
const near = createHttp({ keepAliveTimeout: 30_000 }, serve).listen(0, '127.0.0.1');

/** Counted as by an origin, when handed to its system, which buffers some megabytes per connection. */
origin.on('connection', (socket: Socket) => {
  numbers.set(socket, ++numbered);
  let counted = 0;
  const count = (): void => {
    sent += socket.bytesWritten - counted;
    counted = socket.bytesWritten;
  };
  sockets.add(count);
  socket.on('close', () => {
    count();
    sockets.delete(count);
  });
});

/** Forwards chunks after the delay, in order and at the pace of the line. */
function line(from: Socket, to: Socket, paced: boolean): void {
  const queue: { chunk: Buffer | undefined; due: number }[] = [];
  let queued = 0;
  let free = 0;
  let timer: NodeJS.Timeout | undefined;
  const deliver = (): void => {
    timer = undefined;
    while (queue.length > 0 && queue[0]!.due <= performance.now()) {
      const { chunk } = queue.shift()!;
      if (chunk === undefined) {
        to.end();
        continue;
      }
      if (!to.destroyed) {
        to.write(chunk);
        if (paced) delivered += chunk.length;
      }
      queued -= chunk.length;
      if (queued <= window) from.resume();
    }
    if (queue.length > 0) timer = setTimeout(deliver, Math.max(1, queue[0]!.due - performance.now()));
  };
  const add = (chunk: Buffer | undefined): void => {
    free = Math.max(performance.now(), free) + (paced && chunk ? chunk.length / bytesPerMs : 0);
    queue.push({ chunk, due: free + oneWay });
    timer ??= setTimeout(deliver, Math.max(1, free + oneWay - performance.now()));
  };
  from.on('data', (chunk: Buffer) => {
    queued += chunk.length;
    if (queued > window) from.pause();
    add(chunk);
  });
  from.on('end', () => add(undefined));
}

function listen(): void {
  const { port } = origin.address() as AddressInfo;
  const relay = createServer({ pauseOnConnect: true, noDelay: true }, (client) => {
    connections++;
    client.on('error', () => {});
    setTimeout(() => {
      const server = connect({ port, host: '127.0.0.1', noDelay: true });
      server.on('error', () => client.destroy());
      // Data in flight is delivered before the end.
      server.on('close', () => setTimeout(() => client.destroy(), 5000).unref());
      client.on('close', () => server.destroy());
      line(client, server, false);
      line(server, client, true);
      client.resume();
    }, 2 * oneWay);
  });
  relay.listen(0, '127.0.0.1', () => process.send?.({ port: (relay.address() as AddressInfo).port }));
}
origin.listen(0, '127.0.0.1', listen);
process.on('message', (message) => {
  if (message === 'listen') {
    listen();
    return;
  }
  if (message === 'near' || message === 'near https') {
    process.send?.({ port: ((message === 'near' ? near : origin).address() as AddressInfo).port });
    return;
  }
  for (const count of sockets) count();
  process.send?.({ sent, delivered, connections, requests, asked });
  sent = delivered = connections = requests = numbered = 0;
  asked = [];
});
process.on('disconnect', () => process.exit(0));
