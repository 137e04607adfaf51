/**
 * Requests without a waiting caller (webhooks, `respond-async`): the job is created in the background, with retries
 * while the API server is unavailable.
 */
import type { Early } from '../../../platform/bus/messages.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import { requestFields } from '../../../base/log.ts';
import { createOrEnd, type CreateDeps } from './create_job.ts';

export interface HandOver {
  /** Resolves when the job is created, or after a moment while it is still being retried. Never rejects. */
  start(request: { id: string; submittedAt: Date }, job: ProbeJob, withinMs: number): Promise<void>;
  /**
   * A request without a job by now has an open row: the controllers' sweep ends it, which is reported to its webhook.
   */
  stop(): Promise<void>;
}

/** The job of an idle cluster is created in 4 ms. A slower one must not hold up its caller. */
const MOMENT_MS = 1_000;

export function makeHandOver(deps: CreateDeps & { namespace: string; tellEarly(early: Early): void }): HandOver {
  const stopping = new AbortController();
  const underWay = new Set<Promise<void>>();

  return {
    async start(request, job, withinMs) {
      deps.tellEarly({ job: request.id, namespace: deps.namespace, spec: job.spec });
      const creating: Promise<void> = createOrEnd(deps, request, job, { withinMs, signal: stopping.signal })
        .then(
          () => {},
          (error: unknown) => {
            if (stopping.signal.aborted) return;
            deps.log.error({ err: error, ...requestFields({ id: request.id }) }, 'cannot create or end a request');
          },
        )
        .finally(() => underWay.delete(creating));
      underWay.add(creating);
      let timer: NodeJS.Timeout | undefined;
      const moment = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, MOMENT_MS);
      });
      await Promise.race([creating, moment]);
      clearTimeout(timer);
    },
    async stop() {
      stopping.abort(new Error('this replica is shutting down'));
      await Promise.allSettled(underWay);
    },
  };
}
