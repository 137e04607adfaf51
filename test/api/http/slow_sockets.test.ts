import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { type HttpServer, isSlow, listen } from '../../../src/service/api/http/http_server.ts';
import { until } from '../../until.ts';

const MB = 1_000_000;
const OVER_MS = 3_000;

describe('slow sockets', () => {
  const progress = (...taken: number[]) => taken.map((bytes, index) => ({ at: index * 5_000, taken: bytes }));
  for (const [what, taken, slow] of [
    ['nothing at all', [5, 5, 5, 5, 5, 5, 5], true],
    ['nothing, for less than 30 s', [5, 5, 5, 5, 5, 5], false],
    ['63 kB/s', [0, 315e3, 630e3, 945e3, 1_260e3, 1_575e3, 1_890e3], true],
    ['64 kB/s', [0, 320e3, 640e3, 960e3, 1_280e3, 1_600e3, 1_920e3], false],
    ['the same in one piece', [0, 0, 0, 0, 0, 0, 2_000e3], false],
    ['a lot, and then nothing for 30 s', [0, 9e6, 9e6, 9e6, 9e6, 9e6, 9e6, 9e6], true],
    ['no history', [], false],
  ] as const) {
    it(`a client that reads ${what} is ${slow ? '' : 'not '}slow`, () =>
      assert.equal(isSlow(progress(...taken)), slow));
  }

  describe('on a server', function () {
    this.timeout(30_000);
    let server: HttpServer;
    let closed = 0;
    const sockets: Socket[] = [];
    before(async () => {
      server = await listen(
        (request, response) => {
          if (request.url === '/idle') return;
          // In pieces, like real responses: progress is counted in whole writes.
          Readable.from(Array.from({ length: 16 }, () => Buffer.alloc(MB))).pipe(response);
        },
        { host: '127.0.0.1', port: 0 },
        () => 'id',
        {
          overMs: OVER_MS,
          onClosed: () => {
            closed += 1;
          },
        },
      );
    });
    after(async () => {
      for (const socket of sockets) socket.destroy();
      await server.close(1_000);
    });
    const ask = async (path: string): Promise<Socket> => {
      const socket = connect(server.port, '127.0.0.1');
      sockets.push(socket);
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      return socket;
    };

    it('closes a connection that never reads; keeps one that waits for its response and one that reads', async () => {
      const [idle, reader] = [await ask('/idle'), await ask('/')];
      let read = 0;
      reader.on('data', (bytes: Buffer) => {
        read += bytes.length;
      });
      await until('16 MB were read', () => read >= 16 * MB);
      await ask('/');
      await until('the third one is closed', () => closed === 1);
      assert.deepEqual([idle.destroyed, reader.destroyed], [false, false]);
    });
  });
});
