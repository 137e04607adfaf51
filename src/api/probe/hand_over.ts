/**
 * Requests that nobody waits for (webhooks, `respond-async`): the job is created beside the answer, however long the
 * API server is away.
 */
import type { Early } from '../../bus/messages.ts';
import type { ProbeJob } from '../../kube/probe_job.ts';
import { requestFields } from '../../log.ts';
import { createOrEnd, type CreateDeps } from './create_job.ts';

export interface HandOver {
  /** Resolves when the job is there, or after a moment: then it is still being tried. Never rejects. */
  start(request: { id: string; submittedAt: Date }, job: ProbeJob, withinMs: number): Promise<void>;
  /** What was not created by now has an open row: the controllers' sweep ends it, and its webhook says so. */
  stop(): Promise<void>;
}

/** A job of a quiet cluster is there in 4 ms; one that is not there by now should not keep its caller. */
const MOMENT_MS = 1_000;

export function makeHandOver(deps: CreateDeps & { namespace: string; tellEarly(early: Early): void }): HandOver {
  const stopping = new AbortController();
  const underWay = new Set<Promise<void>>();

  return {
    async start(request, job, withinMs) {
      deps.tellEarly({ job: request.id, namespace: deps.namespace, spec: job.spec });
      const creating: Promise<void> = createOrEnd(deps, request, job, withinMs, stopping.signal)
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
      stopping.abort(new Error('this replica ends'));
      await Promise.allSettled(underWay);
    },
  };
}
