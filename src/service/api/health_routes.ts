/** `/healthz` and `/readyz` for the API's callers. */
import { healthOf, type Checks } from '../../base/health.ts';
import type { Handler } from './http/request_context.ts';
import { methods, noCache } from './http/middleware.ts';

/** What makes this replica unready, and the state of its dependencies, which does not. */
export interface ReadyChecks {
  ready: Checks;
  dependencies: Checks;
}

const answerHealth = (member: 'ok' | 'ready', checks: Checks, dependencies: Checks = {}): Handler[] => [
  methods('GET', 'HEAD'),
  noCache,
  async function health(ctx) {
    const { status, body } = await healthOf(member, checks, dependencies);
    ctx.status = status;
    ctx.body = body;
  },
];

export const healthz = answerHealth('ok', {});
export const readyz = ({ ready, dependencies }: ReadyChecks): Handler[] => answerHealth('ready', ready, dependencies);

export type Drain = ReturnType<typeof makeDrain>;

/** Graceful shutdown: not ready, no new connections, open requests are completed. Nothing is cancelled. */
export function makeDrain() {
  const over = new AbortController();
  let started = false;
  return {
    get started(): boolean {
      return started;
    },
    /** Aborted when the grace period is over: callers that still wait get the address of their result. */
    over: over.signal,
    start(): void {
      started = true;
    },
    end(): void {
      over.abort();
    },
  };
}
