/**
 * Sources that fail, each in a way of its own, and what every tool reports of them.
 * `node test/source/failing_sources.ts` writes them as a table into docs/reports/sources.md.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { join } from 'node:path';
import { writePart } from '../../docs/tables/part.ts';
import { makeResolver } from '../../src/source/address/resolver.ts';
import { REFUSED_ADDRESS } from '../../src/source/failures.ts';
import type { ProxyOptions } from '../../src/source/proxy.ts';
import { freePort } from '../free_port.ts';
import { makeCertificate } from './certificate.ts';
import { startDns } from './dns_server.ts';
import { listen } from './listen.ts';
import { type Cleanup, type Handler, startOrigin } from './origin.ts';

export type ReadingTool = 'ffprobe' | 'mediainfo' | 'c2pa' | 'msv';
/** Its address; what serves it is closed by `cleanup`. */
type Source = (cleanup: Cleanup) => Promise<string> | string;

export interface Failing {
  source: Source;
  code: string;
  error: string;
  /** Of the answer; default: 404. */
  status?: number;
  /** Default: all of them. */
  tools?: readonly ReadingTool[];
}

type Made = ReturnType<typeof makeCertificate>;
let authority: Made | undefined;
const trusted = (): Made => (authority ??= makeCertificate({ dns: ['good.example'] }));

/** How a source proxy reads them: by a name server of the test, and without waiting for long. */
export async function failingProxy(cleanup: Cleanup, patienceMs = 1_500): Promise<ProxyOptions> {
  const { address } = cleanup.add(
    await startDns(({ name, type }) => {
      if (name === 'broken.example') return { code: 2 };
      if (name.endsWith('.invalid')) return { code: 3 };
      return name === 'empty.example' || type !== 'A' ? {} : { records: ['127.0.0.1'] };
    }),
  );
  return {
    ca: (await trusted()).cert,
    connectTimeoutMs: patienceMs,
    headersTimeoutMs: patienceMs,
    idleTimeoutMs: patienceMs,
    offlineMs: 6_000,
    lookup: makeResolver({ servers: [address], local: () => ({ hosts: new Map(), search: [] }) }),
  };
}

const origin =
  (handler: Handler): Source =>
  async (cleanup) =>
    `${cleanup.add(await startOrigin(handler)).url}/a.mp4`;

const raw =
  (serve: Parameters<typeof listen>[0], scheme = 'http', path = '/a.mp4'): Source =>
  async (cleanup) =>
    `${scheme}://127.0.0.1:${cleanup.add(await listen(serve)).port}${path}`;

const says = (text: string): Source => raw((socket) => socket.once('data', () => socket.end(text, 'latin1')));

const answers = (status: number): Source => origin((_request, response) => response.writeHead(status).end('words'));

const redirects = (to: (url: string) => string): Source =>
  origin(({ url = '' }, response) => response.writeHead(302, { location: to(url) }).end());

const page = (body: string | Buffer, type: string): Source =>
  origin((_request, response) => response.writeHead(200, { 'content-type': type }).end(body));

/** 12 kB of 90. */
const begins = (then: (response: Parameters<Handler>[1]) => void): Source =>
  origin((_request, response) =>
    response.writeHead(200, { 'content-length': 90_000 }).write(Buffer.alloc(12_000), () => then(response)),
  );

const withTls =
  (made: () => Made, host = '127.0.0.1'): Source =>
  async (cleanup) => {
    const { port } = cleanup.add(await startOrigin((_request, response) => response.end('x'), await made()));
    return `https://${host}:${port}/a.mp4`;
  };

const nobody =
  (scheme = 'http', path = '/a.mp4'): Source =>
  async () =>
    // None that the system gives to a server of another test meanwhile.
    `${scheme}://127.0.0.1:${await freePort()}${path}`;

const deaf: Source = async (cleanup) => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  cleanup.add({ close: () => socket.close() });
  return `srt://127.0.0.1:${socket.address().port}?streamid=a`;
};

const MEDIA: readonly ReadingTool[] = ['ffprobe', 'mediainfo'];
const READERS: readonly ReadingTool[] = ['ffprobe', 'mediainfo', 'c2pa'];
const REFUSED = 'the host does not accept connections: it refused the connection';
export const ALL_TOOLS: readonly ReadingTool[] = [...READERS, 'msv'];

export const FAILING: Readonly<Record<string, Failing>> = {
  'no such name': {
    source: () => 'http://no-such-host.invalid/a.mp4',
    code: 'dns',
    error: 'cannot resolve host name no-such-host.invalid: it does not exist (NXDOMAIN)',
  },
  'a name without an address': {
    source: () => 'http://empty.example/a.mp4',
    code: 'dns',
    error: 'cannot resolve host name empty.example: it has no address',
  },
  'a name server that fails': {
    source: () => 'http://broken.example/a.mp4',
    code: 'dns',
    error: 'cannot resolve host name broken.example: the name server failed (SERVFAIL)',
  },
  'no listener': {
    source: nobody(),
    code: 'connect',
    error: REFUSED,
  },
  'a certificate that is self-signed': {
    source: withTls(() => makeCertificate({ ip: ['127.0.0.1'] })),
    code: 'tls',
    error: 'the certificate of the host cannot be trusted: it is self-signed',
    tools: ['mediainfo', 'c2pa', 'msv'],
  },
  'a certificate of another host': {
    source: withTls(trusted, 'other.example'),
    code: 'tls',
    error: 'the certificate of the host cannot be trusted: it is for another host name',
    tools: ['mediainfo', 'c2pa', 'msv'],
  },
  'http on a port of https': {
    source: async (cleanup) => (await answers(200)(cleanup)).replace('http:', 'https:'),
    code: 'tls',
    error: 'cannot establish a TLS connection to the host: it does not speak TLS on this port',
  },
  'a handshake that is closed': {
    source: raw((socket) => socket.destroy(), 'https'),
    code: 'tls',
    error: 'cannot establish a TLS connection to the host: it closed the connection',
  },
  'a handshake that never ends': {
    source: raw(() => {}, 'https'),
    code: 'connect',
    error: 'the host did not accept a connection in time',
  },
  'redirects in a circle': {
    source: redirects((url) => url),
    code: 'redirects',
    error: 'the host redirects more than 10 times',
  },
  'a redirect to a file': {
    source: redirects(() => 'file:///etc/passwd'),
    code: 'redirects',
    status: 400,
    error: 'the host redirects to an address that is not http or https',
  },
  'a redirect into the network': {
    source: redirects(() => 'http://169.254.169.254/'),
    code: 'source-forbidden',
    status: 400,
    error: REFUSED_ADDRESS,
  },
  'a private address': {
    source: () => 'http://10.0.0.1/a.mp4',
    code: 'source-forbidden',
    status: 400,
    error: REFUSED_ADDRESS,
  },
  'a head of 70 kB': {
    source: says(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(70_000)}\r\n\r\n`),
    code: 'head',
    error: 'the head of the answer of the host is longer than 16 KB',
  },
  'another protocol': {
    source: says('SSH-2.0-OpenSSH_9.2\r\n'),
    code: 'protocol',
    error: 'the host does not answer with HTTP',
  },
  'interim responses without an end': {
    source: says('HTTP/1.1 102 Processing\r\n\r\n'.repeat(20)),
    code: 'protocol',
    error: 'the host sends endless interim responses',
  },
  'closed at once': {
    source: raw((socket) => socket.destroy()),
    code: 'closed',
    error: 'the host closed the connection without an answer',
  },
  'closed after the request': {
    source: raw((socket) => socket.once('data', () => socket.end())),
    code: 'closed',
    error: 'the host closed the connection without an answer',
  },
  'no answer': { source: raw(() => {}), code: 'stalled', error: 'the host did not answer in time' },
  'silence after 12 kB': {
    source: begins(() => {}),
    code: 'stalled',
    status: 200,
    error: 'the host stopped sending after 12.0 kB of 90.0 kB',
    tools: ['c2pa'],
  },
  'closed after 12 kB': {
    source: begins((response) => response.destroy()),
    code: 'closed',
    status: 200,
    error: 'the host closed the connection after 12.0 kB of 90.0 kB',
    tools: ['c2pa'],
  },
  ...Object.fromEntries(
    [400, 401, 403, 404, 405, 410, 429, 451, 500, 502, 503].map((status): [string, Failing] => [
      `a response of ${status}`,
      { source: answers(status), code: `http-${status}`, error: `the host answered ${status}` },
    ]),
  ),
  'srt to nothing': {
    source: deaf,
    code: 'connect',
    error: 'the host did not accept a connection in time',
    tools: MEDIA,
  },
  'rtmp to nothing': {
    source: nobody('rtmp', '/live/a'),
    code: 'connect',
    error: REFUSED,
    tools: MEDIA,
  },
  'rtmp that closes': {
    source: raw((socket) => socket.destroy(), 'rtmp', '/live/a'),
    code: 'closed',
    error: 'the host closed the connection without an answer',
    tools: MEDIA,
  },
  'ftp to nothing': {
    source: nobody('ftp'),
    code: 'connect',
    error: REFUSED,
    tools: READERS,
  },
  'ftp without the file': {
    source: raw(
      (socket) =>
        void (
          socket.write('220 hello\r\n'),
          socket.on('data', (line) => socket.write(/^(?:USER|PASS)/.test(String(line)) ? '230 in\r\n' : '550 no\r\n'))
        ),
      'ftp',
    ),
    code: 'http-404',
    error: 'the FTP server answered 550',
    tools: READERS,
  },
  'rtsp to nothing': {
    source: nobody('rtsp', '/cam'),
    code: 'connect',
    error: REFUSED,
    tools: ['ffprobe'],
  },
  'a login page': {
    source: page('<!DOCTYPE html><html><head><title>Log\u202e in</title></head></html>', 'text/html'),
    code: 'not-media',
    status: 200,
    error: 'the source is not media: it is an HTML page, text/html, title "Log in", 65 B',
    tools: READERS,
  },
  JSON: {
    source: page('{"error": "expired"}', 'application/json'),
    code: 'not-media',
    status: 200,
    error: 'the source is not media: it is a JSON document, application/json, 20 B',
    tools: READERS,
  },
  XML: {
    source: page('<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>', 'application/xml'),
    code: 'not-media',
    status: 200,
    error: 'the source is not media: it is an XML document, application/xml, root Error, 62 B',
    tools: MEDIA,
  },
  text: {
    source: page('nothing to see here\n', 'text/plain'),
    code: 'not-media',
    status: 200,
    error: 'the source is not media: it is text, text/plain, 20 B',
    tools: READERS,
  },
  'an empty file': {
    source: page('', 'video/mp4'),
    code: 'not-media',
    status: 200,
    error: 'the source is not media: it is an empty file, video/mp4',
    tools: READERS,
  },
  'a ZIP archive': {
    source: page(Buffer.from(`PK\u0003\u0004${'\u0000'.repeat(60)}`, 'latin1'), 'application/zip'),
    code: 'not-media',
    status: 200,
    error: 'the source is not media: it is a ZIP archive, application/zip, 64 B',
    tools: ['ffprobe'],
  },
  'a PDF': {
    source: page('%PDF-1.7\n%\u00e2', 'application/pdf'),
    code: 'not-media',
    status: 200,
    error: 'the source is not media: it is a PDF document, application/pdf, 12 B',
    tools: ['ffprobe'],
  },
};

export const FAILING_PAGE = join(import.meta.dirname, '../../docs/reports/sources.md');

export const failingTable = (): string =>
  [
    '| source | status | `code` | error |',
    '|---|---|---|---|',
    ...Object.entries(FAILING).map(
      ([what, { status = 404, code, error }]) => `| ${what} | ${status} | \`${code}\` | ${error} |`,
    ),
  ].join('\n');

if (import.meta.main) writePart(FAILING_PAGE, 'failing', failingTable());
