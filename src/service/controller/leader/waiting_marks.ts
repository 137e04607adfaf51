/**
 * Writes the reason why a job waits into its status. Concurrency is bounded: ten thousand waiting jobs must not keep
 * the API server from admissions.
 */
import type { KubeClient } from '../../../platform/kube/client.ts';
import type { Store } from '../../../platform/store/store.ts';
import { stamp } from '../../../platform/kube/conditions.ts';
import type { WaitingCause } from '../../../platform/kube/probe_job.ts';
import { waitingStatus } from './job_status.ts';
import type { Job } from './job.ts';
import { writeStatus } from './status_write.ts';

const AT_ONCE = 4;

export interface WaitingReason {
  reason: WaitingCause;
  message: string;
}

export interface WaitingMarksDeps {
  kube: KubeClient;
  why(job: Job): WaitingReason;
  /** Called once for each job that has waited long enough to be marked. */
  waited(reason: WaitingCause): void;
  store: Pick<Store, 'clock'>;
  signal: AbortSignal;
}

export class WaitingMarks {
  readonly #deps: WaitingMarksDeps;
  readonly #due: Job[] = [];
  #writing = 0;

  constructor(deps: WaitingMarksDeps) {
    this.#deps = deps;
  }

  add(job: Job): void {
    this.#due.push(job);
    while (this.#writing < AT_ONCE && this.#due.length > 0) {
      const next = this.#due.shift();
      if (!next || next.state !== 'waiting' || this.#deps.signal.aborted) continue;
      this.#writing++;
      void this.#write(next).finally(() => {
        this.#writing--;
        const following = this.#due.shift();
        if (following) this.add(following);
      });
    }
  }

  async #write(job: Job): Promise<void> {
    const { kube, why, waited, store } = this.#deps;
    const { reason, message } = why(job);
    waited(reason);
    try {
      const version = job.resourceVersion;
      const updated = await writeStatus(
        kube,
        job,
        waitingStatus(job.status, reason, message, stamp(store.clock.now())),
      );
      if (job.resourceVersion === version) {
        job.resourceVersion = updated.metadata.resourceVersion ?? version;
        job.status = updated.status;
      }
    } catch {
      // The mark is only informative: losing it to an admission or a busy API server is no error.
    }
  }
}
