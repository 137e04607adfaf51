import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy } from '../../src/source/proxy.ts';
import type { SocketContext } from '../../src/source/protocols/protocol.ts';
import { RtspUpstream } from '../../src/source/protocols/rtsp/upstream.ts';
import { askRtsp } from './ask_rtsp.ts';
import { listen } from './listen.ts';
import { Cleanup } from './origin.ts';

const cleanup = new Cleanup();

/** Writes the same bytes repeatedly, as fast as they are accepted, and reads nothing. */
function flood(socket: Socket, bytes: Buffer): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', more);
  more();
}

describe('rtsp: limits of a tool and a server', function () {
  this.timeout(60_000);
  afterEach(() => cleanup.run());

  async function open(serve: (socket: Socket) => void): Promise<Job> {
    const server = cleanup.add(await listen(serve));
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }], idleTimeoutMs: 50_000 }));
    return cleanup.add(
      proxy.open({
        source: parseSource(`rtsp://127.0.0.1:${server.port}/cam`),
        limits: { maxBytes: 1e9 },
        live: ['ffprobe'],
      }),
    );
  }

  it('a tool that sends more requests than can wait is disconnected', async () => {
    const job = await open((socket) => void socket.resume());
    const address = job.address('ffprobe');
    const tool = connect({ host: '127.0.0.1', port: Number(new URL(address.replace('rtsp:', 'http:')).port) });
    cleanup.add({ close: () => tool.destroy() });
    tool.on('error', () => {}).resume();
    tool.write(`OPTIONS ${address} RTSP/1.0\r\nCSeq: 1\r\n\r\n`.repeat(100));
    await once(tool, 'close', { signal: AbortSignal.timeout(10_000) });
  });

  it('requests up to the limit are answered in order', async () => {
    const job = await open(
      (socket) =>
        void socket.on('data', (bytes) => {
          for (const [, sequence] of bytes.toString().matchAll(/CSeq: (\d+)/g))
            socket.write(`RTSP/1.0 200 OK\r\nCSeq: ${sequence}\r\n\r\n`);
        }),
    );
    const address = job.address('ffprobe');
    const tool = connect({ host: '127.0.0.1', port: Number(new URL(address.replace('rtsp:', 'http:')).port) });
    cleanup.add({ close: () => tool.destroy() });
    tool.write(
      Array.from({ length: 32 }, (_, i) => `OPTIONS ${address} RTSP/1.0\r\nCSeq: ${100 + i}\r\n\r\n`).join(''),
    );
    let text = '';
    const signal = AbortSignal.timeout(20_000);
    while (!text.includes('CSeq: 131')) text += String((await once(tool, 'data', { signal }))[0]);
    assert.deepEqual(
      [...text.matchAll(/CSeq: (\d+)/g)].map(([, sequence]) => Number(sequence)),
      Array.from({ length: 32 }, (_, i) => 100 + i),
    );
  });

  it('a server that sends requests and reads no replies is disconnected before they fill the memory', async () => {
    const job = await open((socket) => {
      socket.pause();
      flood(socket, Buffer.from('OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n'.repeat(2000)));
    });
    await askRtsp(job.address('ffprobe'), 'DESCRIBE', { deadlineMs: 50_000 });
    assert.equal(job.stats().failure?.message, 'the host does not read its responses');
  });

  /** A connection to a server that neither reads nor sends. */
  async function upstream(late = 0): Promise<{ made: RtspUpstream; sockets: Socket[] }> {
    const server = cleanup.add(await listen((socket) => void socket.pause()));
    const source = parseSource(`rtsp://127.0.0.1:${server.port}/cam`);
    const sockets: Socket[] = [];
    const dial = async (): Promise<Socket> => {
      const socket = connect({ host: '127.0.0.1', port: server.port });
      sockets.push(socket);
      await once(socket, 'connect', { signal: AbortSignal.timeout(10_000) });
      if (late > 0) await wait(late);
      return socket;
    };
    const context = { source, dial, count: { request() {}, bytes() {} }, idleMs: 50_000 } as unknown as SocketContext;
    const made = new RtspUpstream(
      context,
      () => {},
      () => {},
    );
    cleanup.add({ close: () => made.close() });
    return { made, sockets };
  }

  /** Waits until the server has been dialled. */
  async function dialled(sockets: readonly Socket[]): Promise<Socket> {
    const deadline = performance.now() + 10_000;
    while (sockets[0]?.readyState !== 'open') {
      if (performance.now() > deadline) throw new Error('no connection within the deadline');
      await wait(5);
    }
    return sockets[0];
  }

  it('frames of a tool are dropped while the server does not read', async () => {
    const { made, sockets } = await upstream();
    made.request('OPTIONS', '*', []).catch(() => {});
    const socket = await dialled(sockets);
    const frame = Buffer.concat([Buffer.from([0x24, 1, 0xff, 0xfb]), Buffer.alloc(0xfffb)]);
    for (let i = 0; i < 1000; i++) made.send(frame);
    assert.ok(socket.writableLength < 200_000, `${socket.writableLength} bytes wait`);
  });

  it('a connection that opens after its tool has disconnected is closed', async () => {
    const { made, sockets } = await upstream(500);
    const asked = assert.rejects(made.request('OPTIONS', '*', []), /closed/);
    await dialled(sockets);
    made.close();
    await asked;
    assert.ok(sockets.every(({ destroyed }) => destroyed));
  });
});
