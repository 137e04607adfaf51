import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeClient } from '../../src/platform/kube/client.ts';
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
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443', PY_SERVICE_ACCOUNT: folder };
    const found = ofServiceAccount(env);
    assert.equal(found.server, 'https://[fd00::1]:443');
    assert.deepEqual(found.read(), { tls: { ca: Buffer.from('ca') }, headers: { authorization: 'Bearer tok' } });
    put('token', 'next');
    assert.deepEqual(found.read().headers, { authorization: 'Bearer next' });
    assert.equal(ofServiceAccount({ ...env, KUBERNETES_SERVICE_HOST: '10.96.0.1' }).server, 'https://10.96.0.1:443');
  });

  it('that are not there are named', () => {
    const credentials = ofServiceAccount({ PY_SERVICE_ACCOUNT: join(folder, 'none') });
    assert.throws(() => makeClient({ namespace: 'media', credentials }), /ENOENT.*none\/ca\.crt/);
  });
});
