/**
 * Collects results on every replica: from a runner's result to the one recorded end. Runners are not trusted, so a
 * result's size, form, and assignment to this job and attempt are checked first. Order: commit, then notify the API
 * and the leader, and confirm to the runner.
 */
import { codeMember } from '../../../base/causes.ts';
import { printable } from '../../../base/printable.ts';
import { makeBodyRoom, type BodyRoom } from '../../../platform/bus/body_room.ts';
import { BusError } from '../../../platform/bus/errors.ts';
import {
  CHUNK_BYTES,
  RESULT_PROTOCOL,
  SUBJECT,
  withoutResult,
  type Closed,
  type Result,
} from '../../../platform/bus/messages.ts';
import type { ResultBody } from '../../../platform/bus/result_body.ts';
import { packBody, type PackedBody } from '../../../platform/bus/packing.ts';
import { fetchBody, purgeChunks } from '../../../platform/bus/results.ts';
import { endedNotice } from '../../result/ended_notice.ts';
import { outcome as outcomeOf, runsOf, type Outcome } from './outcome.ts';
import { PROBE_JOBS, isKubeError } from '../../../platform/kube/client.ts';
import { MOST_FAILED, type PolicyRequest, type PolicyStatus, type ProbeJob } from '../../../platform/kube/probe_job.ts';
import { frequentIf, requestFields, runnerFields } from '../../../base/log.ts';
import { type CloseInput, TAGGED } from '../../../platform/store/records.ts';
import { traceJob } from '../../../platform/tracing/job_trace.ts';
import { TRACE_ANNOTATION } from '../../../platform/tracing/trace_context.ts';
import type { Tracer } from '../../../platform/tracing/tracer.ts';
import { knownFacets } from '../../../media/policy/facets.ts';
import { isFinished } from '../../../platform/kube/conditions.ts';
import { recordedEnd } from '../leader/ends.ts';
import { requestOf, submittedAtOf } from '../leader/job.ts';
import { mergedTools } from '../leader/job_status.ts';
import { policyStatus } from '../leader/policies.ts';
import type { ControllerDeps } from '../clients.ts';
import { nameOf, type JobKey, type ServedNamespaces } from '../../../platform/kube/served_namespaces.ts';
import { readResult } from './read_result.ts';
import { recordEnd, type Recorded } from './record_end.ts';

/**
 * Bound of the compressed body. Joining and recording a body takes three times its size in memory (measured up to 128
 * MB), and the pod has 512 MiB. Two outputs of 64 MiB of base64 noise compress to this size. Larger ones do not come
 * from our runners, and would kill each collector in turn.
 */
const MAX_PACKED_BYTES = 96 * 1024 * 1024;
export interface CollectDeps extends Omit<ControllerDeps, 'config'> {
  tracer?: Tracer | undefined;
  served: ServedNamespaces;
  /** By `keyOf` of the caches. */
  cached: (key: string) => ProbeJob | undefined;
  /** Memory shared by all results of this replica. */
  room: BodyRoom;
}

/** At most half of a replica's concurrent results wait for memory, so that small ones can proceed. */
export const collectorRoom = (): BodyRoom => makeBodyRoom({ totalBytes: 64 * 1024 * 1024, mostWaiting: 8 });

/** A chunk is assigned as a whole: its runner may end each of its items. */
function isAssigned({ spec: { items }, status }: ProbeJob, { podUid, attempt }: Result): boolean {
  if (status?.runner?.uid !== podUid) return false;
  return items === undefined ? status.attempts === attempt : attempt >= 1 && attempt <= items;
}

/** The job for this result: from the cache if it confirms the assignment, otherwise as the API server has it now. */
async function jobOf({ kube, cached, served }: CollectDeps, result: Result): Promise<ProbeJob | undefined> {
  const key = served.cacheKeyOf(result.job);
  const known = cached(key);
  // Only a confirmation is trusted from the cache. A mismatch may come from an older object of the same name, or from
  // an attempt that the watch has not delivered yet.
  if (known && !isFinished(known.status) && isAssigned(known, result)) return known;
  const namespace = key.slice(0, key.indexOf('/'));
  if (namespace === '' || nameOf(key) === '') return undefined;
  try {
    // Not only of namespaces that this replica knows to be bound: the leader may have newer settings.
    return served.received(await kube.get(PROBE_JOBS, nameOf(key), { namespace }));
  } catch (error) {
    // A runner may name any namespace.
    if (isKubeError(error, 'not-found') || (result.job === key && isKubeError(error, 'forbidden'))) return undefined;
    throw error;
  }
}

/**
 * The result recorded in place of an unreadable one: every tool failed. Otherwise the request would wait for a retry
 * that cannot succeed.
 */
function unreadable(job: ProbeJob): ResultBody {
  const tools = runsOf(job).map((run) => ({
    ...withoutResult(run),
    failure: 'failed' as const,
    error: 'the runner sent an unreadable result',
    format: 'json' as const,
  }));
  return { tools, ioUsage: 0 };
}

/** Resolves when the result is settled; rejects when it must be redelivered. */
export async function collect(deps: CollectDeps, result: Result, confirm: () => void): Promise<void> {
  const { job, attempt, chunks } = result;
  const release = await deps.room.reserve(chunks * CHUNK_BYTES);
  if (!release)
    throw new BusError('failed', `${job}/${attempt}: no room for a body of ${chunks} chunks, it comes again`);
  try {
    await take(deps, result, confirm);
  } finally {
    release();
  }
}

async function take(deps: CollectDeps, result: Result, confirm: () => void): Promise<void> {
  const { bus, store, log, metrics } = deps;
  const { job: key, attempt, podUid } = result;
  const collectedMs = store.clock.now();
  if (result.protocol !== RESULT_PROTOCOL) {
    metrics.collected('invalid');
    const named = { ...requestFields({ job: key }), ...runnerFields({ uid: podUid }) };
    log.warn({ ...named, protocol: result.protocol }, 'dropped a result of an unknown protocol version');
    return;
  }
  const job = await jobOf(deps, result);
  if (!job || isFinished(job.status) || !isAssigned(job, result)) {
    // The job was deleted, has ended, or runs another attempt: a late second result changes nothing.
    metrics.collected(job && !isFinished(job.status) ? 'foreign' : 'second');
    const named = {
      ...requestFields({ id: job && requestOf(job, attempt), job: key }),
      ...runnerFields({ uid: podUid }),
    };
    log.info(
      { ...named, attempt, exists: job !== undefined },
      'dropped a result of an ended job or of another attempt',
    );
    confirm();
    return;
  }
  const named = {
    ...requestFields({ id: requestOf(job, attempt), job: key }),
    ...runnerFields({ pod: job.status?.runner?.pod, uid: podUid }),
  };
  const read = await readOrReplace(deps, job, result, named);
  const outcome = outcomeOf(read.body, runsOf(job));
  const recorded = await recordEnd(store, endOf(job, attempt, read, outcome));
  const { closed, end, refused } = recorded;
  if (refused) log.error({ err: refused, ...named }, 'cannot record a result, recording an internal error instead');
  metrics.collected(refused ? 'invalid' : closed ? 'recorded' : 'second');
  if (closed) {
    for (const tool of end.tools) metrics.toolRan(tool);
    trace(deps, job, end, collectedMs);
    notify(deps, closedBy(job, key, attempt), judgedStatus(job.spec.policy, read.body), outcome.summary, recorded);
    log.info(
      {
        ...frequentIf(end.state === 'success' && end.attempt === 1 && !refused),
        ...named,
        attempt,
        state: end.state,
        reason: end.reason,
        ...codeMember(failedFirst(end)),
        bytes: end.body?.length ?? 0,
      },
      'result recorded',
    );
  } else await notifyAgain(deps, job, key, attempt, recorded.waiter);
  confirm();
  await purgeChunks(bus, result).catch((error: unknown) =>
    log.debug({ err: error, ...named }, 'cannot purge the chunks of a result, they will expire'),
  );
}

interface ReadResult extends PackedBody {
  body: ResultBody;
}

async function readOrReplace(
  { bus, log, metrics }: CollectDeps,
  job: ProbeJob,
  result: Result,
  named: object,
): Promise<ReadResult> {
  const { size } = result;
  try {
    const packed = await fetchBody(bus, result, MAX_PACKED_BYTES);
    const body = await readResult(packed, size);
    const wrong = wrongPolicy(job.spec.policy, body);
    if (wrong !== undefined) throw new BusError('bad-result', wrong);
    return { body, packed, size };
  } catch (error) {
    if (!(error instanceof BusError) || error.code !== 'bad-result') throw error;
    metrics.collected('invalid');
    log.error({ err: error, ...named }, 'cannot read a result, recording an internal error');
    const body = unreadable(job);
    return { body, ...packBody(body) };
  }
}

const startOf = ({ status }: ProbeJob): Date | null => (status?.startedAt ? new Date(status.startedAt) : null);

function endOf(
  job: ProbeJob,
  attempt: number,
  { body, packed, size }: ReadResult,
  { state, status, reason, error }: Outcome,
): CloseInput {
  return {
    id: requestOf(job, attempt),
    submittedAt: submittedAtOf(job),
    state,
    status,
    reason,
    error: error ?? null,
    attempt: job.spec.items === undefined ? attempt : 1,
    startedAt: startOf(job),
    tools: body.tools.map(({ name, version, success, durationMs, usageMs, ...why }, at) => ({
      name,
      version,
      success,
      ...(success ? {} : codeMember(why)),
      ...(at === 0 && body.tagged ? { tagged: body.tagged.written ? TAGGED : (body.tagged.code ?? 'failed') } : {}),
      ...(at === 0 && body.facets ? { facets: knownFacets(body.facets) } : {}),
      durationMs: Math.round(durationMs),
      usageMs: Math.round(usageMs),
    })),
    ...(body.report ? { report: { success: body.report.success, usageMs: Math.round(body.report.usageMs) } } : {}),
    ...(body.policy ? { policy: body.policy.outcome } : {}),
    ...(body.timeline ? { timeline: { usageMs: Math.round(body.timeline.usageMs) } } : {}),
    ioBytes: Math.round(body.ioUsage),
    decodedSeconds: body.tools.reduce((sum, { decodedSeconds = 0 }) => sum + decodedSeconds, 0),
    body: packed,
    inflatedBytes: size,
    ...(body.identity === undefined ? {} : { identity: body.identity }),
  };
}

const trace = ({ store, tracer }: CollectDeps, job: ProbeJob, end: CloseInput, collectedMs: number): void =>
  traceJob(tracer, {
    ...end,
    parent: job.metadata.annotations?.[TRACE_ANNOTATION],
    submittedMs: end.submittedAt.getTime(),
    startedMs: startOf(job)?.getTime(),
    collectedMs,
    recordedMs: store.clock.now(),
    failed: end.state === 'error',
  });

const closedBy = (job: ProbeJob, key: JobKey, attempt: number) => ({
  id: requestOf(job, attempt),
  job: key,
  namespace: job.metadata.namespace ?? '',
  attempt,
});

/** Its code stands beside the error of the end, as in the store. */
const failedFirst = ({ tools }: Recorded['end']) => tools.find(({ code }) => code !== undefined);

/** The waiting API replica, and the leader. */
function notify(
  { bus }: CollectDeps,
  by: ReturnType<typeof closedBy>,
  policy: PolicyStatus | undefined,
  summary: string,
  { waiter, queueTimeMs, end, refused }: Recorded,
): void {
  const notice: Closed = {
    ...by,
    reason: end.reason,
    summary: refused ? (end.error ?? '') : policy ? `${policyLine(policy)}; ${summary}` : summary,
    tools: mergedTools(end.tools),
    ...(policy && !refused ? { policy } : {}),
  };
  if (waiter !== null) {
    const noticed = { ...end, ...codeMember(failedFirst(end)), queueTimeMs, hasBody: end.body !== null };
    bus.publish(SUBJECT.ended(waiter), endedNotice(noticed, end.body));
  }
  bus.publish(SUBJECT.closed, notice);
}

/**
 * The replica that recorded the end may have died before its notifications. The recorded end may differ from this
 * result's.
 */
async function notifyAgain(
  { bus, store }: CollectDeps,
  job: ProbeJob,
  key: JobKey,
  attempt: number,
  waiter: string | null,
): Promise<void> {
  const [recorded] = await store.endsFor([requestOf(job, attempt)]);
  if (!recorded) return;
  if (waiter !== null) bus.publish(SUBJECT.ended(waiter), endedNotice(recorded));
  bus.publish(SUBJECT.closed, { ...closedBy(job, key, attempt), ...recordedEnd(recorded) } satisfies Closed);
}

// The policy verdict of a result, for the status, the log and a one-line text.

/** Undefined if the result names the same policy as its job, or no policy; otherwise the error. */
export function wrongPolicy(
  asked: PolicyRequest | undefined,
  { policy: told }: Pick<ResultBody, 'policy'>,
): string | undefined {
  if (!told) return undefined;
  if (!asked) return 'evaluated with a policy that the job does not name';
  // A job created by hand resolves its revision at admission.
  const same =
    told.name === (asked.name ?? null) &&
    (asked.digest === undefined || asked.revision === undefined || told.revision === asked.revision);
  return same ? undefined : 'evaluated with another policy than the job names';
}

/** Without a verdict the outcome is unknown: the runner does not support policies. */
export function judgedStatus(
  asked: PolicyRequest | undefined,
  { policy: told }: Pick<ResultBody, 'policy'>,
): PolicyStatus | undefined {
  if (!asked) return undefined;
  const failed = (told?.rules ?? [])
    .filter(({ outcome }) => outcome === 'fail' || outcome === 'warn' || outcome === 'unknown')
    .map((rule) => printable(rule.name, 100))
    .slice(0, MOST_FAILED);
  return {
    ...policyStatus(asked.name ?? null, told?.revision ?? asked.revision ?? null, told?.outcome ?? 'unknown'),
    ...(failed.length > 0 ? { failed } : {}),
  };
}

const MOST_NAMED = 3;

/** For `kubectl describe`: `policy shared/web-mp4 revision 3: fail (container, faststart and 2 more)`. */
export function policyLine({ name, revision, outcome, failed = [] }: PolicyStatus): string {
  const called = name === undefined ? 'inline policy' : `policy ${name}`;
  const more = failed.length > MOST_NAMED ? ` and ${failed.length - MOST_NAMED} more` : '';
  const named = failed.length > 0 ? ` (${failed.slice(0, MOST_NAMED).join(', ')}${more})` : '';
  return `${called}${revision === undefined ? '' : ` revision ${revision}`}: ${outcome}${named}`;
}
