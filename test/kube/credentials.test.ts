import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeClient, PODS } from '../../src/platform/kube/client.ts';
import { ofServiceAccount } from '../../src/platform/kube/credentials.ts';

describe('credentials for the API server', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'credentials-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);

  it('are the service account of the pod, also at an IPv6 address, and its files as they are now', () => {
    put('token', 'tok\n');
    put('ca.crt', 'ca');
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    const found = ofServiceAccount(folder, env);
    assert.equal(found.server, 'https://[fd00::1]:443');
    assert.deepEqual(found.read(), { tls: { ca: Buffer.from('ca') }, headers: { authorization: 'Bearer tok' } });
    put('token', 'next');
    assert.deepEqual(found.read().headers, { authorization: 'Bearer next' });
    assert.equal(
      ofServiceAccount(folder, { ...env, KUBERNETES_SERVICE_HOST: '10.96.0.1' }).server,
      'https://10.96.0.1:443',
    );
  });

  it('that are not there are named', () => {
    const credentials = ofServiceAccount(join(folder, 'none'));
    assert.throws(() => makeClient({ namespace: 'media', credentials }), /ENOENT.*none\/ca\.crt/);
  });

  it('that have changed are sent again by each of the calls that were refused', async () => {
    let token = 'old';
    const refused: ServerResponse[] = [];
    const server = createServer(({ headers }, response) => {
      if (headers.authorization === 'new') return void response.end('{"metadata":{},"items":[]}');
      response.statusCode = 401;
      if (refused.push(response) < 3) return;
      token = 'new';
      for (const one of refused) one.end('{}');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const read = () => ({ tls: {}, headers: { authorization: token } });
    await using client = makeClient({ namespace: 'media', credentials: { server: `http://127.0.0.1:${port}`, read } });
    try {
      await Promise.all([1, 2, 3].map(() => client.list(PODS)));
      assert.equal(refused.length, 3);
    } finally {
      server.close();
    }
  });
});
