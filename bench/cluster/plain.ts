/** The cluster without Probeyard, for comparison, with plain pods and a batch/v1 Job per request. */
import { randomBytes } from 'node:crypto';
import { NAMESPACES, PODS, type Pod, type ResourceType } from '../../src/platform/kube/client.ts';
import { startReflector } from '../../src/platform/kube/reflector.ts';
import type { Meta } from '../../src/platform/kube/resource.ts';
import { TOOL_TABLE } from '../../src/media/tools/table.ts';
import { eventually, type Cluster } from '../../test/cluster/fixture.ts';
import type { BareTool } from './tools.ts';

interface PlainJob {
  apiVersion?: string;
  kind?: string;
  metadata: Meta;
  spec: unknown;
  status?: { succeeded?: number; failed?: number };
}
const JOBS: ResourceType<PlainJob> = { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true };

/** Hardened like the runners. */
const CONTAINER = {
  imagePullPolicy: 'IfNotPresent',
  resources: { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '512Mi' } },
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    runAsUser: 65533,
    runAsGroup: 65533,
    seccompProfile: { type: 'RuntimeDefault' },
  },
} as const;
const podSpec = (image: string, command: string[]) => ({
  restartPolicy: 'Never',
  automountServiceAccountToken: false,
  enableServiceLinks: false,
  containers: [{ ...CONTAINER, name: 'tool', image, command }],
});
const commandOf = (tool: BareTool, url: string): string[] => [
  ...tool.command.map((part) => part.replaceAll('{root}', '')),
  ...(TOOL_TABLE.ffprobe?.args({}, url) ?? []),
];

export async function withNamespace<T>(c: Cluster, work: (namespace: string) => Promise<T>): Promise<T> {
  const name = `probeyard-bench-${randomBytes(3).toString('hex')}`;
  await c.kube.create(NAMESPACES, { metadata: { name } });
  try {
    return await work(name);
  } finally {
    await c.kubectl('delete', 'namespace', name, '--wait=true');
  }
}

/** The time from the POST until a watch shows Running. */
export async function startTimes(
  c: Cluster,
  namespace: string,
  count: number,
  spec: () => Pod['spec'],
): Promise<number[]> {
  const running = new Map<string, () => void>();
  const note = (pod: Pod) => {
    if (pod.status?.phase === 'Running' || pod.status?.phase === 'Succeeded') running.get(pod.metadata.name)?.();
  };
  const watch = startReflector<Pod>({
    client: c.kube,
    type: PODS,
    namespace,
    handlers: { add: note, update: note, delete: () => {} },
  });
  await watch.synced;
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const name = `plain-${index}-${randomBytes(3).toString('hex')}`;
    const up = new Promise<void>((resolve) => {
      running.set(name, resolve);
    });
    const begun = performance.now();
    await c.kube.create(
      PODS,
      { metadata: { name, labels: { 'probeyard-bench': 'plain' } }, ...(spec() ? { spec: spec()! } : {}) } as Pod,
      { namespace },
    );
    await Promise.race([
      up,
      new Promise((_, reject) => {
        setTimeout(() => reject(new Error(`${name} does not run`)), 60_000).unref();
      }),
    ]);
    times.push(performance.now() - begun);
    await c.kubectl('-n', namespace, 'delete', 'pod', name, '--grace-period=0', '--force', '--wait=true');
  }
  await watch.stop();
  return times;
}

export const plainPod = (tool: BareTool, url: string): Pod['spec'] =>
  podSpec(tool.image, commandOf(tool, url)) as object as Pod['spec'];

/** This many callers, each with one Job after the other. Returns Jobs per second, of those that ended in time. */
export async function jobsPerSecond(
  c: Cluster,
  namespace: string,
  tool: BareTool,
  url: string,
  callers: number,
  seconds: number,
): Promise<number> {
  const waiting = new Map<string, () => void>();
  const note = (job: PlainJob) => {
    if ((job.status?.succeeded ?? 0) + (job.status?.failed ?? 0) > 0) waiting.get(job.metadata.name)?.();
  };
  const watch = startReflector<PlainJob>({
    client: c.kube,
    type: JOBS,
    namespace,
    handlers: { add: note, update: note, delete: () => {} },
  });
  await watch.synced;
  const begun = performance.now();
  const end = begun + seconds * 1000;
  let ended = 0;
  const caller = async () => {
    while (performance.now() < end) {
      const name = `plain-${randomBytes(5).toString('hex')}`;
      const over = new Promise<void>((resolve) => {
        waiting.set(name, resolve);
      });
      await c.kube.create(
        JOBS,
        {
          metadata: { name },
          spec: { backoffLimit: 0, template: { spec: podSpec(tool.image, commandOf(tool, url)) } },
        },
        { namespace, deadlineMs: 30_000 },
      );
      const late = new Promise<'late'>((resolve) => {
        setTimeout(() => resolve('late'), Math.max(1, end - performance.now()));
      });
      if ((await Promise.race([over, late])) === 'late') return;
      waiting.delete(name);
      if (performance.now() < end) ended++;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const rate = ended / ((performance.now() - begun) / 1000);
  await watch.stop();
  await c.kubectl('-n', namespace, 'delete', 'jobs', '--all', '--wait=false');
  await eventually('the plain Jobs are gone', 120, async () =>
    (await c.kube.listAll(PODS, { namespace })).items.every(({ metadata }) => metadata.deletionTimestamp !== undefined),
  );
  return rate;
}
