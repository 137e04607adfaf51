/** What `doctor` creates, what it makes of pods that do not run, and that it leaves nothing behind. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import {
  jobOf,
  type Plan,
  hasRun,
  isStuck,
  ownNamespace,
  wasRefused,
  whyNotStarted,
} from '../../src/cli/doctor/preflight_pods.ts';
import type { Pod } from '../../src/cli/kubectl/cluster_resources.ts';
import { dnsPods, kubernetes, pull } from '../../src/service/doctor/checks/cluster.ts';
import { networkPolicy, syscallFilter, userNamespace } from '../../src/service/doctor/checks/runner.ts';
import { apiLatency, dns as dnsLookup } from '../../src/service/doctor/checks/service.ts';
import { findingOf, type Finding, valuesOf } from '../../src/service/doctor/finding.ts';
import { CLUSTER_PLACES } from '../../src/service/doctor/places.ts';
import { WALLS } from '../../src/platform/kube/probe_pool.ts';
import { only, render } from '../chart/render.ts';
import { startCluster, type Cluster } from '../controller/cluster_parts.ts';
import { execute, type Printed } from './rig.ts';
import { standInsOfCheckout } from './stand_in.ts';

const IMAGE = 'registry.example.com/probeyard/probeyard:0.1.0';

const plan: Plan = {
  id: 'a1b2c3d4',
  image: IMAGE,
  pullPolicy: 'IfNotPresent',
  pullSecrets: ['pull'],
  namespace: 'probeyard',
  runners: 'probeyard-runners',
  nats: ['probeyard-nats.probeyard.svc:4222'],
  storageClass: 'fast',
  runtimeClass: undefined,
  places: CLUSTER_PLACES,
  timeoutMs: 1_000,
  podSecurity: undefined,
  json: true,
};

describe('doctor: what it creates', function () {
  this.timeout(60_000);

  it('lets a pod before the installation reach what the chart lets runners reach', () => {
    interface Policy {
      spec: { podSelector: object; egress: { to?: { ipBlock?: object }[] }[] };
    }
    const blocks = ({ spec }: Policy) =>
      spec.egress.flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => ipBlock ?? []));
    const [, own] = ownNamespace('probeyard-doctor', 'a1b2c3d4') as [object, Policy];
    const chart = only(render(), 'NetworkPolicy', 'probeyard-runner', 'probeyard-runners') as unknown as Policy;
    assert.deepEqual(blocks(own), blocks(chart));
    assert.deepEqual(own.spec.podSelector, chart.spec.podSelector);
    assert.deepEqual(own.spec.egress[0], chart.spec.egress[0], 'DNS');
  });

  for (const place of CLUSTER_PLACES)
    it(`${place}: a pod that the restricted profile admits, without a token, deleted by itself`, () => {
      const { object } = jobOf(place, plan) as unknown as {
        object: { spec: { ttlSecondsAfterFinished: number; template: { spec: PodSpec } } };
      };
      interface PodSpec {
        automountServiceAccountToken: boolean;
        securityContext: { runAsNonRoot: boolean; seccompProfile: { type: string } };
        containers: { args: string[]; securityContext: Record<string, unknown> }[];
      }
      const { spec } = object.spec.template;
      assert.equal(spec.automountServiceAccountToken, false);
      assert.deepEqual(
        [spec.securityContext.runAsNonRoot, spec.securityContext.seccompProfile.type],
        [true, 'RuntimeDefault'],
      );
      const [container] = spec.containers;
      assert.deepEqual(container!.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
        capabilities: { drop: ['ALL'] },
      });
      assert.deepEqual(container!.args.slice(0, 2), ['doctor', place]);
      assert.ok(object.spec.ttlSecondsAfterFinished > 0);
    });
});

describe('doctor: the values that it prints', function () {
  this.timeout(60_000);
  const dns = {
    namespace: 'openshift-dns',
    labels: { 'dns.operator.openshift.io/daemonset-dns': 'default' },
    ports: [5353],
  };
  const slow = Array.from({ length: 30 }, () => 400);
  const findings = [
    findingOf(kubernetes, kubernetes.verdict({ version: 'v1.34.0', imageVolumes: true })),
    findingOf(dnsPods, dnsPods.verdict(dns)),
    findingOf(dnsLookup, dnsLookup.verdict({ lookups: [{ name: 'a', durationsMs: [1] }], servers: ['169.254.20.10'] })),
    findingOf(apiLatency, apiLatency.verdict(slow)),
    findingOf(syscallFilter, syscallFilter.verdict('watched')),
    findingOf(pull, pull.verdict({ messages: ['Successfully pulled image "a" in 90s (90s including waiting)'] })),
    findingOf(userNamespace, userNamespace.verdict('0 65536 65536')),
    findingOf(
      networkPolicy,
      networkPolicy.verdict({ closed: [{ target: { host: 'a', port: 1 }, open: false }], nats: [], required: false }),
    ),
  ];

  it('are accepted by the chart, and reach its objects', () => {
    const objects = render(valuesOf(findings), { kubeVersion: '1.34.0' });
    const { spec } = only(objects, 'NetworkPolicy', 'probeyard-runner', 'probeyard-runners');
    assert.deepEqual(spec.egress[0].to[0], {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'openshift-dns' } },
      podSelector: { matchLabels: { 'dns.operator.openshift.io/daemonset-dns': 'default' } },
    });
    assert.deepEqual(spec.egress.at(-1).to, [{ ipBlock: { cidr: '169.254.20.10/32' } }]);
    assert.ok(objects.some(({ kind, metadata }) => kind === 'DaemonSet' && metadata.name.endsWith('-pre-pull')));
    assert.ok(objects.some(({ kind }) => kind === 'FlowSchema'));
  });

  it('name every wall that was found', () => {
    const { runners } = valuesOf(findings) as { runners: { isolation: { require: string[] } } };
    assert.deepEqual(runners.isolation.require.toSorted(), [...WALLS].toSorted());
  });
});

describe('doctor: pods that do not run, by recorded states', () => {
  const podIn = (status: object): Pod => ({ metadata: { name: 'p' }, status });
  const inState = (phase: string, state: object): Pod => podIn({ phase, containerStatuses: [{ state }] });
  const waiting = (reason: string, message?: string): Pod => inState('Pending', { waiting: { reason, message } });
  const unscheduled = podIn({
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'unbound claims' }],
  });
  const refused = podIn({ phase: 'Failed', reason: 'UnexpectedAdmissionError', message: 'no' });
  const warning = { type: 'Warning', reason: 'FailedCreatePodSandBox', message: 'no user namespaces' };
  for (const [pod, warnings, reason, message] of [
    [waiting('ErrImagePull', 'not found'), [], 'ErrImagePull', 'not found'],
    [waiting('ContainerCreating'), [warning], 'FailedCreatePodSandBox', 'no user namespaces'],
    [waiting('ContainerCreating'), [], 'ContainerCreating', 'no reason was given'],
    [unscheduled, [warning], 'Unschedulable', 'unbound claims'],
    [refused, [], 'UnexpectedAdmissionError', 'no'],
    [undefined, [{ ...warning, reason: 'FailedCreate' }], 'FailedCreate', 'no user namespaces'],
    [undefined, [], 'NotCreated', 'no reason was given'],
  ] as const)
    it(`${reason}: ${message}`, () => assert.deepEqual(whyNotStarted(pod, warnings), { reason, message }));

  it('knows which of them will not run any more', () => {
    const ended = inState('Failed', { terminated: { exitCode: 1 } });
    assert.deepEqual([ended, refused, unscheduled].map(hasRun), [true, false, false]);
    assert.deepEqual([ended, refused, unscheduled].map(wasRefused), [false, true, false]);
    assert.deepEqual([waiting('CreateContainerError', 'x'), waiting('ErrImagePull', 'x'), ended].map(isStuck), [
      true,
      false,
      false,
    ]);
  });
});

describe('doctor: with the real kubectl, on a real API server without nodes', function () {
  this.timeout(180_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-doctor-'));
  let cluster: Cluster;
  before(async function () {
    if (spawnSync('kubectl', ['version', '--client'], { timeout: 30_000 }).status !== 0)
      throw new Error('no kubectl in PATH: make test-unit builds it');
    cluster = await startCluster({ runners: { boot: false } });
  });
  after(async () => {
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const doctor = (...args: string[]): Promise<Printed> => {
    const place = [`--kubeconfig=${cluster.servers.api.kubeconfig}`, `--namespace=${cluster.namespace}`];
    return execute([join(standInsOfCheckout(folder), 'kubectl-probeyard'), 'doctor', ...place, ...args], {
      env: { HOME: folder },
    });
  };
  const kubectl = (...args: string[]): string => {
    const { stdout, stderr, status } = spawnSync(
      'kubectl',
      [`--kubeconfig=${cluster.servers.api.kubeconfig}`, ...args],
      { encoding: 'utf8', timeout: 30_000 },
    );
    assert.equal(status, 0, stderr);
    return stdout;
  };

  it('without an installation: says what to do', async () => {
    const { code, stderr } = await doctor();
    assert.equal(code, 2, stderr);
    assert.match(stderr, /there is no Probeyard in the namespace .*\n.*--install-check/);
  });

  it('refuses what it does not know', async () => {
    assert.match((await doctor('--install-check')).stderr, /--image is missing/);
    assert.match(
      (await doctor('--install-check', `--image=${IMAGE}`, '--skip=pod')).stderr,
      /no such pod: pod; one of/,
    );
    assert.match((await doctor('--install-check', `--image=${IMAGE}`, '--timeout=1')).stderr, /--timeout: 10 to 280/);
  });

  it('--manifest: objects that the API server accepts', async () => {
    const { code, stdout, stderr } = await doctor('--manifest', `--image=${IMAGE}`);
    assert.equal(code, 0, stderr);
    const objects = parseAllDocuments(stdout.toString()).map((one) => one.toJSON() as { kind: string });
    assert.deepEqual(
      objects.map(({ kind }) => kind),
      ['Namespace', 'NetworkPolicy', ...Array.from({ length: 5 }, () => 'Job')],
    );
  });

  it('--install-check: says that no pod came, and deletes its namespace', async () => {
    const done = await doctor('--install-check', `--image=${IMAGE}`, '--timeout=10', '-o', 'json');
    const { findings } = JSON.parse(done.stdout.toString() || assert.fail(done.stderr)) as { findings: Finding[] };
    const status = (id: string) => findings.find((one) => one.id === id)?.status;
    assert.equal(status('kubernetes'), 'pass');
    assert.equal(status('kernel'), 'unknown');
    assert.equal(status('pull'), 'unknown');
    assert.equal(done.code, 1, 'no claim was bound');
    const { items } = JSON.parse(kubectl('get', 'namespaces', '--output=json')) as {
      items: { metadata: { name: string; deletionTimestamp?: string } }[];
    };
    const kept = items.filter(
      ({ metadata }) => metadata.name.startsWith('probeyard-doctor') && !metadata.deletionTimestamp,
    );
    assert.deepEqual(kept, []);
  });
});
