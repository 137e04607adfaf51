/**
 * Relays RTSP for tools that speak it: the tool's connection ends here, and another leads to the server. Addresses are
 * translated, the relay logs in, and media uses the same connection, so a tool never connects elsewhere.
 */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { isSourceError, unreachable } from '../../error.ts';
import { offline, refusedStatus } from '../../failures.ts';
import type { Job, Login } from '../../job.ts';
import { encodeRtsp, headerOf, RtspReader, type RtspMessage } from './message.ts';
import { RtspUpstream, type RtspResponse } from './upstream.ts';

const METHODS: ReadonlySet<string> = new Set(
  'OPTIONS DESCRIBE SETUP PLAY PAUSE TEARDOWN GET_PARAMETER SET_PARAMETER'.split(' '),
);

/** Limit of queued requests. A normal tool has one or two. */
const MOST_WAITING = 32;

export async function startRtspRelay(loginOf: (secret: string) => Login | undefined) {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    serveConnection(socket, port, loginOf);
  });
  server.maxConnections = 64;
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async close(): Promise<void> {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

interface Connection {
  job: Job;
  tool: string;
  names: Names;
  upstream: RtspUpstream;
}

function serveConnection(socket: Socket, port: number, loginOf: (secret: string) => Login | undefined): void {
  const reader = new RtspReader();
  let connection: Connection | undefined;
  let silence: NodeJS.Timeout | undefined;

  const end = (): void => {
    clearTimeout(silence);
    connection?.job.signal.removeEventListener('abort', end);
    connection?.upstream.close();
    socket.destroy();
  };
  const failed = (error: unknown): void => {
    if (connection && !socket.destroyed) connection.job.failed(error, connection.job.main, connection.tool);
    end();
  };
  socket.on('close', end);
  socket.on('drain', () => {
    socket.resume();
    connection?.upstream.resume();
  });

  const open = (uri: string): Connection | undefined => {
    const match = new RegExp(`^rtsp://127\\.0\\.0\\.1:${port}/([0-9a-f]{32})/([A-Za-z0-9_-]{1,64})/`).exec(uri);
    const login = match === null ? undefined : loginOf(match[1]!);
    if (match === null || login === undefined || login.tool !== match[2] || login.job.protocol.relayedAs === undefined)
      return undefined;
    const { job, tool } = login;
    const upstream = new RtspUpstream(
      job.socketContext(job.verifies(tool), job.meter(tool)),
      ({ raw }) => {
        silence?.refresh();
        if (!socket.destroyed && !socket.write(raw)) upstream.pause();
      },
      (error) => (error ? failed(error) : socket.end()),
    );
    job.signal.addEventListener('abort', end, { once: true });
    return { job, tool, upstream, names: rtspNames(`${match[0]}${job.name}`, () => upstream.base) };
  };

  const answer = (request: RtspMessage, status: string, headers: RtspMessage['headers'] = [], body?: Buffer): void => {
    const bytes = encodeRtsp(
      `RTSP/1.0 ${status}`,
      [['CSeq', headerOf(request.headers, 'cseq') ?? '0'], ...headers],
      body,
    );
    // A tool that does not read its responses sends no more requests.
    if (!socket.write(bytes)) socket.pause();
  };

  const handle = async (request: RtspMessage): Promise<void> => {
    const [method = '', uri = ''] = request.start.split(' ');
    connection ??= open(uri);
    if (connection === undefined) {
      answer(request, '404 Not Found');
      socket.end();
      return;
    }
    const { names, upstream, job, tool } = connection;
    const target = names.up(uri);
    if (!METHODS.has(method)) answer(request, '405 Method Not Allowed');
    else if (target === undefined) answer(request, '404 Not Found');
    else if (method === 'SETUP' && !overTcp(headerOf(request.headers, 'transport')))
      answer(request, '461 Unsupported Transport');
    else {
      const response = await upstream.request(
        method,
        target,
        request.headers.filter(([name]) => name.toLowerCase() !== 'host'),
        request.body,
      );
      if (socket.destroyed) return;
      if (response.status >= 400 && (method === 'DESCRIBE' || method === 'SETUP' || method === 'PLAY'))
        job.failed(refusedStatus(response.status), job.main, tool);
      else if (method === 'DESCRIBE') job.served(job.main, tool);
      if (method === 'SETUP' && response.status === 200 && !overTcp(headerOf(response.headers, 'transport')))
        throw unreachable('protocol', 'the host sends the stream over UDP only');
      if (method === 'PLAY' && response.status === 200) silence ??= setTimeout(() => failed(offline()), job.offlineMs);
      const body = /sdp|parameters/i.test(headerOf(response.headers, 'content-type') ?? '')
        ? Buffer.from(names.down(response.body.toString('latin1')), 'latin1')
        : response.body;
      answer(request, `${response.status} ${response.reason}`, headersFor(response, names), body);
    }
  };

  // Responses keep the order of requests: the server gets one at a time.
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  socket.on('data', (bytes: Buffer) => {
    try {
      for (const item of reader.read(bytes)) {
        if (item.kind === 'frame') connection?.upstream.send(item.raw);
        else if (waiting >= MOST_WAITING) {
          end();
          return;
        } else {
          waiting++;
          last = last
            .then(() => handle(item))
            .catch(refuse)
            .finally(() => waiting--);
        }
      }
    } catch {
      end();
    }
  });

  const refuse = (error: unknown): void => {
    const status = isSourceError(error) && error.code === 'refused' ? '403 Forbidden' : '503 Service Unavailable';
    if (connection && !socket.destroyed) connection.job.failed(error, connection.job.main, connection.tool);
    if (!socket.destroyed) socket.end(encodeRtsp(`RTSP/1.0 ${status}`, []));
    connection?.upstream.close();
  };
}

const overTcp = (transport: string | undefined): boolean =>
  transport !== undefined && transport.split(',').every((one) => /interleaved\s*=|\/TCP\b/i.test(one));

const DROPPED: ReadonlySet<string> = new Set(['cseq', 'www-authenticate', 'location', 'content-length']);
const ADDRESSED: ReadonlySet<string> = new Set(['content-base', 'content-location']);

function headersFor({ headers }: RtspResponse, names: Names): RtspMessage['headers'] {
  return headers
    .filter(([name]) => !DROPPED.has(name.toLowerCase()))
    .map(([name, value]) => [name, ADDRESSED.has(name.toLowerCase()) ? names.down(value) : names.down(value, true)]);
}

type Names = ReturnType<typeof rtspNames>;

const MOST = 64;

/**
 * The tool never sees the location of the source, or the contents of its query. `local`: the address that the tool was
 * started with; `base()`: the server's equivalent.
 */
export function rtspNames(local: string, base: () => string) {
  const others: string[] = [];
  const folder = local.slice(0, local.lastIndexOf('/'));

  const down = (found: string): string => {
    const url = found.replace(/^(rtsps?:\/\/)[^/?#@]*@/i, '$1');
    const own = base();
    if (url === own || (url.startsWith(own) && /^[/?]/.test(url.slice(own.length))))
      return local + url.slice(own.length);
    let at = others.indexOf(url);
    if (at === -1 && others.length < MOST) at = others.push(url) - 1;
    return at === -1 ? `${folder}/refused` : `${folder}/u${at}`;
  };

  return {
    /** The server's address for one that the tool uses; undefined for one that it was not given. */
    up(uri: string): string | undefined {
      if (uri === '*' || uri === local) return uri === '*' ? uri : base();
      if (uri.startsWith(local) && /^[/?]/.test(uri.slice(local.length))) return base() + uri.slice(local.length);
      const match = uri.startsWith(`${folder}/u`) ? /^(\d{1,3})(.*)$/s.exec(uri.slice(folder.length + 2)) : null;
      const known = others[Number(match?.[1])];
      if (match === null || known === undefined) return undefined;
      // A tool inserts a slash between the two, which is already there if the address ends with one.
      return known.endsWith('/') && match[2]!.startsWith('/') ? known + match[2]!.slice(1) : known + match[2]!;
    },
    /** Replaces the server's addresses in a text for the tool. `list`: a semicolon or a comma ends an address. */
    down: (text: string, list = false): string =>
      text.replace(list ? /rtsps?:\/\/[^\s"'<>;,]+/gi : /rtsps?:\/\/[^\s"'<>]+/gi, down),
  };
}
