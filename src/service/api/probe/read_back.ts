/** `GET /v1/probe/{request_id}`: the state of a request, and its result while it is stored. */
import { endedNotice } from '../../result/ended_notice.ts';
import { readKeptRequest } from '../../result/kept_request.ts';
import { answer } from './answer.ts';
import { endpoint } from '../http/endpoint.ts';
import { tokenOf, uuidOf, type Context } from '../http/context.ts';
import { READ_BACK } from './description/read_back.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';

async function readBack(deps: Deps, ctx: Context): Promise<void> {
  const { store } = deps;
  const id = uuidOf(ctx);
  const record = await store.readRequest(id, { userId: tokenOf(ctx).userId });
  if (!record) throw notFound();

  if (record.state === 'open') {
    ctx.status = 202;
    ctx.body = await deps.standing(record);
    return;
  }
  const { status, reason, queueTimeMs } = record;
  const end = endedNotice({
    ...record,
    status: status ?? 500,
    reason: reason ?? 'InternalError',
    queueTimeMs: queueTimeMs ?? 0,
  });
  await answer(deps, ctx, { end, submittedAt: record.submittedAt }, readKeptRequest(record).response);
}

export const readProbe = endpoint('GET /v1/probe/:id', READ_BACK, readBack);
