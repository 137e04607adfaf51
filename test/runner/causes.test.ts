/** Every way in which a source fails, through the runner: each real tool reports the same cause. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { join } from 'node:path';
import { builtC2pa } from '../../images/cargo_build.ts';
import { cacheDir } from '../../images/cache.ts';
import { assemble } from '../../src/service/result/assemble.ts';
import { builtInMsv } from '../../src/media/hls/built_in.ts';
import type { AssignedTool } from '../../src/platform/bus/messages.ts';
import { outcome } from '../../src/service/controller/collect/outcome.ts';
import { makeCertificate } from '../source/certificate.ts';
import { listen } from '../source/listen.ts';
import { startOrigin, type Handler } from '../source/origin.ts';
import { headOf } from '../result/text_body.ts';
import { Rig } from './agent_rig.ts';

const program = (name: string): string | undefined =>
  [`/usr/bin/${name}`, join(cacheDir, 'media_programs', name)].find((path) => existsSync(path));
const [ffprobe, mediainfo, c2pa] = [program('ffprobe'), program('mediainfo'), (await builtC2pa())?.c2pa];

interface Failing {
  /** The address. */
  source(): Promise<string> | string;
  code: string;
  error: RegExp;
  status?: number;
  /** Default: all of them. */
  tools?: readonly ToolName[];
}

type ToolName = 'ffprobe' | 'mediainfo' | 'c2pa' | 'msv';

describe('causes: what each tool reports of a source that fails', function () {
  this.timeout(120_000);
  if (ffprobe === undefined || mediainfo === undefined || c2pa === undefined) {
    it.skip('skipped: ffprobe, mediainfo and the C2PA check are not all on this machine');
    return;
  }
  const rig = new Rig();
  const closing: { close(): unknown }[] = [];
  let authority = '';
  before(async () => {
    authority = (await makeCertificate({ dns: ['good.example'] })).cert;
    rig.proxyOptions = {
      ca: authority,
      connectTimeoutMs: 1_500,
      headersTimeoutMs: 1_500,
      idleTimeoutMs: 1_500,
      offlineMs: 6_000,
      lookup: (host) =>
        host.endsWith('.invalid')
          ? Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }))
          : Promise.resolve(host === 'empty.example' ? [] : [{ address: '127.0.0.1', family: 4 }]),
    };
    await rig.start();
    await rig.newAgent();
  });
  after(async () => {
    for (const one of closing) await one.close();
    await rig.stop();
  });

  const origin = async (handler: Handler, path = '/a.mp4'): Promise<string> => {
    const server = await startOrigin(handler);
    closing.push(server);
    return `${server.url}${path}`;
  };
  const raw = async (serve: Parameters<typeof listen>[0], scheme = 'http', path = '/a.mp4'): Promise<string> => {
    const server = await listen(serve);
    closing.push(server);
    return `${scheme}://127.0.0.1:${server.port}${path}`;
  };
  const says = (text: string) => raw((socket) => socket.once('data', () => socket.end(text, 'latin1')));
  const answers = (status: number) => origin((_request, response) => response.writeHead(status).end('words'));
  const page = (body: string | Buffer, type: string): Promise<string> =>
    origin((_request, response) => response.writeHead(200, { 'content-type': type }).end(body));
  const withTls = async (names: { dns?: string[]; ip?: string[] }): Promise<string> => {
    const server = await startOrigin((_request, response) => response.end('x'), await makeCertificate(names));
    closing.push(server);
    return `https://127.0.0.1:${server.port}/a.mp4`;
  };
  const nobody = async (scheme = 'http', path = '/a.mp4'): Promise<string> => {
    const server = await listen(() => {});
    server.close();
    return `${scheme}://127.0.0.1:${server.port}${path}`;
  };
  const deaf = async (): Promise<string> => {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    closing.push({ close: () => socket.close() });
    return `srt://127.0.0.1:${socket.address().port}?streamid=a`;
  };

  const MEDIA: readonly ToolName[] = ['ffprobe', 'mediainfo'];
  const READERS: readonly ToolName[] = ['ffprobe', 'mediainfo', 'c2pa'];
  const ALL: readonly ToolName[] = [...READERS, 'msv'];
  const table: Record<string, Failing> = {
    'no such name': {
      source: () => 'http://no-such-host.invalid/a.mp4',
      code: 'dns',
      error: /^cannot resolve host name no-such-host\.invalid/,
    },
    'a name without an address': {
      source: () => 'http://empty.example/a.mp4',
      code: 'dns',
      error: /it has no address$/,
    },
    'no listener': {
      source: () => nobody(),
      code: 'connect',
      error: /^the host does not accept connections: it refused the connection$/,
    },
    'a certificate that is self-signed': {
      source: () => withTls({ ip: ['127.0.0.1'] }),
      code: 'tls',
      error: /^the certificate of the host cannot be trusted: it is self-signed$/,
      tools: ['mediainfo', 'c2pa', 'msv'],
    },
    'http on a port of https': {
      source: async () => (await answers(200)).replace('http:', 'https:'),
      code: 'tls',
      error: /^cannot establish a TLS connection to the host: it does not speak TLS on this port$/,
    },
    'a handshake that is closed': {
      source: () => raw((socket) => socket.destroy(), 'https'),
      code: 'tls',
      error: /^cannot establish a TLS connection to the host: it closed the connection$/,
    },
    'a handshake that never ends': {
      source: () => raw(() => {}, 'https'),
      code: 'connect',
      error: /^the host did not accept a connection in time$/,
    },
    'redirects in a circle': {
      source: () => origin((request, response) => response.writeHead(302, { location: request.url! }).end()),
      code: 'redirects',
      error: /^the host redirects more than 10 times$/,
    },
    'a redirect to a file': {
      source: () => origin((_request, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end()),
      code: 'redirects',
      status: 400,
      error: /^the host redirects to an address that is not http or https$/,
    },
    'a redirect into the network': {
      source: () =>
        origin((_request, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end()),
      code: 'source-forbidden',
      status: 400,
      error: /^the address is not allowed/,
    },
    'a private address': {
      source: () => 'http://10.0.0.1/a.mp4',
      code: 'source-forbidden',
      status: 400,
      error: /^the address is not allowed/,
    },
    'a head of 70 kB': {
      source: () => says(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(70_000)}\r\n\r\n`),
      code: 'head',
      error: /^the head of the answer of the host is longer than 16 KB$/,
    },
    'another protocol': {
      source: () => says('SSH-2.0-OpenSSH_9.2\r\n'),
      code: 'protocol',
      error: /^the host does not answer with HTTP$/,
    },
    'closed at once': {
      source: () => raw((socket) => socket.destroy()),
      code: 'closed',
      error: /^the host closed the connection without an answer$/,
    },
    'closed after the request': {
      source: () => raw((socket) => socket.once('data', () => socket.end())),
      code: 'closed',
      error: /^the host closed the connection without an answer$/,
    },
    'no answer': { source: () => raw(() => {}), code: 'stalled', error: /^the host did not answer in time$/ },
    'silence after 12 kB': {
      source: () =>
        origin(
          (_request, response) =>
            void response.writeHead(200, { 'content-length': 90_000 }).write(Buffer.alloc(12_000)),
        ),
      code: 'stalled',
      status: 200,
      error: /^the host stopped sending after 12\.0 kB of 90\.0 kB$/,
      tools: ['c2pa'],
    },
    'closed after 12 kB': {
      source: () =>
        origin((_request, response) =>
          response.writeHead(200, { 'content-length': 90_000 }).write(Buffer.alloc(12_000), () => response.destroy()),
        ),
      code: 'closed',
      status: 200,
      error: /^the host closed the connection after 12\.0 kB of 90\.0 kB$/,
      tools: ['c2pa'],
    },
    ...Object.fromEntries(
      [400, 401, 403, 404, 405, 410, 429, 451, 500, 502, 503].map((status): [string, Failing] => [
        `a response of ${status}`,
        { source: () => answers(status), code: `http-${status}`, error: new RegExp(`^the host answered ${status}$`) },
      ]),
    ),
    'srt to nothing': {
      source: () => deaf(),
      code: 'connect',
      error: /^the host did not accept a connection in time$/,
      tools: MEDIA,
    },
    'rtmp to nothing': {
      source: () => nobody('rtmp', '/live/a'),
      code: 'connect',
      error: /it refused the connection$/,
      tools: MEDIA,
    },
    'rtmp that closes': {
      source: () => raw((socket) => socket.destroy(), 'rtmp', '/live/a'),
      code: 'closed',
      error: /^the host closed the connection without an answer$/,
      tools: MEDIA,
    },
    'ftp to nothing': {
      source: () => nobody('ftp'),
      code: 'connect',
      error: /it refused the connection$/,
      tools: READERS,
    },
    'ftp without the file': {
      source: () =>
        raw(
          (socket) =>
            void (
              socket.write('220 hello\r\n'),
              socket.on('data', (line) =>
                socket.write(/^(?:USER|PASS)/.test(String(line)) ? '230 in\r\n' : '550 no\r\n'),
              )
            ),
          'ftp',
        ),
      code: 'http-404',
      error: /^the FTP server answered 550$/,
      tools: READERS,
    },
    'rtsp to nothing': {
      source: () => nobody('rtsp', '/cam'),
      code: 'connect',
      error: /it refused the connection$/,
      tools: ['ffprobe'],
    },
    'a login page': {
      source: () => page('<!DOCTYPE html><html><head><title>Log\u202e in</title></head></html>', 'text/html'),
      code: 'not-media',
      status: 200,
      error: /^the source is not media: it is an HTML page, text\/html, title "Log in", \d+ B$/,
      tools: READERS,
    },
    JSON: {
      source: () => page('{"error": "expired"}', 'application/json'),
      code: 'not-media',
      status: 200,
      error: /it is a JSON document, application\/json, 20 B$/,
      tools: READERS,
    },
    XML: {
      source: () => page('<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>', 'application/xml'),
      code: 'not-media',
      status: 200,
      error: /it is an XML document, application\/xml, root Error, \d+ B$/,
      tools: MEDIA,
    },
    text: {
      source: () => page('nothing to see here\n', 'text/plain'),
      code: 'not-media',
      status: 200,
      error: /it is text, text\/plain, 20 B$/,
      tools: READERS,
    },
    'an empty file': {
      source: () => page('', 'video/mp4'),
      code: 'not-media',
      status: 200,
      error: /it is an empty file, video\/mp4$/,
      tools: READERS,
    },
    'a ZIP archive': {
      source: () => page(Buffer.from(`PK\u0003\u0004${'\u0000'.repeat(60)}`, 'latin1'), 'application/zip'),
      code: 'not-media',
      status: 200,
      error: /it is a ZIP archive, application\/zip, 64 B$/,
      tools: ['ffprobe'],
    },
    'a PDF': {
      source: () => page('%PDF-1.7\n%\u00e2', 'application/pdf'),
      code: 'not-media',
      status: 200,
      error: /it is a PDF document, application\/pdf, 12 B$/,
      tools: ['ffprobe'],
    },
  };

  const toolOf = (name: ToolName): AssignedTool => {
    if (name === 'msv') {
      const { version, command, uses } = builtInMsv([]);
      return { name, version, timeoutMs: 30_000, options: {}, command, uses };
    }
    const command = { ffprobe, mediainfo, c2pa }[name];
    return {
      name,
      version: '1',
      timeoutMs: 30_000,
      options: name === 'ffprobe' ? { tls_verify: 'true' } : {},
      command: [command],
    };
  };

  for (const [what, { source, code, error, status = 404, tools = ALL }] of Object.entries(table))
    it(what, async () => {
      const url = await source();
      // Beside others the validator runs only for playlists.
      for (const names of [tools.filter((name) => name !== 'msv'), tools.filter((name) => name === 'msv')]) {
        if (names.length === 0) continue;
        const asked = names.map(toolOf);
        const { body } = await rig.run(rig.go(asked, { source: url }));
        assert.deepEqual(
          body.tools.map((tool) => [tool.name, tool.success, tool.code ?? tool.failure]),
          names.map((name) => [name, false, code]),
          JSON.stringify(body.tools.map((tool) => tool.error)),
        );
        for (const tool of body.tools) assert.match(tool.error ?? '', error, tool.name);
        // The validator is a process of Node, whose start is most of its time.
        if (code === 'closed' && names[0] !== 'msv')
          for (const { name, durationMs } of body.tools) assert.ok(durationMs < 2_000, `${name}: ${durationMs} ms`);
        const ended = outcome(headOf(body), asked);
        assert.equal(ended.status, status);
        assert.match(ended.error ?? '', error);
        if (names[0] === 'msv') continue;
        const answered = { requestId: '0', queueTimeMs: 0, outputs: null, withoutOutputs: true };
        const answer = JSON.parse(assemble(headOf(body), answered).body as string) as { error: string; code: string };
        assert.deepEqual([answer.code, answer.error], [code, ended.error]);
      }
    });
});
