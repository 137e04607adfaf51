import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { CONTROL, controlPacket, encodeHandshake, HANDSHAKE_TYPE } from '../../src/source/protocols/srt/packet.ts';
import { ask } from './ask.ts';
import { Cleanup } from './origin.ts';

const cleanup = new Cleanup();
const firstSeq = 1000;
const dataPacket = (seq: number): Buffer => {
  const bytes = Buffer.alloc(16 + 1316, 0x47);
  bytes.fill(0, 0, 16).writeUInt32BE(firstSeq + seq, 0);
  return bytes;
};
/** Longer than any SRT packet. */
const junk = Buffer.alloc(3000, 0x80);
const shutdown = controlPacket(CONTROL.shutdown, { time: 1, peer: 0, body: Buffer.alloc(4) });

describe('srt: limits of a server', function () {
  this.timeout(30_000);
  afterEach(() => cleanup.run());

  /** A server that accepts everything, and sends these datagrams once connected. */
  async function host(talk: readonly Buffer[]): Promise<number> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    cleanup.add({ close: () => socket.close() });
    const shake = {
      version: 5,
      encryption: 0,
      extensionField: 0x4a17,
      seq: firstSeq,
      mtu: 1500,
      window: 8192,
      socket: 7,
      cookie: 9,
      extensions: [],
    };
    let sent = false;
    socket.on('message', (bytes, { port, address }) => {
      if (bytes.length < 64 || bytes.readUInt32BE(0) !== 0x80000000) return;
      const type = bytes.readUInt32BE(36);
      socket.send(
        controlPacket(CONTROL.handshake, { time: 1, peer: 0, body: encodeHandshake({ ...shake, type }) }),
        port,
        address,
        () => {},
      );
      if (type !== HANDSHAKE_TYPE.conclusion || sent) return;
      sent = true;
      for (const packet of talk) socket.send(packet, port, address, () => {});
    });
    return socket.address().port;
  }

  async function open(talk: readonly Buffer[], maxBytes: number): Promise<Job> {
    const port = await host(talk);
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }], offlineMs: 5000 }));
    return cleanup.add(
      proxy.open({ source: parseSource(`srt://127.0.0.1:${port}`), limits: { maxBytes }, live: ['ffprobe'] }),
    );
  }

  it('all bytes of a session count, including headers and datagrams that are not SRT', async () => {
    const talk = [junk, dataPacket(0), junk, dataPacket(1), shutdown];
    const job = await open(talk, 1e9);
    const { status, body } = await ask(job.address('ffprobe'));
    assert.deepEqual([status, body.length], [200, 2 * 1316]);
    const sent = talk.reduce((sum, { length }) => sum + length, 0);
    assert.ok(job.stats().ioUsage >= sent, `${job.stats().ioUsage} of ${sent} bytes`);
  });

  it('an address that cannot be connected to is a host that accepts no connections', async () => {
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '255.255.255.255/32' }] }));
    const job = cleanup.add(
      proxy.open({ source: parseSource('srt://255.255.255.255:9000'), limits: { maxBytes: 1e9 }, live: ['ffprobe'] }),
    );
    assert.equal((await ask(job.address('ffprobe'))).status, 502);
    const { code, reason, message } = job.stats().failure ?? {};
    assert.deepEqual([code, reason], ['origin-unreachable', 'connect']);
    assert.equal(message, 'the host does not accept connections');
  });

  it('datagrams that are not SRT end at the limit of the request', async () => {
    const job = await open([dataPacket(0), ...Array.from({ length: 30 }, () => junk)], 50_000);
    await ask(job.address('ffprobe'));
    assert.deepEqual([job.stats().failure?.code, job.stats().failure?.reason], ['cut', 'limit']);
  });
});
