/** What `probeyard source` says of an answer of the API. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { execute } from './rig.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
const ID = '019a5f3e-8a00-7000-8000-000000000001';

describe('probeyard source', function () {
  this.timeout(60_000);

  it('new-key: the address for events has the path that the API lies below', async () => {
    const server = createServer((incoming, outgoing) => {
      assert.equal(incoming.url, `/media/v1/source/${ID}/key`);
      outgoing.end(JSON.stringify({ id: ID, events_key: 'key' }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/media`;
      const { code, stdout, stderr } = await execute([process.execPath, MAIN, 'source', 'new-key', ID], {
        env: { PROBEYARD_URL: url, PROBEYARD_TOKEN: 'a'.repeat(64) },
      });
      assert.deepEqual([code, stdout.toString()], [0, `${ID}\n`], stderr);
      assert.ok(stderr.includes(`\n${url}/v1/source/${ID}/events?key=key\n`), stderr);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});
