/** Kueue's controllers and scheduler beside an API server, and a queue with the quota of one runner. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { CRDS, type KubeClient, type KubeObject, type ResourceType } from '../../../src/platform/kube/client.ts';
import { servedBy } from '../../../src/platform/kube/kinds.ts';
import { buildParts, goEnv, isBuilt } from '../../node/build.ts';
import { run } from '../../node/command.ts';
import { until } from '../../until.ts';

export const kueue = servedBy('kueue.x-k8s.io', 'v1beta2');
const FLAVORS = kueue('resourceflavors', 'ResourceFlavor', false);
const CLUSTER_QUEUES = kueue('clusterqueues', 'ClusterQueue', false);
const LOCAL_QUEUES = kueue('localqueues', 'LocalQueue');
const PART = join(import.meta.dirname, '../../node/parts/kueue');
/** Of the LocalQueue. */
export const QUEUE = 'media';

interface Crd extends KubeObject {
  spec: { group: string; names: { plural: string }; versions: { name: string; storage: boolean }[] };
}

/** Says why it is not there. */
export async function kueueIsBuilt(): Promise<boolean> {
  if (await isBuilt(['kueue'])) return true;
  console.log('      skipped: `make kueue` builds the controllers of Kueue that it needs');
  return false;
}

async function crds(): Promise<Crd[]> {
  await run('go', ['mod', 'download', 'sigs.k8s.io/kueue'], { cwd: PART, env: goEnv, timeoutMs: 600_000 });
  const module = await run('go', ['list', '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/kueue'], { cwd: PART, env: goEnv });
  const folder = join(module.trim(), 'config/components/crd/bases');
  return readdirSync(folder).map((file) => parse(readFileSync(join(folder, file), 'utf8')) as Crd);
}

export interface Kueue {
  /** The end of its log. */
  said(): string;
  stop(): Promise<void>;
}

/** `workersIn`: the namespace where a manager of MultiKueue finds the kubeconfigs of its workers. */
export async function startKueue(kube: KubeClient, kubeconfig: string, workersIn?: string): Promise<Kueue> {
  const program = join((await buildParts(['kueue'])).get('kueue')!, 'kueue');
  const kinds = await crds();
  for (const crd of kinds) await kube.apply(CRDS, crd, { fieldManager: 'test', force: true });
  // Kueue ends if one of them is not served when it starts.
  for (const { spec } of kinds) {
    const { name } = spec.versions.find(({ storage }) => storage)!;
    const path = `/apis/${spec.group}/${name}/${spec.names.plural}`;
    await until(`${spec.names.plural} are served`, () =>
      kube.request({ method: 'GET', path }).then(
        () => true,
        () => false,
      ),
    );
  }
  const started = spawn(program, workersIn === undefined ? [] : [workersIn], {
    env: { KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const output of [started.stdout, started.stderr])
    output.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-8_000)));
  return {
    said: () => said,
    async stop() {
      started.kill('SIGKILL');
      if (started.exitCode === null && started.signalCode === null) await once(started, 'exit');
    },
  };
}

/** `name`: of all of it, as these kinds are of the whole cluster. */
export async function makeQueue(kube: KubeClient, name: string, more: object = {}): Promise<void> {
  const make = (type: ResourceType, metadata: KubeObject['metadata'], spec: object) =>
    kube.create(type, { metadata, spec } as KubeObject);
  await make(FLAVORS, { name }, {});
  const quotas = { cpu: '1', memory: '1Gi', pods: '1' };
  const resources = Object.entries(quotas).map(([one, nominalQuota]) => ({ name: one, nominalQuota }));
  await make(
    CLUSTER_QUEUES,
    { name },
    {
      namespaceSelector: {},
      preemption: { withinClusterQueue: 'LowerPriority' },
      resourceGroups: [{ coveredResources: Object.keys(quotas), flavors: [{ name, resources }] }],
      ...more,
    },
  );
  await make(LOCAL_QUEUES, { name: QUEUE, namespace: name }, { clusterQueue: name });
}
