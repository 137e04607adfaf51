/**
 * Deletes finished ProbeJobs, because etcd is shared with the whole cluster. They are deleted after some minutes, or
 * earlier to bound their number in total and per token.
 */
import { PROBE_JOBS, isKubeError, type KubeClient } from '../../kube/client.ts';
import { LABEL } from '../../kube/resource.ts';
import type { ProbeJob } from '../../kube/probe_job.ts';
import { type Logger, requestFields } from '../../log.ts';
import { isBeingDeleted } from './job_status.ts';
import { idOf } from './job.ts';

export interface FinishedLimits {
  finishedSeconds: number;
  finishedMax: number;
  finishedMaxPerToken: number;
}

interface Kept {
  name: string;
  /** Request id. */
  id: string;
  uid: string | undefined;
  token: string;
  completedAt: number;
  /** It is found by the label that names it. */
  labelled: boolean;
}

/** Decides which finished jobs to delete now, oldest first. Pure. */
export class KeptJobs {
  #byName = new Map<string, Kept>();
  #perToken = new Map<string, number>();

  get size(): number {
    return this.#byName.size;
  }

  add(kept: Kept): void {
    if (this.#byName.has(kept.name)) return;
    this.#byName.set(kept.name, kept);
    this.#perToken.set(kept.token, (this.#perToken.get(kept.token) ?? 0) + 1);
  }

  remove(name: string): void {
    const kept = this.#byName.get(name);
    if (!kept) return;
    this.#byName.delete(name);
    const left = (this.#perToken.get(kept.token) ?? 1) - 1;
    if (left > 0) this.#perToken.set(kept.token, left);
    else this.#perToken.delete(kept.token);
  }

  due(limits: FinishedLimits, now: number, most: number): Kept[] {
    const out: Kept[] = [];
    let total = this.#byName.size;
    const perToken = new Map(this.#perToken);
    for (const kept of this.#byName.values()) {
      if (out.length >= most) break;
      const ofToken = perToken.get(kept.token) ?? 0;
      const old = now - kept.completedAt > limits.finishedSeconds * 1000;
      if (!old && total <= limits.finishedMax && ofToken <= limits.finishedMaxPerToken) continue;
      out.push(kept);
      total--;
      perToken.set(kept.token, ofToken - 1);
    }
    return out;
  }
}

const SWEEP_MS = 1_000;
/** Bounds deletions so that they do not delay admissions: this many per sweep, a few concurrently. */
const PER_SWEEP = 100;
const AT_ONCE = 4;
/** The API server deletes those of one call one after the other. */
const PER_CALL = 25;
/** For one call the API server looks at every job, 1.3 µs each. It saves 0.3 to 0.6 ms for each that it deletes. */
const OBJECTS_PER_DELETE = 250;

/** Which jobs each call deletes. One that has no label gets a call of its own. Pure. */
export function callsFor(due: readonly Kept[], objects: number): Kept[][] {
  const together = due.filter(({ labelled }) => labelled);
  const isWorth = (count: number): boolean => count > 1 && objects <= count * OBJECTS_PER_DELETE;
  const calls: Kept[][] = [];
  for (let at = 0; at < together.length; at += PER_CALL) {
    const batch = together.slice(at, at + PER_CALL);
    if (isWorth(batch.length)) calls.push(batch);
    else calls.push(...batch.map((kept) => [kept]));
  }
  return [...calls, ...due.filter(({ labelled }) => !labelled).map((kept) => [kept])];
}

export interface FinishedJobsDeps {
  kube: KubeClient;
  namespace: string;
  limits: FinishedLimits;
  log: Logger;
  now: () => number;
  stillLeading: () => boolean;
}

export class FinishedJobs {
  readonly #kept = new KeptJobs();
  readonly #deleting = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #sweeping = false;
  /** False where the role of an older release does not allow it. */
  #mayDeleteMany = true;
  readonly #deps: FinishedJobsDeps;

  constructor(deps: FinishedJobsDeps) {
    this.#deps = deps;
  }

  add(job: ProbeJob): void {
    // Already deleted, but kept by a foreign finalizer.
    if (isBeingDeleted(job)) return;
    const completedAt = Date.parse(job.status?.completedAt ?? '') || this.#deps.now();
    this.#kept.add({
      name: job.metadata.name,
      id: idOf(job),
      uid: job.metadata.uid,
      token: String(job.spec.token?.id ?? job.metadata.labels?.[LABEL.token] ?? ''),
      completedAt,
      labelled: job.metadata.labels?.[LABEL.request] === job.metadata.name,
    });
  }

  forget(name: string): void {
    this.#kept.remove(name);
    this.#deleting.delete(name);
  }

  get size(): number {
    return this.#kept.size;
  }

  /** `objects`: how many ProbeJobs there are, finished or not. */
  start(objects: () => number): void {
    this.#timer = setInterval(() => void this.#sweep(objects()), SWEEP_MS);
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  /** One at a time: beside a slow API server they would pile up. */
  async #sweep(objects: number): Promise<void> {
    if (this.#sweeping) return;
    this.#sweeping = true;
    await this.#deleteDue(objects).finally(() => {
      this.#sweeping = false;
    });
  }

  async #deleteDue(objects: number): Promise<void> {
    const { limits, now, stillLeading } = this.#deps;
    const due = this.#kept.due(limits, now(), PER_SWEEP).filter(({ name }) => !this.#deleting.has(name));
    const calls = callsFor(due, this.#mayDeleteMany ? objects : Number.POSITIVE_INFINITY).values();
    const worker = async () => {
      for (const batch of calls) {
        if (this.#stopped || !stillLeading()) return;
        for (const { name } of batch) this.#deleting.add(name);
        const [first] = batch;
        if (first && batch.length === 1) await this.#delete(first);
        else await this.#deleteAll(batch);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  async #delete({ name, id, uid }: Kept): Promise<void> {
    const { kube, namespace, log } = this.#deps;
    try {
      // The uid protects a newer object of the same name.
      await kube.delete(PROBE_JOBS, name, { namespace, uid });
      this.forget(name);
    } catch (error) {
      if (isKubeError(error, 'not-found', 'conflict')) this.forget(name);
      else {
        this.#deleting.delete(name);
        log.debug({ err: error, ...requestFields({ id, job: name }) }, 'cannot delete a finished ProbeJob, will retry');
      }
    }
  }

  /** The watch says which are gone. What is left, as one whose label was removed, is deleted by its name. */
  async #deleteAll(batch: readonly Kept[]): Promise<void> {
    const { kube, namespace, log } = this.#deps;
    try {
      const names = batch.map(({ name }) => name).join(',');
      await kube.deleteAll(PROBE_JOBS, `${LABEL.request} in (${names})`, { namespace });
    } catch (error) {
      this.#mayDeleteMany &&= !isKubeError(error, 'forbidden');
      log.debug(
        { err: error, count: batch.length },
        'cannot delete finished ProbeJobs together, will retry one by one',
      );
    }
    for (const kept of batch) {
      kept.labelled = false;
      this.#deleting.delete(kept.name);
    }
  }
}
