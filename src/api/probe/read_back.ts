/** `GET /v1/probe/{request_id}`: how a request stands, and its result, for as long as the record keeps it. */
import { endedNotice } from '../../result/ended_notice.ts';
import { readKeptRequest } from '../../result/kept_request.ts';
import { isKubeError, PROBE_JOBS } from '../../kube/client.ts';
import { conditionOf, isTrue } from '../../kube/conditions.ts';
import { WAITING, type ProbeJob } from '../../kube/probe_job.ts';
import { requestFields } from '../../log.ts';
import { answer } from './answer.ts';
import { endpoint } from '../http/endpoint.ts';
import { tokenOf, uuidOf, type Context } from '../http/context.ts';
import { READ_BACK } from './description/read_back.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';

/**
 * Where a request without an end stands, from its ProbeJob. One that is not (yet) there, or cannot be asked for, is
 * queued for all anybody knows.
 */
function standing(job: ProbeJob | null, elapsedMs: number): { state: 'queued' | 'running'; queueTimeMs: number } {
  const admitted = isTrue(job?.status, 'Admitted');
  const reason = conditionOf(job?.status, 'Succeeded')?.reason;
  const running = admitted && !WAITING.some((waiting) => waiting === reason);
  return running
    ? { state: 'running', queueTimeMs: job?.status?.queueTimeMs ?? 0 }
    : { state: 'queued', queueTimeMs: Math.max(0, Math.round(elapsedMs)) };
}

async function jobOf(
  { kube, settings, log }: Pick<Deps, 'kube' | 'settings' | 'log'>,
  id: string,
): Promise<ProbeJob | null> {
  try {
    return await kube.get(PROBE_JOBS, id, { namespace: settings.namespace, deadlineMs: 2_000 });
  } catch (error) {
    if (!isKubeError(error, 'not-found')) log.warn({ err: error, ...requestFields({ id }) }, 'cannot read a ProbeJob');
    return null;
  }
}

async function readBack(deps: Deps, ctx: Context): Promise<void> {
  const { store } = deps;
  const id = uuidOf(ctx);
  const record = await store.readRequest(id, { userId: tokenOf(ctx).userId });
  if (!record) throw notFound();

  if (record.state === 'open') {
    const { state, queueTimeMs } = standing(await jobOf(deps, id), store.clock.now() - record.submittedAt.getTime());
    ctx.status = 202;
    ctx.body = { success: true, metadata: { request_id: id, queue_time: queueTimeMs, io_usage: 0 }, state };
    return;
  }
  const { status, reason, queueTimeMs } = record;
  const end = endedNotice({
    ...record,
    status: status ?? 500,
    reason: reason ?? 'InternalError',
    queueTimeMs: queueTimeMs ?? 0,
  });
  await answer(deps, ctx, end, record.submittedAt, readKeptRequest(record).response);
}

export const readProbe = endpoint('GET /v1/probe/:id', READ_BACK, readBack);
