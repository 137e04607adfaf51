/**
 * The one end of a request: recorded in Postgres unless it already has one, sent to the waiting API replica, written to
 * the ProbeJob's status.
 */
import { SUBJECT } from '../../../platform/bus/messages.ts';
import { packBody, type PackedBody } from '../../../platform/bus/packing.ts';
import type { ResultBody } from '../../../platform/bus/result_body.ts';
import type { Bus } from '../../../platform/bus/connect.ts';
import { isKubeError, type KubeClient } from '../../../platform/kube/client.ts';
import type { ProbeJob, ProbeJobStatus } from '../../../platform/kube/probe_job.ts';
import { type Logger, requestFields } from '../../../base/log.ts';
import { endedNotice } from '../../result/ended_notice.ts';
import { backoff, pause, retry } from '../../../base/retry.ts';
import type { RecordedEnd } from '../../../platform/store/requests.ts';
import type { Store } from '../../../platform/store/store.ts';
import { isUuid } from '../../../platform/store/uuid.ts';
import type { Turns } from '../../../base/turns.ts';
import { stamp } from '../../../platform/kube/conditions.ts';
import type { FinishedJobs } from './finished_jobs.ts';
import { finishedStatus, type JobEnd, readLive, writeStatus, type WriteTurns } from './job_status.ts';
import { resultPathOf, type End } from './job.ts';
import { recordEnd } from '../collect/record_end.ts';
import { leaseSafe, type Term } from './lease_guard.ts';

export interface Endable {
  id: string;
  key: string;
  account: number | undefined;
  namespace: string;
  uid: string;
  resourceVersion: string;
  submittedAt: Date;
  attempt: number;
  status: ProbeJobStatus | undefined;
}

type RecordedTool = Pick<
  ResultBody['tools'][number],
  'name' | 'version' | 'side' | 'success' | 'durationMs' | 'usageMs'
>;

const PAUSES = { first: 50, longest: 2_000 };

export interface EndDeps {
  store: Store;
  bus: Bus;
  log: Logger;
  /** For callers that end many requests at once. */
  records?: Turns;
}

export interface FinishDeps {
  term: Term;
  store: Pick<Store, 'clock'>;
  kube: KubeClient;
  log: Logger;
  writes: WriteTurns;
  finishedJobs: Pick<FinishedJobs, 'nextBatch'>;
}

export const recordedEnd = (end: RecordedEnd): JobEnd => ({
  reason: end.reason,
  summary: end.error ?? (end.state === 'success' ? 'completed' : end.reason),
  tools: [],
  ...(end.policyOutcome === null
    ? {}
    : {
        policy: {
          ...(end.policyName === null ? {} : { name: end.policyName }),
          ...(end.policyRevision === null ? {} : { revision: end.policyRevision }),
          outcome: end.policyOutcome,
        },
      }),
});

/** The result body for tools that timed out. */
const timeoutBody = (tools: readonly RecordedTool[], error: string, ioUsage: number): PackedBody =>
  packBody({
    tools: tools.map((tool) => ({
      ...tool,
      exitCode: null,
      signal: null,
      error,
      failure: 'timeout',
      format: 'json',
      output: null,
    })),
    ioUsage,
  });

export type Recordable = Pick<Endable, 'id' | 'key' | 'submittedAt' | 'attempt' | 'status'>;

/** Retries until Postgres answers or the term ends: without a record there is no end. */
export async function endRequest(
  { store, bus, log, records }: EndDeps,
  job: Recordable,
  end: End,
  signal: AbortSignal,
): Promise<JobEnd> {
  // No accepted request has such an id. There is no row, and the query would always fail.
  if (!isUuid(job.id)) return { reason: end.reason, summary: end.error, tools: [] };
  const named = requestFields({ id: job.id, job: job.key });
  const tools: RecordedTool[] = (end.timedOut ?? []).map(({ name, version, side }) => ({
    name,
    version,
    ...(side === undefined ? {} : { side }),
    success: false,
    durationMs: end.ranMs ?? 0,
    usageMs: end.ranMs ?? 0,
  }));
  const ioBytes = end.used?.bytes ?? 0;
  const body = end.timedOut ? timeoutBody(tools, end.error, ioBytes) : null;
  const asked: JobEnd = { reason: end.reason, summary: end.error, tools };
  const record = async (): Promise<JobEnd> => {
    const {
      closed,
      waiter,
      queueTimeMs,
      end: recorded,
      refused,
    } = await recordEnd(store, {
      id: job.id,
      submittedAt: job.submittedAt,
      state: end.state,
      status: end.status,
      reason: end.reason,
      error: end.error,
      attempt: job.attempt,
      startedAt: job.status?.startedAt ? new Date(job.status.startedAt) : null,
      tools,
      ...(end.used && !end.timedOut ? { usedMs: end.used.ms } : {}),
      ioBytes,
      body: body?.packed ?? null,
      inflatedBytes: body?.size,
    });
    if (refused)
      log.error({ err: refused, ...named }, 'cannot record the end of a request, recording an internal error instead');
    if (!closed) {
      const [stands] = await store.endsFor([job.id]);
      return stands ? recordedEnd(stands) : asked;
    }
    log.info({ ...named, reason: recorded.reason, status: recorded.status }, 'request ended');
    if (waiter !== null) {
      const notice = endedNotice({ ...recorded, queueTimeMs, hasBody: recorded.body !== null }, recorded.body);
      bus.publish(SUBJECT.ended(waiter), notice);
    }
    return { reason: recorded.reason, summary: recorded.error ?? end.error, tools: recorded.tools };
  };
  return retry(() => (records ? records.run(record) : record()), {
    ...PAUSES,
    signal,
    onRetry: (error) => log.warn({ err: error, ...named }, 'cannot record the end of a request, will retry'),
  }).catch(() => asked);
}

/** Returns the finished object, or undefined if it no longer exists. */
export async function writeFinish(
  deps: FinishDeps,
  job: Endable,
  finish: JobEnd,
  options: { later: boolean },
): Promise<ProbeJob | undefined> {
  const { term, store, kube, log, writes } = deps;
  const { signal } = term;
  const turn = { account: job.account, ...options };
  const shown = { ...finish, resultPath: resultPathOf(job), batch: deps.finishedJobs.nextBatch() };
  let { status, resourceVersion } = job;
  const wait = backoff(PAUSES);
  const write = async (): Promise<ProbeJob | undefined> => {
    await leaseSafe(term, 0);
    if (signal.aborted) return undefined;
    return writeStatus(kube, { ...job, resourceVersion }, finishedStatus(status, shown, stamp(store.clock.now())));
  };
  while (!signal.aborted) {
    try {
      return await writes.run(write, turn);
    } catch (error) {
      if (isKubeError(error, 'not-found')) return undefined;
      if (!isKubeError(error, 'conflict')) {
        const named = requestFields({ id: job.id, job: job.key });
        log.warn({ err: error, ...named }, 'cannot write the end of a job into its status, will retry');
        await pause(wait.next(), signal);
      }
    }
    const live = await readLive(deps, job, turn);
    if (live.is === 'gone') return undefined;
    if (live.is === 'finished') return live.object;
    if (live.is === 'open') {
      status = live.object.status;
      resourceVersion = live.object.metadata.resourceVersion ?? '';
    } else await pause(wait.next(), signal);
  }
  return undefined;
}
