/** The NATS server accepts the configuration from the chart and the setup, and answers the kubelet's probes. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
// Required by the dependency injection of the certificate library.
import 'reflect-metadata';
import { X509CertificateGenerator, PemConverter } from '@peculiar/x509';
import { createAccount, createUser } from 'nkeys.js';
import { natsServerConfig } from '../../src/platform/bus/server_config.ts';
import { freePort } from '../free_port.ts';
import { binary } from '../kube/apiserver.ts';
import { only, render } from './render.ts';

async function selfSigned(): Promise<{ certificate: string; key: string }> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=probeyard-nats',
    keys,
    signingAlgorithm: algorithm,
  });
  return {
    certificate: certificate.toString('pem'),
    key: PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY'),
  };
}

describe('chart: NATS server', function () {
  this.timeout(60_000);
  let folder: string;
  let server: ChildProcess;
  let monitor: number;
  let output = '';

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-chart-nats-'));
    mkdirSync(join(folder, 'tls'));
    const port = await freePort();
    monitor = await freePort();
    const conf = (only(render(), 'ConfigMap', 'probeyard-nats')['data']['nats.conf'] as string)
      .replaceAll('/etc/nats/', `${folder}/`)
      .replace('/data', join(folder, 'data'))
      .replace('port: 4222', `port: ${port}`)
      .replace('http_port: 8222', `http: "127.0.0.1:${monitor}"`);
    const [api, controller, issuer] = [createUser(), createUser(), createAccount()].map((pair) =>
      pair.getPublicKey(),
    ) as [string, string, string];
    const { certificate, key } = await selfSigned();
    for (const [name, text] of [
      ['nats.conf', conf],
      ['auth.conf', natsServerConfig({ api, controller, issuer })],
      ['tls/tls.crt', certificate],
      ['tls/tls.key', key],
    ] as const)
      writeFileSync(join(folder, name), text);
  });

  after(async () => {
    if (server && server.exitCode === null) {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  });

  const answers = (path: string) =>
    fetch(`http://127.0.0.1:${monitor}${path}`, { signal: AbortSignal.timeout(1_000) }).then(
      ({ status }) => status,
      () => 0,
    );

  it("starts, and is healthy at every path of the kubelet's probes", async () => {
    const container = only(render(), 'StatefulSet', 'probeyard-nats')['spec'].template.spec.containers[0] as {
      args: string[];
      env: { name: string }[];
    } & Record<string, { httpGet: { path: string } }>;
    server = spawn(
      binary('nats-server'),
      container.args.map((arg) => arg.replace('/etc/nats/', `${folder}/`)),
      {
        env: Object.fromEntries(container.env.map(({ name }) => [name, 'probeyard-nats-0'])),
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    server.stderr!.on('data', (text: Buffer) => {
      output += text.toString();
    });
    const deadline = performance.now() + 20_000;
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
      const { path } = container[probe]!.httpGet;
      while ((await answers(path)) !== 200) {
        assert.equal(server.exitCode, null, output);
        assert.ok(performance.now() < deadline, `${path} is not healthy: ${output}`);
        await pause(50);
      }
    }
  });

  it('is restarted when a stream cannot be written, unless other servers have copies to catch up with', () => {
    const liveness = (values: object, name: string): string =>
      only(render(values), 'StatefulSet', name)['spec'].template.spec.containers[0].livenessProbe.httpGet
        .path as string;
    assert.equal(liveness({}, 'probeyard-nats'), '/healthz');
    assert.equal(liveness({ nats: { replicas: 3 } }, 'probeyard-nats-cluster'), '/healthz?js-enabled-only=true');
  });

  it('is named after its pod, requires TLS, and limits JetStream', async () => {
    const info = (await (await fetch(`http://127.0.0.1:${monitor}/varz`)).json()) as {
      server_name: string;
      tls_required: boolean;
      jetstream: { config: { max_storage: number } };
    };
    assert.equal(info.server_name, 'probeyard-nats-0');
    assert.equal(info.tls_required, true);
    assert.equal(info.jetstream.config.max_storage, 2 * 1024 ** 3);
  });

  it('refuses malformed requests to JetStream', () => {
    assert.match(
      only(render(), 'ConfigMap', 'probeyard-nats')['data']['nats.conf'] as string,
      /jetstream \{[^}]*\n\s+strict: true\n[^}]*\}/,
    );
  });

  it('closes its monitor to every pod, because the policy opens only the client port', () => {
    const { ingress } = only(render(), 'NetworkPolicy', 'probeyard-nats')['spec'] as {
      ingress: { ports: { port: number }[] }[];
    };
    assert.deepEqual(
      ingress.flatMap(({ ports }) => ports.map(({ port }) => port)),
      [4222],
    );
    assert.deepEqual(
      only(render(), 'Service', 'probeyard-nats')['spec'].ports.map(({ port }: { port: number }) => port),
      [4222],
    );
  });

  it("has its certificate renewed daily, unless the Secret or the server is the operator's own", () => {
    const names = (values: object) =>
      render(values)
        .filter(({ metadata }) => metadata.name === 'probeyard-renewal')
        .map(({ kind }) => kind)
        .sort();
    assert.deepEqual(names({}), ['CronJob', 'NetworkPolicy', 'Role', 'RoleBinding', 'ServiceAccount']);
    assert.deepEqual(
      [names({ setup: { enabled: false } }), names({ nats: { external: { url: 'tls://nats:4222' } } })],
      [[], []],
    );
    const [renew] = only(render(), 'CronJob', 'probeyard-renewal')['spec'].jobTemplate.spec.template.spec
      .containers as { env: { name: string; value?: string }[] }[];
    const [setup] = only(render(), 'Job', 'probeyard-setup')['spec'].template.spec.containers as {
      env: { name: string; value?: string }[];
    }[];
    const hosts = (env: { name: string; value?: string }[] | undefined) =>
      env?.find(({ name }) => name === 'PY_NATS_HOSTS')?.value;
    assert.ok(hosts(renew?.env));
    assert.equal(hosts(renew?.env), hosts(setup?.env));
  });
});
