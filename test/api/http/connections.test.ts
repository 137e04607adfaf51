import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { listen, type HttpServer } from '../../../src/service/api/http/http_server.ts';
import { until } from '../../until.ts';

describe('open connections', function () {
  this.timeout(30_000);
  let server: HttpServer;
  let sockets: Socket[] = [];
  let refused: string[] = [];
  const start = async (byAddress: boolean): Promise<void> => {
    server = await listen(
      (_request, response) => response.end('ok'),
      { host: '127.0.0.1', port: 0 },
      () => 'id',
      { connections: { most: 10, byAddress, onRefused: (by) => refused.push(by) } },
    );
  };
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close(1_000);
    sockets = [];
    refused = [];
  });

  /** Whether a call over a new connection from this address is answered; the connection stays open. */
  const isAnswered = (localAddress = '127.0.0.1'): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect({ port: server.port, host: '127.0.0.1', localAddress });
      sockets.push(socket);
      socket.on('error', () => {}).on('close', () => resolve(false));
      socket.once('data', () => resolve(true));
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    });
  const answered = async (count: number, address?: string): Promise<number> => {
    let all = 0;
    for (let at = 0; at < count; at++) if (await isAnswered(address)) all += 1;
    return all;
  };

  it('are at most as many as set, and a place is free again when one is closed', async () => {
    await start(false);
    assert.equal(await answered(12), 10);
    assert.deepEqual(refused, ['replica', 'replica']);
    sockets[0]!.destroy();
    await until('the place is free', () => isAnswered());
  });

  it('of one address are at most half, and a further address has half of the rest', async () => {
    await start(true);
    assert.equal(await answered(8), 5);
    assert.equal(await answered(5, '127.0.0.2'), 3);
    assert.equal(await answered(1, '127.0.0.3'), 1);
    assert.deepEqual(refused, Array(5).fill('address'));
    for (const socket of sockets.slice(0, 3)) socket.destroy();
    await until('the address may open one again', () => isAnswered());
  });
});
