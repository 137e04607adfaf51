/**
 * ProbeBatches in queues of Kueue. One with the label of a queue gets a Workload, and its batch runs while that is
 * admitted: it begins nothing before, is paused when it is evicted, and tells when it has ended. As Kueue's own
 * integrations do; what it decides is read from the Workload alone, and the object's spec is not changed.
 */
import type { Logger } from '../../../base/log.ts';
import { isKubeError, PROBE_BATCHES, PROBE_POOLS, type KubeClient } from '../../../platform/kube/client.ts';
import { conditionOf, isTrue, setConditions, stamp } from '../../../platform/kube/conditions.ts';
import { apiVersionOf } from '../../../platform/kube/kinds.ts';
import type { ProbeBatch } from '../../../platform/kube/probe_batch.ts';
import { type ProbePool, requestsOf } from '../../../platform/kube/probe_pool.ts';
import { startReflector, type Reflector } from '../../../platform/kube/reflector.ts';
import { LABEL } from '../../../platform/kube/resource.ts';
import { inOrder, routeOf } from '../../../platform/kube/route.ts';
import { KUEUE_LABEL, WORKLOAD_PRIORITY_CLASSES, WORKLOADS, type Workload } from '../../../platform/kube/workload.ts';
import type { Standing } from './object_status.ts';

/** Of one object: many whose Workload is refused cost neither rounds nor lines of the log. */
const AFTER_FAILURE_MS = 30_000;
const MOST_WHY = 1_000;
const MADE_BY = 'probeyard';
/** Of a name, which Kueue's labels repeat. */
const MOST_NAME = 220;

const held = (reason: string, message: string): Standing => ({ state: 'Suspended', reason, message });

const labelOf = ({ metadata }: ProbeBatch, name: keyof typeof KUEUE_LABEL): string | undefined =>
  metadata.labels?.[KUEUE_LABEL[name]];

const workloadNameOf = (object: ProbeBatch): string =>
  labelOf(object, 'prebuilt') ??
  `probebatch-${object.metadata.name.slice(0, MOST_NAME)}-${object.metadata.uid!.slice(0, 5)}`;

/** What its batch says. `count`: how many jobs it may have at once. */
export interface Work {
  isSuspended: boolean;
  running: number;
  over: Standing | null;
  count(): Promise<number>;
}

/** Of the pool that runs most of its jobs. */
export function runnerOf(pools: readonly ProbePool[]): object[] {
  const pool = routeOf(inOrder(pools), { kinds: ['file'], account: undefined, labels: undefined });
  return (['agent', 'tools'] as const).map((name) => ({ name, resources: { requests: requestsOf(pool?.spec, name) } }));
}

interface Settings {
  kueue: boolean;
  /** Of the release. */
  namespace: string;
  /** Null: all. */
  watched: string | null;
}

export class Queues {
  readonly #kube: KubeClient;
  readonly #settings: Settings;
  readonly #log: Logger;
  readonly #onChange: () => void;
  #watched: Reflector<Workload> | undefined;
  /** By uid: what failed, and until when it is not tried again with these labels. `why`: for its owner. */
  readonly #failed = new Map<string, { labels: string; until: number; why: string }>();

  constructor(kube: KubeClient, settings: Settings, log: Logger, onChange: () => void) {
    this.#kube = kube;
    this.#settings = settings;
    this.#log = log;
    this.#onChange = onChange;
  }

  begin(): void {
    if (!this.#settings.kueue || this.#watched) return;
    this.#watched = startReflector({
      client: this.#kube,
      type: WORKLOADS,
      namespace: this.#settings.watched,
      labelSelector: `${LABEL.managedBy}=${MADE_BY}`,
      handlers: { add: this.#onChange, update: this.#onChange, delete: this.#onChange },
      hooks: { failed: (error) => this.#log.warn({ err: error }, 'cannot watch Workloads of Kueue') },
    });
    this.#watched.synced.then(this.#onChange, () => {});
  }

  /** Until then nothing is said of it: a batch that was admitted is not to be paused. */
  knows(object: ProbeBatch): boolean {
    return !this.#settings.kueue || labelOf(object, 'queue') === undefined || this.#watched?.hasSynced() === true;
  }

  async end(): Promise<void> {
    const watched = this.#watched;
    this.#watched = undefined;
    this.#failed.clear();
    await watched?.stop();
  }

  /** The object is gone. */
  forget({ metadata: { uid } }: ProbeBatch): void {
    this.#failed.delete(uid!);
  }

  #of(object: ProbeBatch): Workload | undefined {
    const workload = this.#watched?.get(`${object.metadata.namespace}/${workloadNameOf(object)}`);
    // By its label an object could name the Workload of another one, and run on its quota.
    return workload && isAnothers(workload, object) ? undefined : workload;
  }

  /** Why it may not run now. */
  heldBy(object: ProbeBatch): Standing | null {
    const queue = labelOf(object, 'queue');
    if (queue === undefined) return null;
    if (!this.#settings.kueue)
      return held('KueueDisabled', 'this installation has batches.kueue=false: see its operator');
    const { spec, status, metadata } = this.#of(object) ?? {};
    if (!spec || !metadata?.ownerReferences || metadata.deletionTimestamp) {
      const why = this.#failed.get(object.metadata.uid!)?.why;
      if (why) return held('WorkloadRefused', why);
      const priority = labelOf(object, 'priority');
      const needs = priority === undefined ? '' : `; its WorkloadPriorityClass ${priority} has to exist`;
      return held('Queued', `it has no Workload yet${needs}`);
    }
    const evicted = conditionOf(status, 'Evicted');
    if (evicted?.status === 'True') return held(evicted.reason, evicted.message);
    if (spec.active === false) return held('Deactivated', 'spec.active of its Workload is false');
    if (isTrue(status, 'Admitted')) return null;
    const { message = '' } = conditionOf(status, 'QuotaReserved') ?? {};
    return held('Queued', message || `it waits in the queue ${queue}`);
  }

  /** Kueue knows that it has ended, or never knew of it. */
  isTold(object: ProbeBatch): boolean {
    const workload = labelOf(object, 'queue') === undefined ? undefined : this.#of(object);
    return workload === undefined || isTrue(workload.status, 'Finished');
  }

  /** One step: the watch shows what became of it, and the next round goes on. */
  async follow(object: ProbeBatch, work: Work): Promise<void> {
    if (!this.#settings.kueue || labelOf(object, 'queue') === undefined) return;
    const uid = object.metadata.uid!;
    const labels = JSON.stringify(object.metadata.labels);
    const failed = this.#failed.get(uid);
    if (failed?.labels === labels && performance.now() < failed.until) return;
    try {
      await this.#step(object, this.#of(object), work);
      this.#failed.delete(uid);
    } catch (error) {
      if (isKubeError(error, 'conflict', 'already-exists')) return;
      const why = isKubeError(error, 'invalid') ? error.message.slice(0, MOST_WHY) : '';
      this.#failed.set(uid, { labels, until: performance.now() + AFTER_FAILURE_MS, why });
      // Those are for its owner, who reads them in its status.
      if (isKubeError(error, 'invalid', 'not-found')) return;
      this.#log.warn({ err: error, object: object.metadata.name }, 'cannot follow a Workload of Kueue');
    }
  }

  async #step(object: ProbeBatch, workload: Workload | undefined, work: Work): Promise<void> {
    const isPrebuilt = labelOf(object, 'prebuilt') !== undefined;
    if (work.over) return workload && this.#finish(workload, work.over);
    if (!workload) return isPrebuilt || work.isSuspended ? undefined : this.#create(object, await work.count());
    if (isPrebuilt && !workload.metadata.ownerReferences) return this.#adopt(object, workload);
    // What its owner suspends holds no quota.
    if (work.isSuspended && !isPrebuilt) return this.#delete(workload);
    const { status } = workload;
    if (isTrue(status, 'Evicted') && isTrue(status, 'QuotaReserved'))
      // What runs still uses the quota.
      return work.running === 0 ? this.#release(workload) : undefined;
    const queueName = labelOf(object, 'queue');
    if (workload.spec.queueName !== queueName && !isTrue(status, 'QuotaReserved'))
      await this.#kube.mergePatch(WORKLOADS, workload.metadata.name, { spec: { queueName } }, at(workload));
  }

  async #create(object: ProbeBatch, count: number): Promise<void> {
    const { items: pools } = await this.#kube.list(PROBE_POOLS, { namespace: this.#settings.namespace });
    const queueName = labelOf(object, 'queue')!;
    await this.#kube.create(WORKLOADS, {
      metadata: {
        name: workloadNameOf(object),
        namespace: object.metadata.namespace!,
        labels: { [LABEL.managedBy]: MADE_BY, 'kueue.x-k8s.io/job-uid': object.metadata.uid! },
        ownerReferences: [ownerOf(object)],
      },
      spec: {
        queueName,
        ...(await this.#priorityOf(object)),
        podSets: [
          {
            name: 'runners',
            count,
            template: { spec: { restartPolicy: 'Never', containers: runnerOf(pools) } },
          },
        ],
      },
    });
  }

  async #priorityOf(object: ProbeBatch): Promise<Partial<Workload['spec']>> {
    const name = labelOf(object, 'priority');
    if (name === undefined) return {};
    const { value } = await this.#kube.get(WORKLOAD_PRIORITY_CLASSES, name);
    const { group, kind } = WORKLOAD_PRIORITY_CLASSES;
    return { priority: value, priorityClassRef: { group, kind, name } };
  }

  async #adopt(object: ProbeBatch, workload: Workload): Promise<void> {
    const metadata = { ownerReferences: [ownerOf(object)] };
    await this.#kube.mergePatch(WORKLOADS, workload.metadata.name, { metadata }, at(workload));
  }

  async #delete({ metadata: { name, namespace, uid } }: Workload): Promise<void> {
    await this.#kube.delete(WORKLOADS, name, { namespace, uid });
  }

  async #finish(workload: Workload, { state, message }: Standing): Promise<void> {
    if (isTrue(workload.status, 'Finished')) return;
    const reason = state === 'Completed' ? 'Succeeded' : 'Failed';
    await this.#set(workload, [{ type: 'Finished', status: 'True', reason, message }]);
  }

  /** Gives the quota back. Preempted, it is in the queue again. */
  async #release(workload: Workload): Promise<void> {
    const { reason = 'Pending', message = '' } = conditionOf(workload.status, 'Evicted') ?? {};
    const requeued = reason === 'Preempted' || reason === 'NodeFailures' ? 'True' : 'False';
    await this.#set(
      workload,
      [
        { type: 'QuotaReserved', status: 'False', reason: 'Pending', message },
        { type: 'Admitted', status: 'False', reason: 'NoReservation', message: 'The workload has no reservation' },
        { type: 'Requeued', status: requeued, reason, message },
      ],
      { admission: null },
    );
  }

  async #set(
    workload: Workload,
    changes: { type: string; status: 'True' | 'False'; reason: string; message: string }[],
    more: object = {},
  ): Promise<void> {
    const { generation: observedGeneration = 0 } = workload.metadata;
    const conditions = setConditions(
      workload.status,
      changes.map((change) => ({ ...change, observedGeneration })),
      stamp(Date.now()),
    );
    await this.#kube.mergePatchStatus(WORKLOADS, workload.metadata.name, { conditions, ...more }, at(workload));
  }
}

const isAnothers = ({ metadata }: Workload, object: ProbeBatch): boolean =>
  metadata.ownerReferences?.some(({ uid }) => uid !== object.metadata.uid) ?? false;

const at = ({ metadata: { namespace, resourceVersion } }: Workload) => ({ namespace, resourceVersion });

const ownerOf = ({ metadata: { name, uid } }: ProbeBatch) => ({
  apiVersion: apiVersionOf(PROBE_BATCHES),
  kind: PROBE_BATCHES.kind,
  name,
  uid: uid!,
  controller: true,
});
