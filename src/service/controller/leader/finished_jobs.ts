/**
 * Deletes finished ProbeJobs, because etcd is shared with the whole cluster: after some minutes, or earlier to bound
 * their number. One made with kubectl is kept for a while whatever their number, or for the time that it names. The
 * write that finishes a job puts it into a batch of its namespace that is kept as long, and one call deletes a batch:
 * its selector matches nothing that is unfinished.
 */
import { keyOf, PROBE_JOBS, type KubeClient } from '../../../platform/kube/client.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import { getOrMake } from '../../../base/get_or_make.ts';
import type { Logger } from '../../../base/log.ts';
import { isBeingDeleted } from './job_status.ts';

export interface FinishedLimits {
  finishedSeconds: number;
  finishedMax: number;
  /** Jobs made with kubectl are kept for this long at least. */
  finishedByHandSeconds: number;
}

/** What says how long a finished job is kept. */
export interface Retained {
  byHand: boolean;
  /** `spec.ttlSecondsAfterFinished`. */
  ttlSeconds: number | undefined;
}

/** The end of a batch's id: `7-12`, `7-13-hand`, `7-14-hand-3600`. */
const suffixOf = ({ byHand, ttlSeconds }: Retained): string =>
  byHand ? `-hand${ttlSeconds === undefined ? '' : `-${ttlSeconds}`}` : '';

function retainedBy(id: string): Retained {
  const [, hand, ttl] = /-(hand)(?:-(\d+))?$/.exec(id) ?? [];
  return { byHand: hand !== undefined, ttlSeconds: ttl === undefined ? undefined : Number(ttl) };
}

/** A batch ends after this time or number of jobs. The API server deletes those of one call one after the other. */
const BATCH_MS = 10_000;
const BATCH_JOBS = 100;
const TICK_MS = 1_000;
/**
 * Beside an idle API server one or two calls keep up. One that is busy serves each of its callers equally, so those who
 * delete must not be few beside those who create.
 */
const AT_ONCE = 16;
/** The server stops by then, and the rest of the batch is for the next call. */
const CALL_MS = 30_000;
/** Pause of a batch of which a call deleted none, so that it does not hold up the others. */
const PAUSE_MS = 30_000;

export interface Batch {
  id: string;
  namespace: string;
  /** By `keyOf`. */
  jobs: Set<string>;
  /** The latest end. */
  completedAt: number;
  /** Monotonic. Infinity while its call is under way. */
  tryAt: number;
}

/** Which batches to delete, oldest first. Pure. */
export function dueBatches(
  batches: Iterable<Batch>,
  { finishedSeconds, finishedMax, finishedByHandSeconds }: FinishedLimits,
  { now, monotonic }: { now: number; monotonic: number },
): Batch[] {
  const ready = [...batches]
    .filter(({ tryAt }) => tryAt <= monotonic)
    .toSorted((one, other) => one.completedAt - other.completedAt);
  let left = ready.reduce((sum, { jobs }) => sum + jobs.size, 0);
  return ready.filter(({ id, completedAt, jobs }) => {
    const { byHand, ttlSeconds } = retainedBy(id);
    const seconds = (now - completedAt) / 1000;
    const least = byHand ? finishedByHandSeconds : -Infinity;
    const due = seconds > (ttlSeconds ?? Math.max(finishedSeconds, least)) || (left > finishedMax && seconds >= least);
    if (due) left -= jobs.size;
    return due;
  });
}

export interface FinishedJobsDeps {
  kube: KubeClient;
  epoch: number;
  limits: FinishedLimits;
  log: Logger;
  now: () => number;
  stillLeading: () => boolean;
}

/** Names the batch of a job whose end is about to be written. */
function nextBatchOf(epoch: number) {
  /** Batches that get further jobs, by namespace and the end of their ids. */
  const open = new Map<string, { id: string; jobs: number; since: number }>();
  let number = 0;
  return (namespace: string, retained: Retained = { byHand: false, ttlSeconds: undefined }): string => {
    const suffix = suffixOf(retained);
    for (const [one, { jobs, since }] of open)
      if (jobs === BATCH_JOBS || performance.now() - since > BATCH_MS) open.delete(one);
    const batch = getOrMake(open, `${namespace}/${suffix}`, () => ({
      id: `${epoch}-${++number}${suffix}`,
      jobs: 0,
      since: performance.now(),
    }));
    batch.jobs += 1;
    return batch.id;
  };
}

export type FinishedJobs = ReturnType<typeof makeFinishedJobs>;

export function makeFinishedJobs({ kube, epoch, limits, log, now, stillLeading }: FinishedJobsDeps) {
  const batches = new Map<string, Batch>();
  const batchOf = new Map<string, Batch>();
  let calls = 0;
  let timer: NodeJS.Timeout | undefined;

  function forget(key: string): void {
    const batch = batchOf.get(key);
    if (!batch) return;
    batchOf.delete(key);
    batch.jobs.delete(key);
    if (batch.jobs.size === 0) batches.delete(batch.id);
  }

  async function deleteBatch(batch: Batch): Promise<boolean> {
    const { namespace } = batch;
    const keys = [...batch.jobs];
    batch.tryAt = Infinity;
    try {
      const bounds = { namespace, serverTimeoutMs: CALL_MS, deadlineMs: CALL_MS + 2_000 };
      await kube.deleteAll(PROBE_JOBS, `status.batch=${batch.id}`, bounds);
    } catch (error) {
      log.warn({ err: error, count: keys.length }, 'cannot delete finished ProbeJobs, will retry');
      batch.tryAt = batch.jobs.size < keys.length ? 0 : performance.now() + PAUSE_MS;
      return false;
    }
    batch.tryAt = 0;
    for (const key of keys) forget(key);
    return true;
  }

  function deleteDue(): void {
    if (timer === undefined || !stillLeading()) return;
    const due = dueBatches(batches.values(), limits, { now: now(), monotonic: performance.now() });
    for (const batch of due.slice(0, AT_ONCE - calls)) {
      calls += 1;
      void deleteBatch(batch).then((deleted) => {
        calls -= 1;
        if (deleted) deleteDue();
      });
    }
  }

  return {
    nextBatch: nextBatchOf(epoch),
    add(job: ProbeJob): void {
      const { metadata, status } = job;
      const key = keyOf(job);
      // Already deleted, but kept by a foreign finalizer.
      if (isBeingDeleted(job)) return forget(key);
      const id = status?.batch;
      if (id === undefined) return;
      if (batchOf.get(key) !== batches.get(id)) forget(key);
      const batch = getOrMake(batches, id, () => {
        // The one before is complete.
        deleteDue();
        return { id, namespace: metadata.namespace ?? '', jobs: new Set<string>(), completedAt: 0, tryAt: 0 };
      });
      batch.jobs.add(key);
      batch.completedAt = Math.max(batch.completedAt, Date.parse(status?.completedAt ?? '') || now());
      batchOf.set(key, batch);
    },
    forget: (job: Pick<ProbeJob, 'metadata'>): void => forget(keyOf(job)),
    size: (): number => batchOf.size,
    start(): void {
      timer = setInterval(deleteDue, TICK_MS);
    },
    stop(): void {
      clearInterval(timer);
      timer = undefined;
    },
  };
}
