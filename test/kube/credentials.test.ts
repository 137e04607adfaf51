import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { makeClient, PODS } from '../../src/platform/kube/client.ts';
import { credentialsOf, ofServiceAccount } from '../../src/platform/kube/credentials.ts';
import { isKubeError } from '../../src/platform/kube/errors.ts';
import { testApiServer, type TestApiServer } from './apiserver.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('credentials for the API server', function () {
  this.timeout(60_000);
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'credentials-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const put = (name: string, text: string): string => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  };

  const kubeconfig = (user: object | null, cluster: object = {}): string =>
    put(
      'config',
      stringify({
        'current-context': 'one',
        contexts: [
          { name: 'one', context: { cluster: 'c', user: 'u', namespace: 'media' } },
          { name: 'two', context: { cluster: 'd', user: 'u' } },
        ],
        clusters: [
          { name: 'c', cluster: { server: 'https://api.example:6443', ...cluster } },
          { name: 'd', cluster: { server: 'https://other.example' } },
        ],
        users: [{ name: 'u', user }],
      }),
    );

  describe('of a kubeconfig', () => {
    it('are its certificates as data', async () => {
      const file = kubeconfig(
        { 'client-certificate-data': base64('cert'), 'client-key-data': base64('key') },
        { 'certificate-authority-data': base64('ca'), 'tls-server-name': 'name.example' },
      );
      const found = await credentialsOf({ kubeconfig: file });
      assert.deepEqual([found.server, found.namespace], ['https://api.example:6443', 'media']);
      assert.deepEqual(await found.read(), {
        tls: { ca: Buffer.from('ca'), cert: Buffer.from('cert'), key: Buffer.from('key'), servername: 'name.example' },
        headers: {},
      });
    });

    it('are its files, relative to it, read again each time', async () => {
      const token = put('token', 'first\n');
      put('ca.crt', 'ca');
      const file = kubeconfig(
        { 'auth-provider': { name: 'tokenFile', config: { tokenFile: token } } },
        { 'certificate-authority': 'ca.crt' },
      );
      const found = await credentialsOf({ kubeconfig: file });
      assert.deepEqual(await found.read(), {
        tls: { ca: Buffer.from('ca') },
        headers: { authorization: 'Bearer first' },
      });
      put('token', 'second');
      assert.deepEqual((await found.read()).headers, { authorization: 'Bearer second' });
    });

    it('are those of the context that is named', async () => {
      const file = kubeconfig({ token: 't' });
      const found = await credentialsOf({ kubeconfig: file, context: 'two' });
      assert.deepEqual([found.server, found.namespace], ['https://other.example', undefined]);
      assert.deepEqual(await found.read(), { tls: {}, headers: { authorization: 'Bearer t' } });
    });

    it('do not verify a server only if it says so', async () => {
      const file = kubeconfig({ token: 't' }, { 'insecure-skip-tls-verify': true });
      assert.deepEqual((await (await credentialsOf({ kubeconfig: file })).read()).tls, { rejectUnauthorized: false });
    });

    for (const [what, cluster, text] of [
      ['a proxy', { 'proxy-url': 'http://proxy.example' }, 'proxy-url in a kubeconfig is not supported'],
      [
        'a server without TLS',
        { server: 'http://api.example' },
        'the kubeconfig names http://api.example: only https is supported',
      ],
    ] as const)
      it(`are refused with ${what}`, async () => {
        await assert.rejects(
          credentialsOf({ kubeconfig: kubeconfig({ token: 't' }, cluster) }),
          (error) => isKubeError(error, 'configuration') && error.message === text,
        );
      });

    it('are refused with a context that it does not have', async () => {
      const file = kubeconfig({ token: 't' });
      await assert.rejects(
        credentialsOf({ kubeconfig: file, context: 'none' }),
        (error) => isKubeError(error, 'configuration') && error.message.startsWith('no cluster in the kubeconfig'),
      );
    });

    it('are those of client-node for a name with a password', async () => {
      const file = kubeconfig({ username: 'me', password: 'secret' });
      const { headers } = await (await credentialsOf({ kubeconfig: file })).read();
      assert.deepEqual(headers, { authorization: `Basic ${base64('me:secret')}` });
    });
  });

  it('of a pod are its service account, also at an IPv6 address', async () => {
    put('token', 'tok\n');
    put('ca.crt', 'ca');
    put('namespace', 'probeyard\n');
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    const found = ofServiceAccount(folder, env);
    assert.deepEqual([found.server, found.namespace], ['https://[fd00::1]:443', 'probeyard']);
    assert.deepEqual(await found.read(), {
      tls: { ca: Buffer.from('ca') },
      headers: { authorization: 'Bearer tok' },
    });
    assert.equal(
      ofServiceAccount(folder, { ...env, KUBERNETES_SERVICE_HOST: '10.96.0.1' }).server,
      'https://10.96.0.1:443',
    );
  });

  describe('at a real API server', () => {
    let server: TestApiServer;
    before(async () => {
      server = await testApiServer({ own: true });
    });

    it('a certificate or token needs nothing of client-node, which takes 37 MB', () => {
      const hook = `import { registerHooks } from 'node:module';
        registerHooks({ resolve(name, context, next) {
          if (name.startsWith('@kubernetes/')) throw new Error('loaded ' + name);
          return next(name, context);
        } });`;
      const module = JSON.stringify(join(import.meta.dirname, '../../src/platform/kube/client.ts'));
      const script = `const { makeClient, PODS } = await import(${module});
        const client = await makeClient({ kubeconfig: ${JSON.stringify(server.kubeconfig)} });
        console.log(JSON.stringify((await client.list(PODS)).items));
        await client.close();`;
      const args = [
        '--import',
        `data:text/javascript,${encodeURIComponent(hook)}`,
        '--input-type=module',
        '-e',
        script,
      ];
      assert.equal(execFileSync(process.execPath, args, { encoding: 'utf8' }).trim(), '[]');
    });

    it('a plugin signs in', async () => {
      const config = parse(readFileSync(server.kubeconfig, 'utf8')) as {
        users: { user: { token?: string; exec?: object } }[];
      };
      const { token } = config.users[0]!.user;
      assert.ok(token, 'the test server has a user with a token');
      const status = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token } };
      config.users[0]!.user = {
        exec: {
          apiVersion: 'client.authentication.k8s.io/v1',
          command: 'cat',
          args: [put('credential', JSON.stringify(status))],
          interactiveMode: 'Never',
        },
      };
      const client = await makeClient({ kubeconfig: put('plugin', stringify(config)) });
      try {
        assert.deepEqual((await client.list(PODS)).items, []);
      } finally {
        await client.close();
      }
    });
  });
});
