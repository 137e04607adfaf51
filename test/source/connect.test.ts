import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { openSocket, trustedContext } from '../../src/source/http/connect.ts';
import { makeGuard, type Guard } from '../../src/source/address/guard.ts';

describe('a socket to an origin', () => {
  it('is closed at once if the connected address was not allowed, whatever the look-up returned', async () => {
    let said = '';
    const closed = Promise.withResolvers<void>();
    const server = createServer((socket) =>
      socket
        .on('data', (text) => {
          said += text.toString();
        })
        .on('close', () => closed.resolve())
        .on('error', () => {}),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    // A normal guard whose look-up was tricked.
    const guard: Guard = { ...makeGuard(), resolveAndCheck: async () => [{ address: '127.0.0.1', family: 4 }] };
    try {
      const opening = openSocket('origin.example', (server.address() as AddressInfo).port, false, {
        guard,
        verify: true,
        context: trustedContext(undefined),
        egress: undefined,
        timeoutMs: 5_000,
      });
      await assert.rejects(opening, { code: 'refused' });
      await closed.promise;
      assert.equal(said, '');
    } finally {
      server.close();
    }
  });
});
