/**
 * A tool whose image runners cannot pull is left out of the pools and restored later, by the kubelet's messages in the
 * status of a runner pod.
 */
import assert from 'node:assert/strict';
import pino from 'pino';
import { loadConfig } from '../../src/base/config.ts';
import { ANNOTATION, verifyName, verifyPod } from '../../src/service/controller/pools/pod.ts';
import { Runners } from '../../src/service/controller/pools/runners.ts';
import { STUCK_PATIENCE_MS, stuckTools } from '../../src/service/controller/pools/state.ts';
import { noProofs, proveTool } from '../../src/service/controller/catalog/prove.ts';
import { PODS, PROBE_TOOLS, isKubeError, type Pod } from '../../src/platform/kube/client.ts';
import { eventRecorder } from '../../src/platform/kube/events.ts';
import { WorkQueue } from '../../src/platform/kube/queue.ts';
import type { ProbeTool } from '../../src/platform/kube/probe_tool.ts';
import { until } from '../until.ts';
import { RUNNER_IMAGE, TOOLS, startCluster, type Cluster } from './cluster_parts.ts';
import { facts } from './runner_fixture.ts';

const waits = (reason: string, message: string) => ({
  phase: 'Pending',
  containerStatuses: [
    { name: 'tools', ready: false, restartCount: 0, image: '', imageID: '', state: { waiting: { reason, message } } },
  ],
});
const BACK_OFF =
  'Back-off pulling image "tools/ffprobe:7.0": ErrImagePull: failed ' +
  'to resolve reference "tools/ffprobe:7.0": not found';
const PROVEN = JSON.stringify({
  ok: true,
  version: 'ffprobe version 7.0',
  startupMs: 10,
  options: [],
  protocols: [],
  arch: 'x64',
});
const NAME = 'ffprobe-7.0';
const configOf = ({ namespace, runnerNamespace }: Cluster) =>
  loadConfig('controller', {
    PY_NAMESPACE: namespace,
    PY_RUNNER_NAMESPACE: runnerNamespace,
    PY_RUNNER_IMAGE: RUNNER_IMAGE,
    PY_NATS_URL: 'nats://none',
    PY_POSTGRES_URL: 'none',
    PY_NATS_NKEY_FILE: '/none',
    PY_NATS_ISSUER_FILE: '/none',
    PY_SEAL_PRIVATE_FILE: '/none',
  });

describe('tools that keep runners from starting', () => {
  const tool = (name: string, image: string, type = 'Available'): ProbeTool => ({
    apiVersion: 'probeyard.dev/v1alpha1',
    kind: 'ProbeTool',
    metadata: { name },
    spec: { ...TOOLS[0]!, image },
    status: {
      conditions: ['Available', type].map((each) => ({
        type: each,
        status: 'True',
        reason: '',
        message: '',
        lastTransitionTime: '',
      })),
    },
  });
  const tools = [
    tool('a', 'tools/ffprobe:7.0'),
    tool('b', 'tools/ffprobe:7.0.1'),
    tool('c', 'mirror/tools/ffprobe:7.0'),
  ];
  const found = (
    status: object,
    { after = STUCK_PATIENCE_MS, of = tools, otherReadyAt = undefined as number | undefined } = {},
  ): string[] => {
    const runners = new Runners();
    for (const uid of ['u', 'v']) runners.pod(facts(uid), 0);
    if (otherReadyAt !== undefined) runners.heartbeat({ uid: 'v', phase: 'idle', jobsDone: 0 } as never, otherReadyAt);
    const stuck = stuckTools(runners);
    stuck.seen({ metadata: { name: 'u' }, status } as Pod, 'u', 1_000);
    return stuck.find(of, 1_000 + after).map(({ name }) => name);
  };
  const cases: [string, string[], string[]][] = [
    ['the image in back-off', found(waits('ImagePullBackOff', BACK_OFF)), ['a']],
    [
      'an image that is not present',
      found(waits('ErrImageNeverPull', 'Container image "tools/ffprobe:7.0" is not present with pull policy of Never')),
      ['a'],
    ],
    ['nothing within the patience', found(waits('ImagePullBackOff', BACK_OFF), { after: STUCK_PATIENCE_MS - 1 }), []],
    ['nothing while the kubelet pulls', found(waits('ContainerCreating', 'tools/ffprobe:7.0')), []],
    [
      "nothing for an image that is not a tool's",
      found(waits('ImagePullBackOff', 'Back-off pulling image "probeyard:9"')),
      [],
    ],
    [
      'nothing for a failed mount, which does not name the image',
      found(waits('CreateContainerError', 'failed to mount "tools/ffprobe:7.0"')),
      [],
    ],
    [
      'nothing that is Degraded already',
      found(waits('ImagePullBackOff', BACK_OFF), { of: [tool('a', 'tools/ffprobe:7.0', 'Degraded')] }),
      [],
    ],
    [
      'nothing if another runner of the generation started meanwhile',
      found(waits('ImagePullBackOff', BACK_OFF), { otherReadyAt: 2_000 }),
      [],
    ],
    [
      'the image, if another runner started before',
      found(waits('ImagePullBackOff', BACK_OFF), { otherReadyAt: 500 }),
      ['a'],
    ],
  ];
  for (const [title, is, expected] of cases) it(`stuck tools: ${title}`, () => assert.deepEqual(is, expected));

  it('stuck tools: nothing once the pod has started or is gone', () => {
    const runners = new Runners();
    runners.pod(facts('u'), 0);
    const stuck = stuckTools(runners);
    const seen = (status: object, at: number) => stuck.seen({ metadata: { name: 'u' }, status } as Pod, 'u', at);
    seen(waits('ImagePullBackOff', BACK_OFF), 0);
    seen({ phase: 'Running' }, 1);
    assert.deepEqual(stuck.find(tools, STUCK_PATIENCE_MS), []);
    seen(waits('ErrImagePull', BACK_OFF), 2);
    seen(waits('ImagePullBackOff', BACK_OFF), STUCK_PATIENCE_MS);
    assert.equal(stuck.find(tools, STUCK_PATIENCE_MS + 2).length, 1, 'the kubelet changes between two reasons');
    stuck.gone('u');
    assert.deepEqual(stuck.find(tools, STUCK_PATIENCE_MS + 2), []);
  });
});

describe('a tool whose image is gone', function () {
  this.timeout(180_000);
  let cluster: Cluster;
  afterEach(() => cluster?.stop());
  const getTool = () => cluster.kube.get(PROBE_TOOLS, NAME);
  const condition = async (type: string) => (await getTool()).status?.conditions?.find((one) => one.type === type);
  const toolsOf = (pod: Pod): string[] => JSON.parse(pod.metadata.annotations?.[ANNOTATION.tools] ?? '[]') as string[];
  const someRunnerHas = (expected: string[]) => async () =>
    (await cluster.pods()).some((pod) => JSON.stringify(toolsOf(pod)) === JSON.stringify(expected));
  let proof = '';
  /** Made from the API server's response, because it reorders the members. */
  const nameProof = async () => {
    proof = verifyName((await getTool()).spec, RUNNER_IMAGE);
  };
  const proofPod = () =>
    cluster.kube.get(PODS, proof, { namespace: cluster.runnerNamespace }).catch((error: unknown) => {
      if (isKubeError(error, 'not-found')) return undefined;
      throw error;
    });
  const setPod = (name: string, status: object) =>
    cluster.kube.mergePatchStatus(PODS, name, status, { namespace: cluster.runnerNamespace });

  it('is Degraded, left out of new runners, and restored when its proof succeeds', async () => {
    cluster = await startCluster({ pools: { short: { minReady: 1 } }, runners: { boot: false } });
    const { controller, kube, pods, runners } = cluster;
    await nameProof();
    await controller({ writes: { ...kube, logs: async () => PROVEN } });
    const first = await until('a pod is made', async () => (await pods())[0], 20_000);
    assert.deepEqual(toolsOf(first), ['ffprobe/7.0', 'mediainfo/24.06']);
    await setPod(first.metadata.name, waits('ImagePullBackOff', BACK_OFF));
    await until('the tool is degraded', async () => (await condition('Degraded'))?.status === 'True', 60_000);
    runners.behaviour.boot = true;
    assert.equal((await condition('Degraded'))?.message, BACK_OFF);
    assert.equal((await condition('Available'))?.status, 'True', 'jobs that ask for it wait for it');
    await until('a runner without it is made', someRunnerHas(['mediainfo/24.06']), 20_000);
    await until('its proof is made again', proofPod, 30_000);
    await setPod(proof, { phase: 'Succeeded' });
    await until(
      'the tool is no longer Degraded',
      async () => (await condition('Degraded'))?.status === 'False',
      20_000,
    );
    await until('a runner with it is made', someRunnerHas(['ffprobe/7.0', 'mediainfo/24.06']), 20_000);
  });

  it('leftover proofs of a leader of another version take no place', async () => {
    cluster = await startCluster({ pools: {} });
    const { controller, kube, runnerNamespace } = cluster;
    const left = ['a', 'b', 'c'].map((name) => `verify-${name}`);
    for (const name of left)
      await kube.create(PODS, verifyPod(configOf(cluster), TOOLS[0]!, name), {
        namespace: runnerNamespace,
      });
    await kube.mergePatchStatus(PROBE_TOOLS, NAME, { proof: 'verify-of-another-image' });
    await nameProof();
    await controller({ writes: { ...kube, logs: async () => PROVEN } });
    await until('its proof is made', proofPod, 20_000);
    const names = (await kube.listAll(PODS, { namespace: runnerNamespace })).items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name);
    assert.deepEqual(
      left.filter((name) => names.includes(name)),
      [],
    );
  });

  it('of a registry that is not allowed is refused, where no admission policy does', async () => {
    cluster = await startCluster({ pools: {}, tools: [] });
    const { controller, kube, namespace } = cluster;
    await controller({ env: { PY_ALLOWED_REGISTRIES: JSON.stringify(['one.example/tools']) } });
    await kube.create(PROBE_TOOLS, { metadata: { name: NAME, namespace }, spec: TOOLS[0]! });
    await until('it is refused', async () => (await condition('Available'))?.reason === 'RegistryNotAllowed', 20_000);
    assert.match((await condition('Available'))?.message ?? '', /is not allowed; allowed: one\.example\/tools$/);
  });

  it('refused, it is proven again after ten minutes, and the leader waits for that proof', async () => {
    cluster = await startCluster({ pools: {}, tools: [] });
    const { kube, namespace } = cluster;
    await kube.create(PROBE_TOOLS, { metadata: { name: NAME, namespace }, spec: TOOLS[0]! });
    await nameProof();
    const lastTransitionTime = new Date().toISOString();
    await kube.mergePatchStatus(PROBE_TOOLS, NAME, {
      proof,
      observedGeneration: 1,
      conditions: [{ type: 'Available', status: 'False', reason: 'ImageUnavailable', message: '', lastTransitionTime }],
    });
    const tried = Date.now();
    const triedAt = new Map([[NAME, tried - 9 * 60_000]]);
    const step = async (): Promise<void> => {
      const [tool, pod] = await Promise.all([getTool(), proofPod()]);
      await proveTool(
        {
          kube: { ...kube, logs: async () => PROVEN },
          config: configOf(cluster),
          log: pino({ level: 'silent' }),
          events: eventRecorder({ client: kube, component: 'test', instance: 'test' }),
          queue: new WorkQueue(),
          tools: { get: () => tool, list: () => [tool] },
          pods: { get: () => pod, list: () => [] },
          stillLeading: () => true,
          now: Date.now,
          owner: async () => undefined,
          ...noProofs(),
          triedAt,
          again,
        },
        NAME,
      );
    };
    const again = new Set<string>();
    await step();
    assert.equal(await proofPod(), undefined, 'too early');
    triedAt.set(NAME, tried - 11 * 60_000);
    await step();
    const made = await proofPod();
    assert.ok(made);
    await step();
    assert.equal((await proofPod())?.metadata.uid, made.metadata.uid);
    await setPod(proof, { phase: 'Succeeded' });
    await step();
    assert.equal((await condition('Available'))?.status, 'True');
  });
});
