/** What each check says of recorded facts. */
import assert from 'node:assert/strict';
import { dnsPods, kubernetes, nodes, pull, pullIn } from '../../src/service/doctor/checks/cluster.ts';
import {
  cgroup,
  imageVolume,
  kernel,
  networkPolicy,
  syscallFilter,
  typeIn,
  userNamespace,
} from '../../src/service/doctor/checks/runner.ts';
import { api, apiLatency, bounds, clock, dns, serversIn, storage } from '../../src/service/doctor/checks/service.ts';
import { withoutPod, type Check, type NotStarted, type Status, type Values } from '../../src/service/doctor/finding.ts';

type Row<Facts> = readonly [facts: Facts, status: Status, found: RegExp, set?: Values];

function verdicts<Facts>(check: Check<Facts>, rows: readonly Row<Facts>[]): void {
  describe(`doctor: ${check.id}, by recorded facts`, () => {
    for (const [facts, status, found, set] of rows)
      it(`${status}: ${found.source}`, () => {
        const verdict = check.verdict(facts);
        assert.equal(verdict.status, status);
        assert.match(verdict.found, found);
        assert.deepEqual(verdict.set, set);
      });
  });
}

verdicts(kubernetes, [
  [{ version: 'v1.36.0' }, 'pass', /^v1\.36\.0$/],
  [{ version: 'v1.35.2-eks-1', imageVolumes: true }, 'pass', /^v1\.35/],
  [{ version: 'v1.34.1', imageVolumes: true }, 'pass', /^v1\.34/, { 'tools.forceImageVolume': true }],
  [{ version: 'v1.34.1', imageVolumes: false }, 'pass', /^v1\.34/, { 'tools.delivery': 'bundled' }],
  [{ version: 'v1.33.0' }, 'pass', /^v1\.33/, { 'tools.delivery': 'bundled' }],
  [{ version: 'v1.32.9' }, 'fail', /^v1\.32/],
  [{ version: 'unknown' }, 'unknown', /^unknown$/],
]);

const node = (runtime: string, architecture = 'amd64') => ({ runtime, architecture });
verdicts(nodes, [
  [
    [node('containerd://2.1.3'), node('cri-o://1.34.0')],
    'pass',
    /^2, of these 2 amd64, 0 arm64: containerd:\/\/2\.1\.3, cri-o/,
  ],
  [[node('containerd://2.2.0'), node('containerd://1.7.27', 'arm64')], 'pass', /^2, of these 1 amd64, 1 arm64/],
  [[node('containerd://2.1.3'), node('containerd://1.7.27')], 'warn', /containerd:\/\/1\.7\.27/],
  [[node('docker://29.1.0')], 'warn', /docker/],
  [[node('containerd://2.1.3', 'arm64')], 'pass', /^1, of these 0 amd64, 1 arm64/, { arch: 'arm64' }],
  [[node('containerd://1.7.27', 'arm64')], 'warn', /1\.7\.27/, { arch: 'arm64' }],
  [[node('containerd://2.1.3', 's390x')], 'fail', /^1, of these 0 amd64, 0 arm64/],
]);

const kubeDns = { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' }, ports: [53] };
verdicts(dnsPods, [
  [kubeDns, 'pass', /^kube-system, k8s-app=kube-dns, port 53$/],
  [{ ...kubeDns, ports: [1053] }, 'pass', /port 1053$/, { 'networkPolicy.dns.ports': [1053] }],
  [
    { namespace: 'openshift-dns', labels: { 'dns.operator.openshift.io/daemonset-dns': 'default' }, ports: [5353] },
    'pass',
    /^openshift-dns/,
    {
      'networkPolicy.dns.namespace': 'openshift-dns',
      'networkPolicy.dns.podLabels': { 'k8s-app': null, 'dns.operator.openshift.io/daemonset-dns': 'default' },
      'networkPolicy.dns.ports': [5353],
    },
  ],
  [undefined, 'unknown', /no service/],
]);

verdicts(kernel, [
  ['6.18.5', 'pass', /^Linux 6\.18\.5$/],
  ['5.10.0-28-amd64', 'pass', /^Linux 5\.10/],
  ['5.9.1', 'pass', /^Linux 5\.9/],
  ['5.4.0-150-generic', 'warn', /^Linux 5\.4/],
  ['4.18.0-553.el8_10.x86_64', 'warn', /^Linux 4\.18/],
  ['x', 'unknown', /^Linux x$/],
]);

verdicts(cgroup, [
  ['cgroup2', 'pass', /^v2$/],
  ['tmpfs', 'warn', /^v1$/],
  ['cgroup', 'warn', /^v1$/],
  [undefined, 'unknown', /nothing is mounted/],
]);

describe('doctor: cgroup', () => {
  it('reads the type behind optional fields of mountinfo', () => {
    const line = '33 24 0:30 / /sys/fs/cgroup ro,nosuid shared:9 master:2 - cgroup2 cgroup2 rw';
    assert.equal(typeIn(`24 1 0:22 / /sys rw - sysfs sysfs rw\n${line}\n`), 'cgroup2');
    assert.equal(typeIn('24 1 0:22 / /sys rw - sysfs sysfs rw\n'), undefined);
  });
});

verdicts(syscallFilter, [
  ['watched', 'pass', /are watched$/, { 'runners.isolation.require': ['SyscallFilter'] }],
  ['filtered', 'warn', /connections are not watched/],
  ['none', 'warn', /cannot be filtered/],
]);

const OWN = '         0 2130706432      65536\n';
verdicts(userNamespace, [
  [OWN, 'pass', /^user 0 of the pod is 2130706432 on the node$/, { 'runners.isolation.require': ['UserNamespace'] }],
  ['         0          0 4294967295\n', 'warn', /user ids of the node/],
]);

const [apiServer, metadata, nats] = [
  { host: '10.96.0.1', port: 443 },
  { host: '169.254.169.254', port: 80 },
  { host: 'probeyard-nats.probeyard.svc', port: 4222 },
];
const closed = [apiServer, metadata].map((target) => ({ target, open: false }));
const reached = { target: nats, open: true };
verdicts(networkPolicy, [
  [
    { closed, nats: [reached], required: true },
    'pass',
    /^enforced: a runner does not reach 10\.96\.0\.1:443, 169\.254\.169\.254:80$/,
    { 'runners.isolation.require': ['NetworkEnforced'] },
  ],
  [
    { closed: [{ target: apiServer, open: true }, closed[1]!], nats: [reached], required: false },
    'warn',
    /^not enforced: a runner reaches 10\.96\.0\.1:443$/,
  ],
  [
    { closed: [closed[0]!, { target: metadata, open: true }], nats: [], required: true },
    'fail',
    /reaches 169\.254\.169\.254:80$/,
  ],
  [{ closed, nats: [{ target: nats, open: false }], required: false }, 'fail', /^a runner does not reach NATS at /],
]);

const fast = [1, 2, 3];
const cacheRule = {
  to: [{ ipBlock: { cidr: '169.254.20.10/32' } }],
  ports: [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ],
};
const forCache = {
  'networkPolicy.runnerExtraEgress': [cacheRule],
  'networkPolicy.apiExtraEgress': [cacheRule],
  'networkPolicy.controllerExtraEgress': [cacheRule],
};
verdicts(dns, [
  [{ lookups: [{ name: 'a.svc', durationsMs: fast }], servers: ['10.96.0.10'] }, 'pass', /^a\.svc in 2\.0 ms$/],
  [{ lookups: [{ name: 'a.svc', durationsMs: [4000, 5000, 5000] }], servers: [] }, 'warn', /^a\.svc in 5\.0 s$/],
  [
    { lookups: [{ name: 'a.svc', durationsMs: [], problem: 'EAI_AGAIN' }], servers: ['10.96.0.10'] },
    'fail',
    /^a\.svc: EAI_AGAIN \(asked 10\.96\.0\.10\)$/,
  ],
  [{ lookups: [{ name: 'a.svc', durationsMs: fast }], servers: ['169.254.20.10'] }, 'pass', /^a\.svc in/, forCache],
]);

describe('doctor: dns', () => {
  it('reads the servers of resolv.conf', () => {
    assert.deepEqual(serversIn('search svc\nnameserver 10.96.0.10\n# nameserver 1.1.1.1\nnameserver fd00::a\n'), [
      '10.96.0.10',
      'fd00::a',
    ]);
  });
});

const evenly = (ms: number): number[] => Array.from({ length: 30 }, () => ms);
verdicts(apiLatency, [
  [evenly(2), 'pass', /^median 2\.0 ms, 19 of 20 within 2\.0 ms$/],
  [evenly(450), 'warn', /within 450 ms$/, { 'flowControl.enabled': true }],
  [evenly(2500), 'fail', /within 2\.5 s$/],
]);

verdicts(storage, [
  [evenly(0.8), 'pass', /^median 0\.8 ms/],
  [evenly(35), 'warn', /^median 35 ms/],
  [evenly(900), 'fail', /^median 900 ms/],
]);

/** Answers of a server that is ahead by so much, at a tenth of a second each. */
const answers = (aheadMs: number) =>
  Array.from({ length: 12 }, (_, index) => {
    const sentAt = 1_700_000_000_000 + index * 100;
    const date = Math.floor((sentAt + 1 + aheadMs) / 1000) * 1000;
    return { sentAt, receivedAt: sentAt + 2, date };
  });
verdicts(clock, [
  [answers(0), 'pass', /the API server's, within \d+ ms$/],
  [answers(1_500), 'pass', /behind the API server's/],
  [answers(5_000), 'warn', /^(4\.9|5\.0) s behind the API server's/],
  [answers(-5_000), 'warn', /^(4\.9|5\.0) s ahead of the API server's/],
  [answers(90_000), 'fail', /^(89|90)\.\d s behind/],
  [[{ sentAt: 0, receivedAt: 1, date: Number.NaN }], 'unknown', /does not say/],
]);

describe('doctor: clock', () => {
  for (const ahead of [-61_234, -2_000, 0, 300, 7_777])
    it(`bounds a difference of ${ahead} ms to 102 ms`, () => {
      const { least, most } = bounds(answers(ahead));
      assert.ok(least <= ahead && ahead <= most, `${least} to ${most}`);
      assert.ok(most - least <= 102, `${least} to ${most}`);
    });
});

verdicts(imageVolume, [
  [undefined, 'pass', /runs$/, { 'tools.delivery': 'imageVolume' }],
  ['EACCES', 'fail', /does not run: EACCES$/, { 'tools.delivery': 'bundled' }],
  ['ENOENT', 'fail', /ENOENT$/, { 'tools.delivery': 'bundled' }],
]);

verdicts(api, [
  [{ url: 'http://a', problem: undefined }, 'pass', /^it answers at http:\/\/a$/],
  [{ url: 'http://a', problem: 'HTTP 503' }, 'fail', /does not answer at http:\/\/a: HTTP 503$/],
]);

const pulled = (time: string): string =>
  `Successfully pulled image "r/p:1" in ${time} (${time} including waiting). Image size: 120400300 bytes.`;
const there = 'Container image "r/p:1" already present on machine';
verdicts(pull, [
  [{ messages: [pulled('4.2s'), there] }, 'pass', /^4\.2 s for 120 MB$/],
  [{ messages: [pulled('1m2.5s'), pulled('4s')] }, 'warn', /^62\.5 s for/, { 'runners.prePull.enabled': true }],
  [{ messages: [there] }, 'unknown', /had the image before/],
  [{ messages: [] }, 'unknown', /no node said/],
]);

describe('doctor: pull', () => {
  for (const [time, ms] of [
    ['512.3ms', 512.3],
    ['1.5s', 1500],
    ['2m0.5s', 120_500],
    ['1h0m3s', 3_603_000],
  ] as const)
    it(`reads ${time}`, () => assert.equal(pullIn(pulled(time))?.ms, ms));
});

describe('doctor: a pod that did not start', () => {
  const pending: NotStarted = { reason: 'FailedCreatePodSandBox', message: 'user namespaces are not supported' };
  for (const [check, why, status, set] of [
    [userNamespace, pending, 'warn'],
    [
      imageVolume,
      { reason: 'Refused', message: 'must specify a volume type' },
      'fail',
      { 'tools.delivery': 'bundled' },
    ],
    [storage, { reason: 'Unschedulable', message: 'unbound PersistentVolumeClaims' }, 'fail'],
    [kernel, pending, 'unknown'],
    [imageVolume, { reason: 'Unschedulable', message: 'insufficient cpu' }, 'unknown'],
    [userNamespace, { reason: 'FailedCreate', message: 'exceeded quota' }, 'unknown'],
    [imageVolume, { reason: 'ErrImagePull', message: 'not found' }, 'unknown'],
    [storage, { reason: 'ImagePullBackOff', message: 'not found' }, 'unknown'],
  ] as const)
    it(`${check.id}, ${why.reason}: ${status}`, () => {
      const finding = withoutPod(check, why);
      assert.equal(finding.status, status);
      assert.ok(finding.found.includes(why.message));
      assert.deepEqual(finding.set, set);
    });
});
