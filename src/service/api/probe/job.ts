/**
 * The ProbeJob of a request as the API creates and deletes it, and the ends that the API writes itself, where no
 * controller can. The record only accepts the first end of a request, whoever writes it.
 */
import { type Logger, requestFields } from '../../../base/log.ts';
import { retry, within, type Pauses } from '../../../base/retry.ts';
import type { Bus } from '../../../platform/bus/connect.ts';
import {
  CANCEL_ANSWER_MS,
  CREATE_ANSWER_MS,
  SUBJECT,
  type CancelAnswer,
  type CreateAnswer,
  type Ended,
} from '../../../platform/bus/messages.ts';
import {
  isKubeError,
  isOverQuota,
  isPolicyNotReady,
  outcomeUnknown,
  PROBE_JOBS,
  type KubeClient,
} from '../../../platform/kube/client.ts';
import type { ProbeJob } from '../../../platform/kube/probe_job.ts';
import type { Store } from '../../../platform/store/store.ts';
import { chunkOf, requestOfChunk } from '../../../platform/store/uuid.ts';
import { endedNotice } from '../../result/ended_notice.ts';
import { INTERNAL, TEXTS, UNAVAILABLE } from '../../result/texts.ts';
import type { Metrics } from '../api_metrics.ts';
import type { Deps } from '../deps.ts';
import { ApiError, inside } from '../errors.ts';

type EndStore = Pick<Store, 'closeRequest' | 'endsFor'>;

/** Returns the recorded end: this one, or an earlier one. */
export async function recordOwnEnd(
  store: EndStore,
  request: { id: string; submittedAt: Date },
  end: Required<Pick<Ended, 'status' | 'reason' | 'error'>>,
): Promise<Ended> {
  const { closed, queueTimeMs } = await store.closeRequest({
    ...request,
    state: 'error',
    ...end,
    attempt: 0,
    startedAt: null,
    tools: [],
    ioBytes: 0,
    body: null,
  });
  if (closed) return endedNotice({ id: request.id, ...end, queueTimeMs, hasBody: false });
  const [stands] = await store.endsFor([request.id]);
  if (!stands && chunkOf(request.id) !== undefined)
    throw new ApiError('not-found', { text: 'the request was taken back before it began: its item waits again' });
  if (!stands) throw inside('a request has neither an open row nor an end');
  return endedNotice(stands);
}

// Cancels the request of a caller who disconnected: the ProbeJob is deleted, and the leader ends what runs.

const RETRIES = { first: 400, longest: 4_000, attempts: 5 };

/** True: there was a job, and the leader closes its row. `evenIfGone`: a missing job is retried too. */
export async function deleteJob(
  kube: Pick<Deps['kube'], 'delete'>,
  id: string,
  namespace: string,
  { evenIfGone = false, ...retries }: Pauses & { attempts: number; evenIfGone?: boolean } = RETRIES,
): Promise<boolean> {
  const isGone = (error: unknown): boolean => isKubeError(error, 'not-found');
  try {
    await retry(() => kube.delete(PROBE_JOBS, id, { namespace, propagationPolicy: 'Background' }), {
      ...retries,
      when: (error) => evenIfGone || !isGone(error),
    });
    return true;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

/**
 * Never throws, because there is no caller to report to. What cannot be cancelled runs to its end, within its own time
 * limits.
 */
export async function cancel(
  { kube, store, log, settings }: Pick<Deps, 'kube' | 'store' | 'log' | 'settings'>,
  request: { id: string; submittedAt: Date },
): Promise<void> {
  try {
    const deleted = await deleteJob(kube, request.id, settings.namespace);
    if (!deleted)
      await recordOwnEnd(store, request, { status: 499, reason: 'Cancelled', error: 'the caller disconnected' });
  } catch (error) {
    log.warn(
      { err: error, ...requestFields({ id: request.id }) },
      'cannot cancel the request of a disconnected caller',
    );
  }
}

const CANCELLED = { status: 499, reason: 'Cancelled', error: TEXTS.Cancelled } as const;
const CANCEL_RETRIES = { first: 200, longest: 1_000, attempts: 3 };
/** Another replica may be creating the job at this moment. */
const CREATED_WITHIN_MS = 5_000;

/** Null: there was a job, and the leader ends the request. Otherwise its end: it had none. */
export async function cancelOpen(
  { kube, store, cancelItem, settings }: Pick<Deps, 'kube' | 'store' | 'cancelItem' | 'settings'>,
  request: { id: string; submittedAt: Date },
): Promise<Ended | null> {
  // It has no job of its own. The leader stops what runs; without an answer, that is not recorded, and runs on.
  if (chunkOf(request.id) !== undefined) {
    await cancelItem(request.id);
    return recordOwnEnd(store, request, CANCELLED);
  }
  const isNew = store.clock.now() - request.submittedAt.getTime() < CREATED_WITHIN_MS;
  const deleted = await deleteJob(kube, request.id, settings.namespace, { ...CANCEL_RETRIES, evenIfGone: isNew });
  return deleted ? null : recordOwnEnd(store, request, CANCELLED);
}

// Creates a job that the leader does not create, with retries up to a deadline while the API server is unavailable. An
// existing object of this name is our own.

const PAUSES = { first: 100, longest: 2_000 };
/** Time-out of one try. The job of a warm request is created in 3 to 4 ms. */
const TRY_MS = 5_000;

const worthAnotherTry = (error: unknown): boolean =>
  outcomeUnknown(error) || isPolicyNotReady(error) || isKubeError(error, 'too-many-requests', 'unauthorized');

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
  store: EndStore & Pick<Store, 'returnItems'>;
  metrics: Pick<Metrics, 'step'>;
  log: Logger;
  /** True: the leader has created the job. */
  announce(job: ProbeJob): Promise<boolean>;
}

/** What the API asks of the leader, which may not answer in time. */
export const askLeader = ({ bus, log }: { bus: Pick<Bus, 'request'>; log: Logger }) => ({
  async announce(job: ProbeJob): Promise<boolean> {
    try {
      const { created } = await bus.request<CreateAnswer>(SUBJECT.create, job, CREATE_ANSWER_MS);
      return created;
    } catch (error) {
      log.debug({ err: error }, 'no leader answers, creating the job');
      return false;
    }
  },
  async cancelItem(id: string): Promise<void> {
    try {
      await bus.request<CancelAnswer>(SUBJECT.cancelItem, { id }, CANCEL_ANSWER_MS);
    } catch (error) {
      log.warn({ err: error, ...requestFields({ id }) }, 'no leader answers, recording the end of a request');
    }
  },
});

/** The requests of a chunk, but for the first one. */
const restOf = ({ metadata }: ProbeJob, { submittedAt }: { submittedAt: Date }, items: number) => ({
  ids: Array.from({ length: items - 1 }, (_, at) => requestOfChunk(metadata.name, at + 2)),
  submittedAt,
  afterMs: RETURNED_AFTER_MS,
});
const RETURNED_AFTER_MS = 5_000;

/**
 * Has the job created, unless `cached` has an end for the request. If that fails permanently, the row gets its end
 * here, because no controller will ever see the request.
 */
export async function createOrEnd(
  deps: CreateDeps,
  request: { id: string; submittedAt: Date },
  job: ProbeJob,
  limits: { withinMs: number; signal: AbortSignal },
  cached?: (signal: AbortSignal) => Promise<Ended | null>,
): Promise<Ended | null> {
  try {
    const end = await cached?.(limits.signal);
    if (end) return end;
    limits.signal.throwIfAborted();
    const began = performance.now();
    if (!(await deps.announce(job))) {
      limits.signal.throwIfAborted();
      await createJob(deps.kube, job, limits);
    }
    deps.metrics.step('create', performance.now() - began);
    return null;
  } catch (error) {
    if (limits.signal.aborted) throw limits.signal.reason;
    deps.log.error({ err: error, ...requestFields({ id: request.id }) }, 'cannot create a ProbeJob');
    // The first one tells why, and when its batch may go on. The controllers' sweep returns what is not returned now.
    if (job.spec.items !== undefined)
      await deps.store
        .returnItems(restOf(job, request, job.spec.items))
        .catch((err: unknown) => deps.log.warn({ err }, 'cannot return the items of a chunk'));
    return recordOwnEnd(
      deps.store,
      request,
      isOverQuota(error) ? NO_ROOM : worthAnotherTry(error) ? AWAY : NOT_CREATED,
    );
  }
}

// Requests without a waiting caller (webhooks, `respond-async`): the job is created in the background, with retries
// while the API server is unavailable.

/** The job of an idle cluster is created in 4 ms. A slower one must not hold up its caller. */
const MOMENT_MS = 1_000;

export function makeHandOver(deps: CreateDeps) {
  const stopping = new AbortController();
  const underWay = new Set<Promise<void>>();

  return {
    /** Resolves when the job is created, or after a moment while it is still being retried. Never rejects. */
    async start(
      request: { id: string; submittedAt: Date },
      job: ProbeJob,
      withinMs: number,
      cached?: (signal: AbortSignal) => Promise<Ended | null>,
    ): Promise<void> {
      const creating: Promise<void> = createOrEnd(deps, request, job, { withinMs, signal: stopping.signal }, cached)
        .then(
          () => {},
          (error: unknown) => {
            if (stopping.signal.aborted) return;
            deps.log.error({ err: error, ...requestFields({ id: request.id }) }, 'cannot create or end a request');
          },
        )
        .finally(() => underWay.delete(creating));
      underWay.add(creating);
      await within(MOMENT_MS, creating).catch(() => {});
    },
    /**
     * A request without a job by now has an open row: the controllers' sweep ends it, which is reported to its webhook.
     */
    async stop(): Promise<void> {
      stopping.abort(new Error('this replica is shutting down'));
      await Promise.allSettled(underWay);
    },
  };
}
