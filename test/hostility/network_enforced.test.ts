/**
 * The chart's NetworkPolicies where the network enforces them: `make up NETWORK_POLICY=1`, then this file. Connections
 * start in the network namespace of a pod, outside of every other wall.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { PODS, PROBE_POOLS, type KubeClient, type Pod } from '../../src/platform/kube/client.ts';
import { kubeClient } from '../kube/kubeconfig.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { localCluster } from '../cluster/connect.ts';
import { NAMESPACE, RUNNERS, eventually } from '../cluster/fixture.ts';
import { run } from '../node/command.ts';
import { BRIDGE, NODE } from '../node/layout.ts';
import { readSettings } from '../node/settings.ts';
import { record } from './record.ts';

/** Of a range for examples (RFC 5737), which policies do not know as one. */
const PUBLIC = '203.0.113.7';
const LINK_LOCAL = '169.254.77.77';
const PORT = 18_080;

/** A refused connection has reached its target. A dropped one is silent. */
const CONNECT = `const [host, port] = process.argv.slice(1);
const socket = require('node:net').connect({ host, port: Number(port) });
const end = (verdict) => { console.log(verdict); process.exit(); };
socket.setTimeout(5_000, () => end('closed'));
socket.once('connect', () => end('open'));
socket.once('error', ({ code }) => end(code === 'ECONNREFUSED' ? 'open' : code === 'ETIMEDOUT' ? 'closed' : code));`;

/** Processes of a pod are in a cgroup that has its uid. */
function processOf({ metadata: { name, uid } }: Pod): string {
  const found = readdirSync('/proc').find((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(`pod${uid}`);
    } catch {
      return false;
    }
  });
  return found ?? assert.fail(`no process of ${name} is on this machine`);
}

async function connects(from: Pod, host: string, port: number): Promise<string> {
  const args = [`--net=/proc/${processOf(from)}/ns/net`, process.execPath, '-e', CONNECT, host, String(port)];
  return (await run('nsenter', args)).trim();
}

describe('NetworkPolicies, enforced by the network of the cluster', function () {
  this.timeout(120_000);
  let kube: KubeClient;
  let api: string;
  const servers: Server[] = [];
  before(async function () {
    api = (await readSettings(NODE))?.apiIp ?? '';
    if (api === '') {
      console.log('    skipped: the node enforces no policies: make down, then make up NETWORK_POLICY=1');
      return this.skip();
    }
    kube = await kubeClient({ kubeconfig: (await localCluster()).kubeconfig, namespace: NAMESPACE });
    // Addresses of this machine: whether a packet comes through is up to policies, not to its internet.
    for (const address of [PUBLIC, LINK_LOCAL]) {
      await run('ip', ['address', 'replace', `${address}/32`, 'dev', BRIDGE]);
      const server = createServer().listen(PORT, address);
      servers.push(server);
      await once(server, 'listening');
    }
  });
  after(async () => {
    for (const server of servers) server.close();
    if (servers.length > 0)
      for (const address of [PUBLIC, LINK_LOCAL])
        await run('ip', ['address', 'delete', `${address}/32`, 'dev', BRIDGE]);
  });

  const podOf = async (component: string, namespace = NAMESPACE, label: string = LABEL.component): Promise<Pod> =>
    (await kube.listAll(PODS, { namespace, labelSelector: `${label}=${component}` })).items.find(
      ({ status, metadata }) => status?.phase === 'Running' && metadata.deletionTimestamp === undefined,
    ) ?? assert.fail(`no ${component} runs`);
  const dns = () => podOf('kube-dns', 'kube-system', 'k8s-app');
  const runner = () => podOf('runner', RUNNERS);
  const otherRunner = async (): Promise<string> => {
    const first = (await runner()).status?.podIP;
    const all = (await kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.component}=runner` })).items;
    return all.map(({ status }) => status?.podIP).find((ip) => ip !== undefined && ip !== first)!;
  };
  const of = (component: string) => async () => (await podOf(component)).status!.podIP!;
  const service = async () => (await readSettings(NODE))!.serviceAddress;

  const from = { runner, 'a foreign pod': dns, 'an API pod': () => podOf('api') };
  const ATTEMPTS: [keyof typeof from, string, () => Promise<string> | string, number, 'open' | 'closed'][] = [
    ['runner', "the API server's service", service, 443, 'closed'],
    ['runner', 'the API server', () => api, 6443, 'closed'],
    ['runner', 'the kubelet, by an address that no origin has', () => api, 10250, 'closed'],
    ['runner', 'a link-local address, as of metadata', () => LINK_LOCAL, PORT, 'closed'],
    ['runner', 'Postgres', of('postgres'), 5432, 'closed'],
    ['runner', 'metrics of the API', of('api'), 9090, 'closed'],
    ['runner', 'another runner', otherRunner, 8080, 'closed'],
    ['runner', 'the monitor of NATS', of('nats'), 8222, 'closed'],
    ['runner', 'NATS', of('nats'), 4222, 'open'],
    ['runner', 'the name service', async () => (await readSettings(NODE))!.dnsAddress, 53, 'open'],
    ['runner', 'samples', of('samples'), 8080, 'open'],
    ['runner', 'a public address', () => PUBLIC, PORT, 'open'],
    ['a foreign pod', 'a link-local address, which is there', () => LINK_LOCAL, PORT, 'open'],
    ['a foreign pod', "the API server's service", service, 443, 'open'],
    ['a foreign pod', 'NATS', of('nats'), 4222, 'closed'],
    ['a foreign pod', 'the monitor of NATS', of('nats'), 8222, 'closed'],
    ['a foreign pod', 'Postgres', of('postgres'), 5432, 'closed'],
    ['a foreign pod', 'a runner', async () => (await runner()).status!.podIP!, 8080, 'closed'],
    ['a foreign pod', 'uploads of the API', of('api'), 8081, 'closed'],
    ['a foreign pod', 'the API', of('api'), 8080, 'open'],
    ['a foreign pod', 'metrics of the API, as outside of the namespace of runners', of('api'), 9090, 'open'],
    ['an API pod', 'Postgres', of('postgres'), 5432, 'open'],
    ['an API pod', "the API server's service", service, 443, 'open'],
    ['an API pod', 'a link-local address', () => LINK_LOCAL, PORT, 'closed'],
  ];
  for (const [who, what, address, port, expected] of ATTEMPTS)
    it(`from ${who} to ${what}: ${expected}`, async () => {
      const got = await connects(await from[who](), await address(), port);
      record({ group: 'network', attempt: `Enforced: from ${who} to ${what}`, expected, got });
      assert.equal(got, expected);
    });

  it('every pool says that policies are enforced', async () => {
    await eventually('NetworkEnforced is True where there are runners', 60, async () => {
      const { items } = await kube.listAll(PROBE_POOLS, { namespace: NAMESPACE });
      const told = items
        .flatMap(({ status }) => status?.conditions ?? [])
        .filter(({ type }) => type === 'NetworkEnforced')
        .map(({ status }) => status);
      return told.includes('True') && !told.includes('False');
    });
  });
});
