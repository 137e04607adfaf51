/**
 * Removes what a cache does not need. managedFields are about 40 % of a small object, and a finished job's source is
 * never read.
 */
import { isFinished } from './conditions.ts';
import type { KubeObject, Pod } from './kinds.ts';
import type { ProbeBatch } from './probe_batch.ts';
import type { ProbeSource } from './probe_source.ts';
import type { ProbeJob } from './probe_job.ts';
import { KUEUE_LABEL } from './workload.ts';

export function withoutManagedFields<T extends KubeObject>(object: T): T {
  delete (object.metadata as { managedFields?: unknown }).managedFields;
  return object;
}

export function slimJob(job: ProbeJob): ProbeJob {
  withoutManagedFields(job);
  const { kind, token, managedBy } = job.spec;
  if (isFinished(job.status)) job.spec = { kind, source: {}, ...clean({ token, managedBy }) };
  return job;
}

/**
 * What the cache holds of a job: what a result is checked against, and what an end needs if the job vanishes. The
 * leader keeps what it needs to run it, so source and tools are not held twice.
 */
export function keptJob({ apiVersion, kind, metadata, spec, status }: ProbeJob): ProbeJob {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
  const { token, submittedAt, policy, other, items, managedBy } = spec;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...clean({ namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp }),
    },
    spec: {
      kind: spec.kind,
      source: {},
      // That there is a second source says which results the job must have.
      ...clean({ token, submittedAt, policy, items, managedBy, other: other && { sealed: '' } }),
    },
    ...clean({ status }),
  };
}

const QUEUE_LABELS: ReadonlySet<string> = new Set(Object.values(KUEUE_LABEL));

/** Without what others write in an object: labels, annotations. */
function bare<T extends KubeObject & { status?: unknown }>({ apiVersion, kind, metadata, status }: T) {
  const { name, namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp } = metadata;
  const present = clean({ namespace, uid, resourceVersion, generation, creationTimestamp, deletionTimestamp });
  return { apiVersion, kind, metadata: { name, ...present }, ...clean({ status }) } as Omit<T, 'spec'>;
}

/** Its creator decides about a megabyte of it: of the request, what its quota is asked for, and no labels of others. */
export function slimBatch(object: ProbeBatch): ProbeBatch {
  const { metadata, spec } = object;
  const labels = Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([label]) => QUEUE_LABELS.has(label)));
  const { concurrency } = spec.request as { concurrency?: number };
  const { suspend, managedBy, ttlSecondsAfterFinished } = spec;
  const rest = bare(object);
  return {
    ...rest,
    metadata: { ...rest.metadata, labels },
    spec: { request: clean({ concurrency }), ...clean({ suspend, managedBy, ttlSecondsAfterFinished }) },
  };
}

/** Of the request, what says whether it is another one. */
export const slimSource =
  (digested: (request: object) => object) =>
  (object: ProbeSource): ProbeSource => ({
    ...bare(object),
    spec: { request: digested(object.spec.request), ...clean({ suspend: object.spec.suspend }) },
  });

/** The controller wrote the spec of these pods, and only reads where they run. */
export function slimPod(pod: Pod): Pod {
  withoutManagedFields(pod);
  if (pod.spec !== undefined) {
    const { nodeName, serviceAccountName, terminationGracePeriodSeconds, hostUsers } = pod.spec;
    pod.spec = { containers: [], ...clean({ nodeName, serviceAccountName, terminationGracePeriodSeconds, hostUsers }) };
  }
  return pod;
}

const clean = <T extends object>(object: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;
