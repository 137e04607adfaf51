/**
 * Creates a ProbeJob, with retries up to a deadline while the API server is unavailable. An existing object of this
 * name is our own.
 */
import type { Early, Ended } from '../../../platform/bus/messages.ts';
import {
  isKubeError,
  isOverQuota,
  outcomeUnknown,
  PROBE_JOBS,
  type KubeClient,
} from '../../../platform/kube/client.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import { type Logger, requestFields } from '../../../base/log.ts';
import { INTERNAL, TEXTS, UNAVAILABLE } from '../../result/texts.ts';
import { retry } from '../../../base/retry.ts';
import type { Metrics } from '../api_metrics.ts';
import { recordOwnEnd, type EndStore } from './own_end.ts';

const PAUSES = { first: 100, longest: 2_000 };
/** Time-out of one try. The job of a warm request is created in 3 to 4 ms. */
const TRY_MS = 5_000;

const worthAnotherTry = (error: unknown): boolean =>
  outcomeUnknown(error) || isKubeError(error, 'too-many-requests', 'unauthorized');

/** Throws the last error when it gives up: after `withinMs`, on the signal, or if another try cannot help. */
export async function createJob(
  kube: Pick<KubeClient, 'create'>,
  job: ProbeJob,
  options: { withinMs: number; signal: AbortSignal },
): Promise<void> {
  const create = async (): Promise<void> => {
    try {
      await kube.create(PROBE_JOBS, job, { deadlineMs: TRY_MS, serverTimeoutMs: TRY_MS });
    } catch (error) {
      if (!isKubeError(error, 'already-exists')) throw error;
    }
  };
  await retry(create, {
    ...PAUSES,
    until: performance.now() + options.withinMs,
    signal: options.signal,
    when: worthAnotherTry,
    askedMs: (error) => (isKubeError(error) ? error.retryAfterMs : undefined),
  });
}

/** The API server was unavailable for the whole queue time-out. */
const AWAY = { status: 503, reason: 'InternalError', error: UNAVAILABLE } as const;
/** The namespace has as many ProbeJobs as its ResourceQuota allows. */
const NO_ROOM = { status: 429, reason: 'QueueFull', error: TEXTS.QueueFull } as const;
const NOT_CREATED = { status: 500, reason: 'InternalError', error: INTERNAL } as const;

interface CreateDeps {
  kube: Pick<KubeClient, 'create'>;
  store: EndStore;
  metrics: Pick<Metrics, 'step'>;
  log: Logger;
}

/**
 * Creates the job. If that fails permanently, the row gets its end here, because no controller will ever see the
 * request.
 */
export async function createOrEnd(
  deps: CreateDeps,
  request: { id: string; submittedAt: Date },
  job: ProbeJob,
  within: { withinMs: number; signal: AbortSignal },
): Promise<Ended | null> {
  const began = performance.now();
  try {
    await createJob(deps.kube, job, within);
    deps.metrics.step('create', performance.now() - began);
    return null;
  } catch (error) {
    if (within.signal.aborted) throw within.signal.reason;
    deps.log.error({ err: error, ...requestFields({ id: request.id }) }, 'cannot create a ProbeJob');
    return recordOwnEnd(
      deps.store,
      request,
      isOverQuota(error) ? NO_ROOM : worthAnotherTry(error) ? AWAY : NOT_CREATED,
    );
  }
}

// Requests without a waiting caller (webhooks, `respond-async`): the job is created in the background, with retries
// while the API server is unavailable.

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
