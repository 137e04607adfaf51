/** Owners of runners, derived from the jobs they ran: a new leader knows them independently of their agents. */
import { lifeOf, podOf } from '../../../platform/bus/runner_id.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import type { ReuseScope } from '../../../platform/kube/probe_pool.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { Runners } from '../pools/runners.ts';
import { tenantOf } from '../pools/share.ts';

/** Stands for a job created by hand. */
const NO_TOKEN = 0;

export class RunnerOwners {
  readonly #runners: Runners;
  /** Token ids by runner: all jobs of one life of a pod belong to one tenant. */
  readonly #tokens = new Map<string, number>();

  constructor(runners: Runners) {
    this.#runners = runners;
  }

  /**
   * Notes the runner of a finished or unfinished job. Most such pods no longer exist, or are in another life. A life
   * that the watch has not shown yet counts: the pod may have been renewed just before.
   */
  note({ spec, status }: ProbeJob): void {
    const uid = status?.runner?.uid;
    const runner = uid === undefined ? undefined : this.#runners.ofPod(podOf(uid));
    if (uid !== undefined && runner && lifeOf(uid) >= runner.life) this.#tokens.set(uid, spec.token?.id ?? NO_TOKEN);
  }

  tokens(): number[] {
    return [...this.#tokens.values()].filter((id) => id !== NO_TOKEN);
  }

  hasByHand(): boolean {
    return [...this.#tokens.values()].includes(NO_TOKEN);
  }

  /** A runner of an unknown token (revoked, or not readable now) gets no more jobs. */
  bind(
    known: (token: number) => TokenRecord | undefined,
    byHand: TokenRecord | null,
    scopeOf: (pool: string) => ReuseScope,
  ): void {
    for (const [uid, id] of this.#tokens) {
      const runner = this.#runners.ofPod(podOf(uid));
      const token = id === NO_TOKEN ? byHand : known(id);
      const tenant =
        runner &&
        tenantOf(scopeOf(runner.pool), {
          id: uid,
          token: token?.id ?? id,
          account: token?.rootUserId ?? 0,
          credentials: !token,
        });
      if (tenant !== undefined) this.#runners.bind(uid, tenant, token?.rootUserId);
    }
  }
}
