import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { parseSource } from '../../src/source/address/parse.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { flvTag } from '../../src/source/protocols/rtmp/session.ts';
import { encodeMessage } from '../../src/source/protocols/rtmp/chunks.ts';
import { encodeAmf } from '../../src/source/protocols/rtmp/amf0.ts';
import { controlPacket, encodeHandshake } from '../../src/source/protocols/srt/packet.ts';
import { ask } from './ask.ts';
import { askRtsp } from './ask_rtsp.ts';
import { listen } from './listen.ts';
import { Cleanup } from './origin.ts';
import { seeded, type Random } from '../fuzz/media/mutate.ts';

/** Servers that begin correctly and continue with nonsense. The tool gets a response, and the next one is served. */

const cleanup = new Cleanup();
const seed = Math.floor(Math.random() * 2 ** 32);
const rounds = Number(process.env['ROUNDS'] ?? 40);

const noise = (random: Random, most: number): Buffer =>
  Buffer.from(Array.from({ length: Math.floor(random() * most) }, () => Math.floor(random() * 256)));
const damaged = (bytes: Buffer, random: Random): Buffer => {
  const copy = Buffer.from(bytes);
  for (let i = Math.floor(random() * 6); i > 0 && copy.length > 0; i--)
    copy[Math.floor(random() * copy.length)] = Math.floor(random() * 256);
  return Buffer.concat([copy.subarray(0, Math.floor((0.3 + random()) * copy.length)), noise(random, 40)]);
};

const rtmpTalk = Buffer.concat([
  encodeMessage(2, 1, 0, Buffer.from([0, 0, 1, 0])),
  encodeMessage(3, 20, 0, encodeAmf('_result', 1, {}, { code: 'NetConnection.Connect.Success' })),
  encodeMessage(3, 20, 0, encodeAmf('_result', 2, null, 1)),
  encodeMessage(4, 18, 1, encodeAmf('onMetaData', { width: 1, videocodecid: 7 })),
  encodeMessage(5, 9, 1, Buffer.alloc(300, 1)),
  encodeMessage(6, 22, 1, flvTag(9, 5, Buffer.alloc(20))),
  encodeMessage(2, 4, 0, Buffer.from([0, 6, 0, 0, 0, 1])),
]);
const sdp =
  'v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 ' +
  'sprop-parameter-sets=Z0LADA==,aM4=\r\na=control:t0\r\nm=audio 0 RTP/AVP 0\r\n';
const rtspTalk = Buffer.from(
  [
    `RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Type: application/sdp\r\nContent-Length: ${sdp.length}\r\n\r\n${sdp}`,
    ...[2, 3, 4].map(
      (n) => `RTSP/1.0 200 OK\r\nCSeq: ${n}\r\nTransport: RTP/AVP/TCP;interleaved=0-1\r\nSession: 1\r\n\r\n`,
    ),
    '$\0\0\x10\x80\xe0\0\x01\0\0\0\x01\0\0\0\x01\x65\x01\x02\x03$\0\0\x0e\x80\xe0\0\x02\0\0\x10\x01\0\0\0\x01\x65\x01',
  ].join(''),
  'latin1',
);
const ftpTalk = Buffer.from(
  '220 hello\r\n331 who\r\n230-in\r\n 230\r\n230 in\r\n200 ok\r\n213 1000\r\n213 ' +
    '20260101000000\r\n229 (|||1|)\r\n227 (1,2,3,4,5,6)\r\n150 here\r\n226 done\r\n',
);

describe('sources: nonsense from a server of another protocol', function () {
  this.timeout(60_000);
  afterEach(() => cleanup.run());

  async function survives(scheme: string, port: number, tools = ['mediainfo']): Promise<void> {
    const proxy = await startProxy({
      allow: [{ cidr: '127.0.0.1/32' }],
      offlineMs: 150,
      idleTimeoutMs: 150,
      connectTimeoutMs: 500,
      recording: { ms: 50, bytes: 10_000 },
    });
    const job = proxy.open({
      source: parseSource(`${scheme}://127.0.0.1:${port}/live/cam.mp4?passphrase=long-enough-to-be`),
      limits: { maxBytes: 1e7 },
      live: ['ffprobe'],
    });
    if (scheme === 'rtsp') {
      for (const method of ['DESCRIBE', 'SETUP', 'PLAY'])
        await askRtsp(job.address('ffprobe'), method, {
          headers: [['Transport', 'RTP/AVP/TCP;interleaved=0-1']],
          deadlineMs: 8000,
        });
    } else
      for (const tool of tools) {
        const { status } = await ask(job.address(tool), { deadlineMs: 8000 });
        assert.ok(status >= 200 && status < 600, String(status));
      }
    job.close();
    await proxy.close();
  }

  const talks: [scheme: string, talk: Buffer, prefix: Buffer][] = [
    ['rtmp', rtmpTalk, Buffer.concat([Buffer.from([3]), Buffer.alloc(3072)])],
    ['rtsp', rtspTalk, Buffer.alloc(0)],
    ['ftp', ftpTalk, Buffer.alloc(0)],
  ];
  for (const [scheme, talk, prefix] of talks) {
    it(`${scheme}: a response each time, no unhandled error (seed ${seed})`, async () => {
      const thrown: unknown[] = [];
      const note = (error: unknown): void => void thrown.push(error);
      process.on('unhandledRejection', note).on('uncaughtException', note);
      const random = seeded(seed);
      const server = cleanup.add(
        await listen((socket) => {
          socket.write(Buffer.concat([prefix, damaged(talk, random)]));
          if (random() < 0.5) setTimeout(() => socket.destroy(), 20);
        }),
      );
      await Promise.all(
        Array.from({ length: 4 }, async () => {
          for (let round = 0; round < rounds / 4; round++) await survives(scheme, server.port);
        }),
      );
      process.off('unhandledRejection', note).off('uncaughtException', note);
      assert.deepEqual(thrown, []);
    });
  }

  it(`srt: a response each time, no unhandled error (seed ${seed})`, async () => {
    const thrown: unknown[] = [];
    const note = (error: unknown): void => void thrown.push(error);
    process.on('unhandledRejection', note).on('uncaughtException', note);
    const random = seeded(seed);
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    cleanup.add({ close: () => socket.close() });
    const shake = {
      version: 5,
      encryption: 2,
      extensionField: 0x4a17,
      seq: 1,
      mtu: 1500,
      window: 8192,
      socket: 7,
      cookie: 9,
      extensions: [],
    };
    socket.on('message', (bytes, { port, address }) => {
      if (bytes.length < 40) return;
      const type = bytes.readUInt32BE(36);
      const answer = controlPacket(0, {
        time: 1,
        peer: 0,
        body: encodeHandshake({
          ...shake,
          type,
          extensions: type === 1 ? [] : [{ type: 4, body: noise(random, 60).subarray(0, 8) }],
        }),
      });
      for (const packet of [
        random() < 0.5 ? answer : damaged(answer, random),
        noise(random, 200),
        damaged(answer, random),
      ])
        socket.send(packet, port, address, () => {});
    });
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        for (let round = 0; round < rounds / 8; round++) await survives('srt', socket.address().port);
      }),
    );
    process.off('unhandledRejection', note).off('uncaughtException', note);
    assert.deepEqual(thrown, []);
  });
});
