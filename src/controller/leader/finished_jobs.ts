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
    });
  }

  forget(name: string): void {
    this.#kept.remove(name);
    this.#deleting.delete(name);
  }

  get size(): number {
    return this.#kept.size;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#sweep(), SWEEP_MS);
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
  }

  async #sweep(): Promise<void> {
    const { kube, namespace, limits, log, now } = this.#deps;
    const due = this.#kept.due(limits, now(), PER_SWEEP).filter(({ name }) => !this.#deleting.has(name));
    const queue = due.values();
    const worker = async () => {
      for (const { name, id, uid } of queue) {
        if (this.#stopped || !this.#deps.stillLeading()) return;
        this.#deleting.add(name);
        try {
          // The uid protects a newer object of the same name.
          await kube.delete(PROBE_JOBS, name, { namespace, uid });
          this.forget(name);
        } catch (error) {
          if (isKubeError(error, 'not-found', 'conflict')) this.forget(name);
          else {
            this.#deleting.delete(name);
            log.debug(
              { err: error, ...requestFields({ id, job: name }) },
              'cannot delete a finished ProbeJob, will retry',
            );
          }
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }
}
