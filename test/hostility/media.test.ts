import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { PODS, isKubeError } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { hasNode } from '../cluster/broken_images.ts';
import { NAMESPACE, RUNNERS, cluster, eventually, fixtures, type Cluster } from '../cluster/fixture.ts';
import { settingsOfController } from '../cluster/settings_of_controller.ts';
import type { Attempt } from './attacker.ts';
import { finding, leaving } from './left_behind.ts';
import { record } from './record.ts';
import { attack, install, runners, uninstall, type Attacked } from './taken_over.ts';

/**
 * The launcher makes a tool's connections, only to the port of its source. A NetworkPolicy is a second wall around it.
 */
const NO_WAY: RegExp = /^EACCES$/;
const REFUSED: RegExp = /^(?:EACCES|EPERM)$/;
const READ_ONLY: RegExp = /^(?:EROFS|EACCES|EPERM)$/;
const ABSENT: RegExp = /^ENOENT$/;

interface Places {
  nats: string;
  natsPod: string;
  postgres: string;
  api: string;
  apiServer: string;
  node: string;
  dns: string;
  otherPod: string;
  host: string;
  trap: number;
}

const network = (at: Places): Attempt[] => [
  { name: 'NATS, by its service', do: `tcp|${at.nats}|4222`, expect: NO_WAY },
  { name: 'NATS, by its pod', do: `tcp|${at.natsPod}|4222`, expect: NO_WAY },
  { name: 'Postgres', do: `tcp|${at.postgres}|5432`, expect: NO_WAY },
  { name: 'the API of this installation', do: `tcp|${at.api}|80`, expect: NO_WAY },
  { name: 'the API server', do: `tcp|${at.apiServer}|443`, expect: NO_WAY },
  { name: 'the node: kubelet', do: `tcp|${at.node}|10250`, expect: NO_WAY },
  { name: 'the node: etcd', do: `tcp|${at.node}|2379`, expect: NO_WAY },
  { name: 'another runner', do: `tcp|${at.otherPod}|8081`, expect: NO_WAY },
  { name: "its own agent's health port", do: 'tcp|127.0.0.1|8081', expect: NO_WAY },
  { name: 'the metadata of a cloud', do: 'tcp|169.254.169.254|80', expect: NO_WAY },
  { name: 'an outside address, past the source proxy', do: `tcp|${at.host}|${at.trap}`, expect: NO_WAY },
  { name: 'an outside address, with the first packet', do: `fastopen|${at.host}|${at.trap}`, expect: REFUSED },
  {
    name: 'an outside address, swapped while the launcher looks',
    do: `race|${at.host}|${at.trap}`,
    expect: /^0 elsewhere$/,
  },
  { name: "the cluster's DNS, to carry data out", do: `udp|${at.dns}|53`, expect: REFUSED },
  { name: 'a raw socket', do: 'socket|2|103', expect: REFUSED },
  { name: 'a packet socket', do: 'socket|17|3', expect: REFUSED },
  { name: 'a netlink socket', do: 'socket|16|3', expect: REFUSED },
  { name: 'SCTP', do: 'socket|2|13201', expect: REFUSED },
  { name: 'connecting by io_uring', do: 'uring', expect: /^(?:EPERM|ENOSYS)$/ },
  { name: 'connecting by the numbers of x32', do: 'x32', expect: /^(?:EPERM|ENOSYS)$/ },
  { name: 'listening for others', do: 'listen', expect: REFUSED },
  { name: 'a port of its own', do: 'bind||0', expect: REFUSED },
  { name: "the launcher's socket", do: 'unix|/run/probeyard/launcher.sock', expect: REFUSED },
  { name: 'an abstract socket', do: 'unix|@launcher', expect: REFUSED },
  { name: 'datagrams through a pair', do: 'pair', expect: REFUSED },
];

const secrets: Attempt[] = [
  // Must be first, because 3 is the directory that is read.
  { name: 'files that it inherited', do: 'list|/proc/self/fd', expect: /^0 1 2 3$/ },
  {
    name: 'the token of a service account',
    do: 'read|/var/run/secrets/kubernetes.io/serviceaccount/token',
    expect: ABSENT,
  },
  { name: "the runner's token for NATS", do: 'read|/var/run/probeyard/nats-token/token', expect: ABSENT },
  { name: 'the certificates of NATS', do: 'read|/etc/probeyard/nats-ca/ca.crt', expect: ABSENT },
  {
    name: 'its environment',
    do: 'environ',
    expect: /^HOME LC_ALL http_proxy https_proxy HTTPS_PROXY no_proxy NO_PROXY$/,
  },
  { name: "the launcher's environment", do: 'read|/proc/1/environ', expect: REFUSED },
  { name: "the launcher's memory", do: 'read|/proc/1/mem', expect: REFUSED },
  { name: "the launcher's memory map", do: 'read|/proc/1/maps', expect: REFUSED },
  { name: "the launcher's files", do: 'list|/proc/1/fd', expect: REFUSED },
  { name: "the launcher's root", do: 'list|/proc/1/root/', expect: REFUSED },
  { name: "the launcher's memory, by a call", do: 'vm|1', expect: REFUSED },
  { name: 'tracing the launcher', do: 'ptrace|1', expect: REFUSED },
  { name: 'processes of the agent', do: 'processes', expect: /^0 others$/ },
  { name: "the kernel's key ring", do: 'keyring', expect: /^(?:EPERM|ENOSYS)$/ },
];

const power: Attempt[] = [
  { name: 'another user', do: 'setuid|0', expect: REFUSED },
  { name: "the agent's user", do: 'setuid|65532', expect: REFUSED },
  { name: 'a mount', do: 'mount|/tmp', expect: REFUSED },
  { name: 'another root', do: 'chroot', expect: REFUSED },
  { name: 'a user namespace', do: `unshare|${0x10000000}`, expect: REFUSED },
  { name: 'a network namespace', do: `unshare|${0x40000000}`, expect: REFUSED },
  { name: "the launcher's namespaces", do: 'setns|/proc/1/ns/mnt', expect: REFUSED },
  { name: 'programs in the kernel', do: 'bpf', expect: /^(?:EPERM|ENOSYS)$/ },
  { name: 'ending the launcher: SIGKILL', do: 'kill|1|9', expect: /^sent$/ },
  { name: 'ending the launcher: SIGTERM', do: 'kill|1|15', expect: /^sent$/ },
  { name: 'stopping the launcher', do: 'kill|1|19', expect: /^sent$/ },
  { name: "the launcher's limits", do: 'prlimit|1', expect: REFUSED },
  { name: "the launcher's CPUs", do: 'affinity|1', expect: REFUSED },
  { name: "the launcher's priority", do: 'nice|1|0', expect: REFUSED },
  { name: 'core dumps', do: 'core', expect: REFUSED },
  { name: 'writing at the root', do: 'write|/left', expect: READ_ONLY },
  { name: 'writing to /tmp', do: 'write|/tmp/left', expect: READ_ONLY },
  { name: 'writing into the product', do: 'write|/app/src/main.ts', expect: READ_ONLY },
  { name: 'writing over itself', do: `write|/tools/ffprobe/0.66/bin/ffprobe`, expect: READ_ONLY },
  { name: 'writing beside another tool', do: 'write|/tools/ffprobe/9.0/left', expect: READ_ONLY },
  { name: 'writing a kernel setting', do: 'write|/proc/sys/kernel/core_pattern', expect: READ_ONLY },
  {
    name: 'writing to its cgroup',
    do: 'write|/sys/fs/cgroup/memory/cgroup.procs',
    expect: /^(?:EROFS|EACCES|EPERM|ENOENT)$/,
  },
];

const proxied = (at: Places): Attempt[] => [
  { name: "another job's path at the source proxy", do: `path|/${'0'.repeat(32)}/ffprobe/plan.mp4`, expect: /^404/ },
  { name: "no job's path", do: 'path|/', expect: /^404/ },
  { name: 'a path that climbs', do: 'beside|../../../etc/passwd', expect: /^(?:40\d|502)/ },
  { name: 'a file of the agent', do: 'beside|x/file/etc/passwd', expect: /^40\d/ },
  { name: 'NATS, through the source proxy', do: `beside|x/http/${at.nats}:4222/`, expect: /^403/ },
  { name: 'the API server, through the source proxy', do: `beside|x/https/${at.apiServer}/version`, expect: /^403/ },
  {
    name: 'the metadata of a cloud, through the source proxy',
    do: 'beside|x/http/169.254.169.254/latest/meta-data/',
    expect: /^403/,
  },
  {
    name: "the agent's own health port, through the source proxy",
    do: 'beside|x/http/127.0.0.1:8081/healthz',
    expect: /^403/,
  },
  {
    name: 'the node, as through any proxy',
    do: `proxied|http://${at.node}:10250/pods`,
    expect: at.node === at.host ? /^50\d|^400/ : /^403/,
  },
  {
    name: "as through any proxy, with a job's secret that is not its own",
    do: `proxied|http://${at.host}:${at.trap}/|${'0'.repeat(32)}`,
    expect: /^407/,
  },
  { name: 'a tunnel to NATS', do: `tunnel|${at.nats}:4222`, expect: /^403/ },
  { name: 'a tunnel to the API server', do: `tunnel|${at.apiServer}:443`, expect: /^403/ },
  { name: 'M8: a tunnel to the host of its own source', do: `tunnel|${at.host}:${at.trap}`, expect: /^403/ },
  { name: 'M8: a tunnel to a public address', do: 'tunnel|93.184.216.34:443', expect: /^403/ },
  { name: 'M7: the source as another tool: by its path', do: 'astool|msv|plan.mp4', expect: /^404/ },
  {
    name: 'M7: the source as another tool: as through any proxy',
    do: `loginas|msv|http://${at.host}:${at.trap}/`,
    expect: /^407/,
  },
  { name: 'sending data through the source proxy', do: 'post|plan.mp4', expect: /^405/ },
];

describe('a tool taken over by hostile media', function () {
  this.timeout(180_000);
  let c: Cluster;
  let token: string;
  let at: Places;
  let first: Attacked;
  let second: Attacked;
  let touched = 0;
  const trap = createServer((socket) => {
    touched++;
    socket.on('error', () => {}).destroy();
  });

  const note = (attempt: string, expected: string, got: string) => record({ group: 'media', attempt, expected, got });

  before(async function () {
    if (!hasNode()) {
      console.log('    skipped: images can be brought to the local node alone, and it does not run here');
      this.skip();
    }
    const found = await cluster();
    if ((await settingsOfController(found.kube)).toolsDelivery === 'bundled') {
      console.log('    skipped: its tool is an image of its own, and here all tools are in one image');
      await found.close();
      this.skip();
    }
    c = found;
    await install(c);
    await new Promise<void>((resolve) => trap.listen(0, c.hostIp, resolve));
    const of = async (...args: string[]) => (await c.kubectl(...args)).trim();
    const service = (name: string, namespace: string = NAMESPACE) =>
      of('-n', namespace, 'get', 'svc', name, '-o', 'jsonpath={.spec.clusterIP}');
    const others = (await runners(c)).flatMap(({ status }) => status?.podIP ?? []);
    at = {
      nats: await service('probeyard-nats'),
      postgres: await service('probeyard-postgres'),
      api: await service('probeyard-api'),
      apiServer: await service('kubernetes', 'default'),
      dns: await service('kube-dns', 'kube-system'),
      natsPod: await of('-n', NAMESPACE, 'get', 'pod', 'probeyard-nats-0', '-o', 'jsonpath={.status.podIP}'),
      node: await of('get', 'nodes', '-o', 'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}'),
      otherPod: others[0] ?? assert.fail('no runner'),
      host: c.hostIp,
      trap: (trap.address() as AddressInfo).port,
    };
    ({ token } = await c.newToken());
    first = await attack(c, token, [...secrets, ...network(at), ...power, ...proxied(at), ...leaving]);
    // The pod bound to this account is free shortly after its response.
    second = await eventually('another job in the same pod', 60, async () => {
      const next = await attack(c, token, finding);
      return next.pod === first.pod ? next : undefined;
    });
  });
  after(async () => {
    trap.close();
    if (!c) return;
    await uninstall(c);
    await c.close();
  });

  const lines = (
    title: string,
    attempts: readonly Attempt[] | (() => Attempt[]),
    names: readonly string[],
    of: () => Attacked,
  ) => {
    describe(title, () => {
      for (const name of names) {
        it(name, () => {
          const wanted =
            (typeof attempts === 'function' ? attempts() : attempts).find((one) => one.name === name) ??
            assert.fail('no such attempt');
          const got = of().got[name];
          assert.ok(got !== undefined, `nothing was told: ${of().answer.text.slice(0, 600)}`);
          note(name, String(wanted.expect), got);
          assert.match(got, wanted.expect);
        });
      }
    });
  };
  const blank: Places = {
    nats: '',
    natsPod: '',
    postgres: '',
    api: '',
    apiServer: '',
    node: '',
    dns: '',
    otherPod: '',
    host: '',
    trap: 0,
  };
  const namesOf = (attempts: readonly Attempt[]) => attempts.map(({ name }) => name);

  it('reads its own source, which carried the attempts', () =>
    assert.equal(first.got['its own source'], 'read', first.answer.text.slice(0, 600)));
  lines(
    'connects to nothing but its own source',
    () => network(at),
    namesOf(network(blank)),
    () => first,
  );
  lines('finds no secret', secrets, namesOf(secrets), () => first);
  lines('has no power', power, namesOf(power), () => first);
  lines(
    'gets nothing else from the source proxy',
    () => proxied(at),
    namesOf(proxied(blank)),
    () => first,
  );
  lines('may leave something', leaving, namesOf(leaving), () => first);
  lines('and the next job of the same pod does not find it', finding, namesOf(finding), () => second);

  it('reached none of the traps', () => {
    note('connections at a trap outside', '0', String(touched));
    assert.equal(touched, 0);
  });

  it('ran in the same pod as its second job, in the user namespace, without an identity', async () => {
    assert.equal(second.pod, first.pod);
    const pod = await c.kube.get(PODS, first.pod, { namespace: RUNNERS });
    assert.equal(pod.spec?.automountServiceAccountToken, false);
    assert.doesNotMatch(
      JSON.stringify(pod.spec?.containers?.find(({ name }) => name === 'tools')),
      /token|nats|secret/i,
    );
    assert.equal(
      pod.status?.containerStatuses?.every(({ restartCount }) => restartCount === 0),
      true,
    );
  });

  it('cannot use the credentials of a file for its neighbours', async () => {
    const seen: { path: string; authorized: boolean }[] = [];
    const origin = await c.origin((request, response) => {
      seen.push({ path: request.url ?? '', authorized: request.headers.authorization !== undefined });
      response.end('another file');
    });
    const { got } = await attack(
      c,
      token,
      [
        { name: 'beside', do: 'beside|another.mp4' },
        { name: 'elsewhere', do: `beside|x/http/${new URL(origin.url).host}/taken` },
      ],
      { userInfo: 'user:password@' },
    );
    note(
      "another file with the caller's credentials",
      'asked for without them',
      seen.some(({ authorized }) => authorized) ? 'with them' : 'without them',
    );
    assert.equal(got['its own source'], 'read');
    assert.deepEqual([...new Set(seen.map(({ authorized }) => authorized))], [false]);
  });

  const ends: [title: string, attempts: [string, string][], error: RegExp][] = [
    ['output without an end', [['flood', 'flood']], /ffprobe printed more than the output limit/],
    ['all the memory there is', [['memory', 'memory']], /ran out of memory|printed invalid JSON/],
    ['a crash', [['abort', 'abort']], /ended by SIGABRT/],
  ];
  for (const [title, attempts, error] of ends) {
    it(`${title}: fails with a clear error`, async () => {
      const ended = await attack(
        c,
        token,
        attempts.map(([name, what]) => ({ name, do: what })),
      );
      note(title, String(error), ended.error || JSON.stringify(ended.got));
      assert.equal(ended.answer.status, 200, ended.answer.text.slice(0, 300));
      if (ended.got['memory'] === undefined) assert.match(ended.error, error);
    });
  }

  it('endless processes: are limited to those of one container, and the next job runs', async () => {
    const ended = await attack(c, token, [{ name: 'forks', do: 'fork||20000' }]);
    note('processes without end', 'refused at a limit', ended.error || (ended.got['forks'] ?? ''));
    assert.match(ended.got['forks'] ?? ended.error, /^(?:EAGAIN|ENOMEM) after some$|out of memory|did not finish/);
    const next = await attack(c, token, [{ name: 'processes', do: 'processes' }]);
    assert.equal(next.got['processes'], '0 others');
  });

  it('a pod whose launcher was tampered with gets no other job', async () => {
    const meddled = await attack(c, token, [{ name: 'socket', do: 'replace|/run/probeyard/launcher.sock' }]);
    note("removing the launcher's socket", 'the pod is not used again', meddled.got['socket'] ?? meddled.error);
    if (meddled.got['socket'] !== 'removed') return;
    await eventually('its pod goes', 60, async () => {
      const pod = await c.kube.get(PODS, meddled.pod, { namespace: RUNNERS }).catch((error: unknown) => {
        if (isKubeError(error, 'not-found')) return undefined;
        throw error;
      });
      return pod === undefined || pod.metadata.deletionTimestamp !== undefined || pod.status?.phase !== 'Running';
    });
    const next = await attack(c, token, [{ name: 'processes', do: 'processes' }]);
    assert.notEqual(next.pod, meddled.pod);
    assert.equal(next.got['processes'], '0 others');
  });

  it('other tools of the installation work meanwhile', async () => {
    const { status, json } = await c.probe({ url: `${(await c.origin(fixtures)).url}/tiny.mp4` }, { token });
    assert.equal(status, 200);
    assert.equal(json.success, true);
    assert.ok(
      (await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.component}=runner` })).items.length > 0,
    );
  });
});
