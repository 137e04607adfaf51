/** `nats.replicas`: what is rendered, and three real servers with that configuration and the setup's certificate. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBus } from '../../src/platform/bus/connect.ts';
import { INBOX } from '../../src/platform/bus/permissions.ts';
import { managerOf } from '../../src/platform/bus/results.ts';
import { ensureStreams, raiseReplicas } from '../../src/platform/bus/streams.ts';
import { natsTls } from '../../src/service/setup/certificates.ts';
import { natsAuth } from '../../src/service/setup/secrets.ts';
import { freePort } from '../free_port.ts';
import { binary } from '../kube/apiserver.ts';
import { currentCopies } from '../bus/three_servers.ts';
import { until } from '../until.ts';
import { container, environmentOf, only, podsOf, refusal, render } from './render.ts';

const THREE = { nats: { replicas: 3 } };
const NAME = 'probeyard-nats-cluster';
const HOSTS = [0, 1, 2].map((index) => `${NAME}-${index}.${NAME}.probeyard.svc`);

describe('chart: NATS of three servers', function () {
  this.timeout(90_000);

  it('one server keeps its StatefulSet, whose service and order of pods cannot be changed', () => {
    const { spec } = only(render(), 'StatefulSet', 'probeyard-nats');
    assert.deepEqual([spec.replicas, spec.serviceName, spec.podManagementPolicy], [1, 'probeyard-nats', undefined]);
    assert.doesNotMatch(only(render(), 'ConfigMap', 'probeyard-nats')['data']['nats.conf'] as string, /cluster/);
  });

  it('three have a StatefulSet, a headless Service and a budget of their own', () => {
    const objects = render(THREE);
    const { spec } = only(objects, 'StatefulSet', NAME);
    assert.deepEqual([spec.replicas, spec.serviceName, spec.podManagementPolicy], [3, NAME, 'Parallel']);
    assert.equal(spec.template.spec.topologySpreadConstraints.length, 1);
    assert.deepEqual(
      objects.filter(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === 'probeyard-nats'),
      [],
    );
    const service = only(objects, 'Service', NAME)['spec'];
    assert.deepEqual([service.clusterIP, service.publishNotReadyAddresses], ['None', true]);
    assert.equal(only(objects, 'PodDisruptionBudget', NAME)['spec'].maxUnavailable, 1);
    assert.equal(only(render({ nats: { replicas: 5 } }), 'StatefulSet', NAME)['spec'].replicas, 5);
  });

  it('every client is given every server, and the certificate names them', () => {
    const objects = render(THREE);
    const urls = HOSTS.map((host) => `tls://${host}:4222`).join(',');
    for (const name of ['api', 'controller']) {
      const environment = environmentOf(container(objects, name));
      assert.equal(environment['PY_NATS_URL'], urls);
      if (name === 'controller') assert.equal(environment['PY_RUNNER_NATS_URL'], urls);
    }
    const setup = environmentOf(container(objects, 'setup'))['PY_NATS_HOSTS']!.split(',');
    for (const host of [...HOSTS, 'probeyard-nats.probeyard.svc']) assert.ok(setup.includes(host), host);
    assert.equal(environmentOf(container(objects, 'renew'))['PY_NATS_HOSTS'], setup.join(','));
  });

  it('only servers reach the port of routes', () => {
    const { ingress, egress } = only(render(THREE), 'NetworkPolicy', 'probeyard-nats')['spec'];
    const peers = (rule: { from?: object[]; to?: object[] }) => JSON.stringify(rule.from ?? rule.to);
    const routes = [...ingress, ...egress].filter(({ ports }) =>
      ports.some(({ port }: { port: number }) => port === 6222),
    );
    assert.equal(routes.length, 2);
    for (const rule of routes) {
      assert.match(peers(rule), /"app.kubernetes.io\/component":"nats"/);
      assert.doesNotMatch(peers(rule), /runner|namespaceSelector/);
    }
  });

  for (const [title, values, message] of [
    ['an even number', { nats: { replicas: 2 } }, /nats.replicas|replicas.*must be one of|enum/],
    [
      'one address and several',
      { nats: { external: { url: 'tls://a:4222', urls: ['tls://b:4222'] } } },
      /set url or urls, not both/,
    ],
  ] as const)
    it(`refuses ${title}`, () => assert.match(refusal(values), message));

  it('an external NATS of several servers, with an account and credentials of its own', () => {
    const objects = render({
      nats: {
        external: {
          urls: ['tls://a.example:4222', 'tls://b.example:4222'],
          account: 'MEDIA',
          apiKey: 'api.creds',
          controllerKey: 'controller.creds',
        },
        streamReplicas: 5,
      },
    });
    assert.deepEqual(
      podsOf(objects).filter(({ owner }) => owner.includes('nats')),
      [],
    );
    const environment = environmentOf(container(objects, 'controller'));
    assert.deepEqual(
      ['PY_NATS_URL', 'PY_NATS_ACCOUNT', 'PY_NATS_STREAM_REPLICAS'].map((name) => environment[name]),
      ['tls://a.example:4222,tls://b.example:4222', 'MEDIA', '5'],
    );
    assert.match(
      JSON.stringify(only(objects, 'Deployment', 'probeyard-api')),
      /"key":"api.creds","path":"nats\/api.nk"/,
    );
  });
});

describe("chart: three NATS servers with the chart's configuration", function () {
  this.timeout(120_000);
  const children: ChildProcess[] = [];
  let folder: string;
  let output = '';

  after(async () => {
    for (const child of children.filter(({ exitCode }) => exitCode === null)) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  });

  it('they form a cluster over TLS, and streams have three copies', async () => {
    folder = mkdtempSync(join(tmpdir(), 'probeyard-chart-cluster-'));
    const text = only(render(THREE), 'ConfigMap', 'probeyard-nats')['data']['nats.conf'] as string;
    const [tls, auth] = [await natsTls([...HOSTS, 'localhost']), natsAuth()];
    const ports = await Promise.all(
      HOSTS.map(async () => ({ client: await freePort(), monitor: await freePort(), route: await freePort() })),
    );
    for (const [index, { client, monitor, route }] of ports.entries()) {
      const home = join(folder, String(index));
      mkdirSync(join(home, 'tls'), { recursive: true });
      const own = HOSTS.reduce(
        (conf, host, other) => conf.replaceAll(`tls://${host}:6222`, `tls://localhost:${ports[other]!.route}`),
        text
          .replace('port: 4222', `port: ${client}`)
          .replace('http_port: 8222', `http: "127.0.0.1:${monitor}"`)
          .replace('port: 6222', `port: ${route}`),
      );
      for (const [name, content] of [
        ['nats.conf', own.replaceAll('/etc/nats/', `${home}/`).replace('store_dir: /data', `store_dir: ${home}/data`)],
        ['auth.conf', auth['auth.conf']],
        ['tls/tls.crt', tls['tls.crt']],
        ['tls/tls.key', tls['tls.key']],
        ['tls/ca.crt', tls['ca.crt']],
      ])
        writeFileSync(join(home, name!), content!);
      const child = spawn(binary('nats-server'), ['-c', join(home, 'nats.conf')], {
        env: { PY_POD_NAME: `${NAME}-${index}` },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      child.stderr.on('data', (part: Buffer) => (output += part.toString()));
      children.push(child);
    }
    for (const { monitor } of ports)
      await until(
        'the server is ready',
        async () => {
          const { status } = await fetch(`http://127.0.0.1:${monitor}/healthz`, { signal: AbortSignal.timeout(1_000) });
          return status === 200;
        },
        30_000,
      ).catch((error: unknown) => assert.fail(`${String(error)}\n${output.slice(-3_000)}`));
    const files = { ca: join(folder, 'ca.crt'), key: join(folder, 'controller.nk') };
    writeFileSync(files.ca, tls['ca.crt']!);
    writeFileSync(files.key, auth['controller.nk']!);
    const bus = await connectBus({
      url: ports.map(({ client }) => `tls://localhost:${client}`).join(','),
      caFile: files.ca,
      credentialsFile: files.key,
      name: 'controller',
      inboxPrefix: INBOX.controller,
    });
    try {
      const manager = await managerOf(bus);
      await until('the streams exist', () => ensureStreams(manager).then(() => true), 30_000);
      await until(
        'each has three copies',
        async () => {
          await raiseReplicas(manager);
          return (await currentCopies(bus)).every((count) => count === 3);
        },
        60_000,
      );
    } finally {
      await bus.connection.close();
    }
  });
});
