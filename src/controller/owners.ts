/** Whose runner pods are, by the jobs that they ran: what a new leader knows of them without a word of their agents. */
import type { ProbeJob, ReuseScope } from '../kube/resources.ts';
import type { Runners } from './runners.ts';
import { tenantOf } from './tenant.ts';

export class Owners {
  readonly #runners: Runners;
  /** Tokens by the pod's uid: all jobs of a pod are of one tenant. */
  readonly #tokens = new Map<string, number>();

  constructor(runners: Runners) {
    this.#runners = runners;
  }

  /** A job, finished or not. Most ran on pods that are long gone. */
  note({ spec, status }: ProbeJob): void {
    if (spec.token && status?.runner && this.#runners.get(status.runner.uid)) this.#tokens.set(status.runner.uid, spec.token.id);
  }

  tokens(): Iterable<number> {
    return this.#tokens.values();
  }

  bind(accountOf: (token: number) => number | undefined, scopeOf: (pool: string) => ReuseScope): void {
    for (const [uid, token] of this.#tokens) {
      const [runner, account] = [this.#runners.get(uid), accountOf(token)];
      if (runner && account !== undefined) this.#runners.bind(uid, tenantOf(scopeOf(runner.pool), { id: uid, token, account, credentials: false }));
    }
  }
}
