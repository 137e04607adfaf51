/**
 * The caches of a replica, leading or not, so that one that is elected knows the cluster: ProbeJobs, tools, pools, and
 * the pods in the runner namespace. A list of what nobody has written lately takes the API server 100 ms.
 */
import { PODS, PROBE_JOBS, PROBE_POOLS, PROBE_TOOLS, type Pod } from '../../platform/kube/client.ts';
import { startReflector } from '../../platform/kube/reflector.ts';
import { LABEL } from '../../platform/kube/resource.ts';
import type { ProbeJob } from '../../platform/kube/probe_job.ts';
import type { ProbePool } from '../../platform/kube/probe_pool.ts';
import type { ProbeTool } from '../../platform/kube/probe_tool.ts';
import { keptJob, slimPod } from '../../platform/kube/slim.ts';
import { idOf } from './leader/job.ts';
import type { ControllerDeps } from './clients.ts';
import { lifeOfPod } from './pools/pod.ts';
import { ServedNamespaces } from '../../platform/kube/served_namespaces.ts';
import type { RunningTerm } from './term.ts';

interface CachesDeps extends Pick<ControllerDeps, 'kube' | 'config' | 'log' | 'metrics'> {
  /** This replica's term while it leads. */
  term: () => RunningTerm | undefined;
  podGone: (pod: Pod) => void;
  /** A pod has begun another life. */
  podRenewed: (pod: Pod) => void;
}

export type Caches = ReturnType<typeof startCaches>;

export function startCaches({ kube, config, log, metrics, term, podGone, podRenewed }: CachesDeps) {
  const hooks = (resource: string) => ({
    listed: ({ reason }: { reason: string }) => metrics.listed(resource, reason),
    failed: (error: unknown) => log.debug({ err: error, resource }, 'watch failed, listing again'),
  });
  const served = new ServedNamespaces(config);
  const jobs = startReflector<ProbeJob>({
    client: kube,
    type: PROBE_JOBS,
    namespace: served.watched,
    only: (job) => served.serves(job),
    transform: (job) => served.received(job),
    keep: keptJob,
    // Of a chunk, which has many, by its name.
    indexes: { id: (job) => (job.spec.items === undefined ? idOf(job) : job.metadata.name) },
    hooks: hooks('probejobs'),
    handlers: {
      add: (job) => term()?.leader.seen(job),
      update: (job) => term()?.leader.seen(job),
      delete: (job) => term()?.leader.deleted(job),
    },
  });
  const pods = startReflector<Pod>({
    client: kube,
    type: PODS,
    namespace: config.runnerNamespace,
    labelSelector: `${LABEL.managedBy}=probeyard`,
    transform: slimPod,
    indexes: { uid: (pod) => pod.metadata.uid },
    hooks: hooks('pods'),
    handlers: {
      add: (pod, { relist }) => term()?.podSeen(pod, relist),
      update: (pod, before) => {
        term()?.podSeen(pod, false);
        if (lifeOfPod(pod) !== lifeOfPod(before)) podRenewed(pod);
      },
      delete: (pod) => {
        term()?.podGone(pod);
        podGone(pod);
      },
    },
  });
  const { namespace } = config;
  const toolSeen = (tool: ProbeTool): void => term()?.toolSeen(tool);
  const tools = startReflector<ProbeTool>({
    client: kube,
    type: PROBE_TOOLS,
    namespace,
    hooks: hooks('probetools'),
    handlers: { add: toolSeen, update: toolSeen, delete: ({ metadata }) => term()?.toolGone(metadata.name) },
  });
  const poolSeen = (pool: ProbePool): void => term()?.pools.pool(pool);
  const poolCache = startReflector<ProbePool>({
    client: kube,
    type: PROBE_POOLS,
    namespace,
    hooks: hooks('probepools'),
    handlers: { add: poolSeen, update: poolSeen, delete: ({ metadata }) => term()?.poolGone(metadata.name) },
  });
  return { jobs, pods, tools, poolCache };
}
