import assert from 'node:assert/strict';
import { loadConfig } from '../../src/base/config.ts';
import { runnerPod, verifyPod, type PodTool, holdsNodes } from '../../src/service/controller/pools/pod.ts';
import type { ProbePoolSpec } from '../../src/platform/kube/probe_pool.ts';
import { RUNNER_SETTINGS, type RunnerSettings } from '../../src/base/runner_settings.ts';

const config = loadConfig('controller', {
  PY_POSTGRES_URL: 'postgres://one',
  PY_NATS_URL: 'tls://nats:4222',
  PY_NATS_NKEY_FILE: '/controller.nk',
  PY_NATS_ISSUER_FILE: '/issuer.nk',
  PY_SEAL_PRIVATE_FILE: '/private.jwks',
  PY_RUNNER_IMAGE: 'localhost/probeyard:1',
});
const spec: ProbePoolSpec = { serves: { kinds: ['file'] }, minReady: 2, maxPods: 20 };
const tool: PodTool = {
  tool: 'ffprobe',
  version: '9.0',
  image: 'localhost/ffprobe:9.0',
  command: ['{root}/bin/ffprobe'],
};
const runner = runnerPod(config, {
  pool: 'short',
  spec,
  suffix: 'abcde',
  generation: 'g',
  tools: [tool],
  userNamespace: true,
});
const [agent, tools] = runner.spec?.containers ?? [];
const pods = { runner, verify: verifyPod(config, tool, 'verify-ffprobe') };

describe('runner pods', () => {
  for (const [name, pod] of Object.entries(pods)) {
    it(`${name}: no service account token, no service links, no restart`, () => {
      assert.deepEqual(
        [pod.spec?.automountServiceAccountToken, pod.spec?.enableServiceLinks, pod.spec?.restartPolicy],
        [false, false, 'Never'],
      );
      assert.deepEqual(
        [pod.spec?.hostNetwork, pod.spec?.hostPID, pod.spec?.hostIPC, pod.spec?.shareProcessNamespace],
        [undefined, undefined, undefined, undefined],
      );
    });

    it(`${name}: Pod Security "restricted" for every container, read-only root file system`, () => {
      assert.deepEqual(
        [pod.spec?.securityContext?.runAsNonRoot, pod.spec?.securityContext?.seccompProfile],
        [true, { type: 'RuntimeDefault' }],
      );
      for (const { securityContext, resources, volumeMounts = [] } of pod.spec?.containers ?? []) {
        assert.deepEqual(
          { ...securityContext, runAsUser: 0, runAsGroup: 0 },
          {
            runAsNonRoot: true,
            runAsUser: 0,
            runAsGroup: 0,
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
            seccompProfile: { type: 'RuntimeDefault' },
          },
        );
        assert.ok(resources?.limits?.['memory'] !== undefined);
        assert.deepEqual(
          volumeMounts.filter(({ mountPath }) => mountPath.startsWith('/tools/')).map(({ readOnly }) => readOnly),
          volumeMounts.filter(({ mountPath }) => mountPath.startsWith('/tools/')).map(() => true),
        );
      }
    });

    it(`${name}: scheduled on the one system and architecture that the tools are built for`, () => {
      assert.deepEqual(pod.spec?.nodeSelector, { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' });
    });

    it(`${name}: writable volumes are bounded and in memory`, () => {
      for (const { emptyDir } of pod.spec?.volumes ?? [])
        if (emptyDir) assert.ok(emptyDir.medium === 'Memory' && emptyDir.sizeLimit !== undefined);
    });
  }

  it('tools run as another user and group than the agent', () => {
    assert.notEqual(tools?.securityContext?.runAsUser, agent?.securityContext?.runAsUser);
    assert.notEqual(tools?.securityContext?.runAsGroup, agent?.securityContext?.runAsGroup);
  });

  it('the NATS identity is mounted in the agent alone, valid for NATS alone, and short-lived', () => {
    const named = (container: typeof agent) =>
      (container?.volumeMounts ?? []).some(({ name }) => name === 'nats-token');
    assert.deepEqual([named(agent), named(tools)], [true, false]);
    const tokens = (runner.spec?.volumes ?? [])
      .flatMap(({ projected }) => projected?.sources ?? [])
      .map(({ serviceAccountToken }) => serviceAccountToken);
    assert.deepEqual(tokens, [{ audience: 'probeyard-nats', expirationSeconds: 3600, path: 'token' }]);
    assert.deepEqual(
      (tools?.env ?? []).map(({ name }) => name),
      [],
    );
  });

  it('the agent gets who resolves names behind an egress proxy, and a default replaces no pod', () => {
    const made = (settings: Partial<typeof config>) =>
      runnerPod(
        { ...config, ...settings },
        { pool: 'short', spec, suffix: 'abcde', generation: 'g', tools: [tool], userNamespace: true },
      );
    const told = (settings: Partial<typeof config>) => {
      const document = made(settings).spec?.containers[0]?.env?.find(({ name }) => name === RUNNER_SETTINGS)?.value;
      return (JSON.parse(document!) as RunnerSettings).sources.egress;
    };
    assert.deepEqual(told({ egressProxy: 'http://p:1' }), { url: 'http://p:1', noProxy: [], resolve: 'here' });
    assert.deepEqual(told({ egressProxy: 'http://p:1', egressResolve: 'proxy' }), {
      url: 'http://p:1',
      noProxy: [],
      resolve: 'proxy',
    });
    assert.deepEqual(made({ egressResolve: 'proxy' }), runner);
  });

  const ofPool = (more: Partial<ProbePoolSpec>, settings: Partial<typeof config> = {}) =>
    runnerPod(
      { ...config, ...settings },
      { pool: 'p', spec: { ...spec, ...more }, suffix: 'abcde', generation: 'g', tools: [tool], userNamespace: true },
    );

  const labelSelector = {
    matchLabels: { 'app.kubernetes.io/managed-by': 'probeyard', 'probeyard.dev/pool': 'p' },
  };
  const soft = { maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' };
  const strict = { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule', minDomains: 2 } as const;
  for (const [title, given, expected] of [
    [
      'over nodes and zones, where possible, by default',
      undefined,
      [
        { ...soft, topologyKey: 'kubernetes.io/hostname', labelSelector },
        { ...soft, topologyKey: 'topology.kubernetes.io/zone', labelSelector },
      ],
    ],
    ['as the pool says', [strict], [{ ...strict, labelSelector }]],
    ['not at all where the pool says so', [], undefined],
  ] as const)
    it(`pods of a pool are spread ${title}`, () => {
      const made = ofPool(given === undefined ? {} : { topologySpreadConstraints: [...given] });
      assert.deepEqual(made.spec?.topologySpreadConstraints, expected);
      assert.deepEqual(
        { ...made.metadata.labels, ...labelSelector.matchLabels },
        made.metadata.labels,
        'the selector matches the pod',
      );
    });

  for (const [title, more, all, expected] of [
    ['none by default', {}, '', undefined],
    ['the one of all runners', {}, 'low', 'low'],
    ["the pool's own, before the one of all runners", { priorityClassName: 'high' }, 'low', 'high'],
  ] as const)
    it(`priority class of a pool: ${title}`, () => {
      const podDefaults = { ...config.podDefaults, ...(all ? { priorityClassName: all } : {}) };
      assert.equal(ofPool(more, { podDefaults }).spec?.priorityClassName, expected);
    });

  for (const [title, more, grace, holds] of [
    ['short jobs', {}, 85, false],
    ['validations', { serves: { kinds: ['msv'] } }, 660, true],
    ['both', { serves: { kinds: ['file', 'msv'] } }, 660, true],
    ['validations, on nodes that leave two minutes', { serves: { kinds: ['msv'] }, drainSeconds: 60 }, 75, false],
    ['short jobs that read a slow tape', { drainSeconds: 600 }, 615, true],
  ] as const)
    it(`a pool for ${title} gives its runners ${grace} s to finish`, () => {
      const whole = { ...spec, ...(more as Partial<ProbePoolSpec>) };
      const made = ofPool(whole);
      assert.equal(made.spec?.terminationGracePeriodSeconds, grace);
      assert.equal(holdsNodes(whole), holds);
      const settings = made.spec?.containers[0]?.env?.find(({ name }) => name === RUNNER_SETTINGS)?.value;
      assert.equal((JSON.parse(settings!) as RunnerSettings).drainMs, (grace - 15) * 1_000);
    });

  it('a pool that asks for user namespaces gets them', () => assert.equal(runner.spec?.hostUsers, false));
});
