/**
 * What a greedy or hostile account sends, one request at a time, by the finding that first showed it (docs/trust.md).
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { request as httpRequest } from 'node:http';
import { SILENT_PORT, SILENT_ZONE } from '../../node/dns.ts';
import { fixtures, type Cluster } from '../../cluster/fixture.ts';
import { serveContent, serveFile } from '../../node/origin.ts';
import { taggedMp3 } from '../tagged_mp3.ts';
import { startReader } from './reader.ts';

export interface Attack {
  /** Sends one request. Settles when it has its response or was aborted. */
  send(token: string, index: number, signal: AbortSignal): Promise<unknown>;
  /** Requests per second of one token, within its limit. */
  perSecond: number;
  /** Open requests of one token; as many as its concurrency if not given. */
  atOnce?: number;
  /** The same requests to a server that does nothing with them, at this address. */
  sentTo?(url: string): Attack;
  stop?(): Promise<void>;
}
export interface Finding {
  id: string;
  title: string;
  /**
   * What the neighbour is compared with. Sender and cluster share one machine, so what the sender alone takes of it is
   * in the comparison: as many ordinary requests (the default), or the same ones to a server that drops them.
   */
  beside?: 'ordinary requests' | 'a bare server' | 'nothing';
  make(c: Cluster, token: string): Promise<Attack>;
}

/** 100 requests a minute of a token, and 600 of a user for reading back and for management. */
const PROBES_PER_SECOND = 1.6;
const READS_PER_SECOND = 4;

/** Compresses to almost nothing. */
const TAG_BYTES = 50_000_000;

async function largeResult(c: Cluster, token: string, more: object = {}): Promise<string> {
  const file = taggedMp3(Buffer.alloc(TAG_BYTES, 'A'));
  const origin = await c.origin((request, response) => serveContent(file, request, response));
  const { status, headers, text } = await c.probe({ url: `${origin.url}/a.mp3`, only: 'ffprobe', ...more }, { token });
  if (status >= 300) throw new Error(`the large result was not made: ${status} ${text.slice(0, 300)}`);
  return headers.get('x-request-id') ?? '';
}

/** Reads nothing of the response until it is aborted. */
function readNothing(url: string, token: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const asking = httpRequest(
      url,
      { headers: { authorization: `Bearer ${token}` }, signal },
      (response) => void response.pause(),
    );
    asking
      .on('error', () => {})
      .on('close', resolve)
      .end();
  });
}

async function readBack(c: Cluster, token: string): Promise<Attack> {
  const id = await largeResult(c, token);
  const paths = [`/v1/probe/${id}`, `/frontend/api/v1/media/log/${id}`];
  const reader = await startReader();
  return {
    perSecond: READS_PER_SECOND,
    send: (by, index, signal) => {
      const path = paths[index % paths.length]!;
      if (index % 5 === 4) return readNothing(`${c.url}${path}`, by, signal);
      return reader.read(`${c.url}${path}`, by, signal);
    },
    stop: () => reader.close(),
  };
}

async function webhooks(c: Cluster, token: string): Promise<Attack> {
  const receiver = await c.origin((_, response) => void response.writeHead(500).end());
  const ids: string[] = [];
  for (let index = 0; index < 8; index++)
    ids.push(await largeResult(c, token, { webhook_url: `${receiver.url}/hook` }));
  const list = await c.get('/frontend/api/v1/media/webhook?pagination[limit]=100', token);
  const hooks = (JSON.parse(list.text) as { webhooks: { id: string | number }[] }).webhooks.map(({ id }) => id);
  return {
    perSecond: READS_PER_SECOND,
    send: (by, index, signal) =>
      fetch(`${c.url}/frontend/api/v1/media/webhook/${hooks[index % hooks.length]}/retry`, {
        method: 'POST',
        headers: { authorization: `Bearer ${by}` },
        signal,
      }).then((response) => response.arrayBuffer()),
  };
}

const probing = (c: Cluster, bodyOf: (index: number) => object): Attack => ({
  perSecond: PROBES_PER_SECOND,
  send: (token, index, signal) => c.probe(bodyOf(index), { token, signal }),
});

/** Trickles single bytes, at another address each time, as slowly as allowed. */
async function slowSources(c: Cluster): Promise<Attack> {
  const origin = await c.origin((_, response) => {
    response.writeHead(200, { 'content-length': 1_000_000, 'content-type': 'video/mp4' });
    const timer = setInterval(() => response.write('x'), 1_000);
    response.once('close', () => clearInterval(timer));
  });
  return probing(c, (index) => ({ url: `${origin.url}/slow.mp4?x=${index}`, timeout: 650_000 }));
}

async function denseManifest(c: Cluster): Promise<Attack> {
  const manifest = Buffer.from(`<MPD ${'<!>'.repeat(2_700_000)}`);
  const origin = await c.origin(
    (_, response) =>
      void response
        .writeHead(200, { 'content-type': 'application/dash+xml', 'content-length': manifest.length })
        .end(manifest),
  );
  return probing(c, () => ({ url: `${origin.url}/a.mpd` }));
}

/** A single endless picture over RTSP, at 4 MB/s. */
async function endlessRtsp(c: Cluster): Promise<Attack> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    let pouring: NodeJS.Timeout | undefined;
    socket.once('close', () => clearInterval(pouring));
    socket.on('data', (data) => {
      for (const message of data
        .toString('latin1')
        .split('\r\n\r\n')
        .filter((text) => /^[A-Z_]+ rtsp:/.test(text))) {
        const cseq = /CSeq: *(\d+)/i.exec(message)?.[1] ?? '1';
        const method = message.split(' ')[0];
        const answer = (headers: string, body = '') =>
          socket.write(
            `RTSP/1.0 200 OK\r\nCSeq: ` +
              `${cseq}\r\n${headers}${body === '' ? '' : `Content-Length: ${body.length}\r\n`}\r\n${body}`,
          );
        if (method === 'OPTIONS') answer('Public: DESCRIBE, SETUP, PLAY\r\n');
        else if (method === 'DESCRIBE')
          answer(
            'Content-Type: application/sdp\r\n',
            'v=0\r\no=- 0 0 IN IP4 0.0.0.0\r\ns=x\r\nt=0 0\r\nm=video 0 RTP/AVP ' +
              '96\r\na=rtpmap:96 H264/90000\r\na=control:track1\r\n',
          );
        else if (method === 'SETUP') answer('Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\nSession: 1\r\n');
        else {
          answer('Session: 1\r\n');
          if (method === 'PLAY') pouring ??= pourPicture(socket);
        }
      }
    });
  });
  server.listen(0, c.hostIp);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    ...probing(c, () => ({ url: `rtsp://${c.hostIp}:${port}/x`, timeout: 10_000 })),
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function pourPicture(socket: Socket): NodeJS.Timeout {
  let sequence = 0;
  const frame = (): Buffer => {
    const rtp = Buffer.alloc(4 + 12 + 1400);
    rtp.set([0x24, 0]);
    rtp.writeUInt16BE(1412, 2);
    rtp.set([0x80, 96], 4);
    rtp.writeUInt16BE(sequence++ & 0xffff, 6);
    // A constant timestamp without a marker, so that the same picture continues for ever in fragments.
    rtp.set([0x7c, 0x05], 16);
    return rtp;
  };
  return setInterval(() => {
    if (socket.writableLength < 1_000_000) socket.write(Buffer.concat(Array.from({ length: 57 }, frame)));
  }, 20);
}

/** Webhooks to hosts whose name server never answers. */
async function silentNames(c: Cluster): Promise<Attack> {
  const silent = createSocket('udp4');
  silent.bind(SILENT_PORT, c.hostIp);
  await once(silent, 'listening');
  const origin = await c.origin((request, response) => serveFile(fixtures, request, response));
  return {
    ...probing(c, (index) => ({
      url: `${origin.url}/tiny.mp4`,
      only: 'ffprobe',
      webhook_url: `https://n${index}-${Date.now()}.${SILENT_ZONE}/`,
    })),
    async stop() {
      silent.close();
      await once(silent, 'close');
    },
  };
}

export const FINDINGS: readonly Finding[] = [
  { id: 'H1', title: 'an account reads back a result of 50 MB again and again, and some of it never', make: readBack },
  { id: 'H2', title: 'an account has eight webhooks of 50 MB sent again and again', make: webhooks },
  {
    id: 'H4',
    title: 'an account holds runners with sources of a byte a second, each at another address',
    make: slowSources,
  },
  { id: 'M1', title: 'an account sends an 8 MB manifest of declarations without an end', make: denseManifest },
  { id: 'M2', title: 'an account sends an RTSP stream of one picture without an end', make: endlessRtsp },
  { id: 'M3', title: 'an account has webhooks sent to hosts whose name server is silent', make: silentNames },
];

/** The same number of ordinary requests, for comparison. */
export async function ordinary(c: Cluster, like: Attack): Promise<Attack> {
  const origin = await c.origin(fixtures);
  return {
    perSecond: like.perSecond,
    send: (token, _, signal) => c.probe({ url: `${origin.url}/tiny.mp4`, only: 'ffprobe' }, { token, signal }),
  };
}
