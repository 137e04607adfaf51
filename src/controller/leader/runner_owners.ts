/** Whose runner pods are, by the jobs that they ran: what a new leader knows of them without a word of their agents. */
import type { ProbeJob } from '../../kube/probe_job.ts';
import type { ReuseScope } from '../../kube/probe_pool.ts';
import type { TokenRecord } from '../../store/records.ts';
import type { Runners } from '../pools/runners.ts';
import { tenantOf } from '../pools/share.ts';

/** Of a job that was made by hand. */
const NO_TOKEN = 0;

export class RunnerOwners {
  readonly #runners: Runners;
  /** Tokens by the pod's uid: all jobs of a pod are of one tenant. */
  readonly #tokens = new Map<string, number>();

  constructor(runners: Runners) {
    this.#runners = runners;
  }

  /** A job, finished or not. Most ran on pods that are long gone. */
  note({ spec, status }: ProbeJob): void {
    if (status?.runner && this.#runners.get(status.runner.uid))
      this.#tokens.set(status.runner.uid, spec.token?.id ?? NO_TOKEN);
  }

  tokens(): number[] {
    return [...this.#tokens.values()].filter((id) => id !== NO_TOKEN);
  }

  hasByHand(): boolean {
    return [...this.#tokens.values()].includes(NO_TOKEN);
  }

  /** A pod of a token that nobody knows, revoked or not to be read now, takes nothing more. */
  bind(
    known: (token: number) => TokenRecord | undefined,
    byHand: TokenRecord | null,
    scopeOf: (pool: string) => ReuseScope,
  ): void {
    for (const [uid, id] of this.#tokens) {
      const runner = this.#runners.get(uid);
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
