/** `GET /v1/probe/{request_id}/timeline`: bit rate, key frames, gaps and jumps of each stream over time. */
import Type from 'typebox';
import { JSON_TYPE } from '../../result/assemble.ts';
import { readKeptRequest } from '../../result/kept_request.ts';
import { bytesOf, wholeOf } from '../../result/pieces.ts';
import { unpackResult } from '../../result/unpack.ts';
import { isStoreError } from '../../../platform/store/errors.ts';
import type { RequestRecord } from '../../../platform/store/records.ts';
import { MOST_BYTES } from '../../../media/timeline/limits.ts';
import { TimelineSchema } from '../../../media/timeline/schema.ts';
import type { Deps } from '../deps.ts';
import { ApiError, expired, notFound } from '../errors.ts';
import { tokenOf, uuidOf, type Context } from '../http/context.ts';
import { endpoint } from '../http/endpoint.ts';
import { StandingSchema } from './description/answers.ts';
import { resultFor, unreadable } from './send_result.ts';

const Answer = Type.Object(
  { success: Type.Literal(true), request_id: Type.String({ format: 'uuid' }), ...TimelineSchema.properties },
  { title: 'Timeline', additionalProperties: false },
);

const none = (text: string): ApiError => new ApiError('not-found', { text });

const wasAsked = (record: RequestRecord): boolean =>
  (readKeptRequest(record).options['timeline'] as { enabled?: unknown } | undefined)?.enabled === true;

async function storedTimeline(deps: Deps, ctx: Context, record: RequestRecord): Promise<string> {
  const { id, submittedAt, inflatedBytes } = record;
  const missing = () => none(wasAsked(record) ? 'the runner made no timeline' : 'no timeline was requested');
  if (!record.hasBody) throw wasAsked(record) ? none(`no timeline: ${record.error ?? 'no result'}`) : missing();
  const stored = await resultFor(deps, ctx, { id, submittedAt, inflatedBytes }, tokenOf(ctx).rootUserId);
  if (!stored) throw expired();
  try {
    const { result, outputs } = await unpackResult(stored.packed);
    const { timeline } = result;
    if (!timeline) throw missing();
    if (timeline.output === null) throw none(`the timeline failed: ${timeline.error ?? 'no result'}`);
    const { from, to } = timeline.output;
    if (to - from > MOST_BYTES) throw none('the timeline cannot be read');
    if (outputs) return outputs.toString('utf8', from, to);
    const slices: Buffer[] = [];
    for await (const slice of bytesOf([wholeOf(timeline.output)], stored.packed)) slices.push(Buffer.from(slice));
    return Buffer.concat(slices).toString();
  } catch (error) {
    // Deleted between two reads.
    if (isStoreError(error, 'not-ready')) throw expired();
    throw unreadable(error);
  }
}

async function read(deps: Deps, ctx: Context): Promise<void> {
  const id = uuidOf(ctx);
  const record = await deps.store.readRequest(id, { userId: tokenOf(ctx).userId });
  if (!record) throw notFound();
  if (record.state === 'open') {
    ctx.status = 202;
    ctx.body = await deps.standing(record);
    return;
  }
  const stored = await storedTimeline(deps, ctx, record);
  const by = { account: tokenOf(ctx).rootUserId, what: 'the timeline' };
  const text = await deps.work.run('timeline', { requestId: id, stored }, by);
  if (text === null) throw none('the timeline cannot be read');
  ctx.type = JSON_TYPE;
  ctx.body = text;
}

export const readTimelineOf = endpoint(
  'GET /v1/probe/:id/timeline',
  {
    id: 'readTimeline',
    tag: 'probe',
    summary: 'Read the timeline of a request',
    description:
      'Of a request with `timeline`, for as long as its result is kept. A timeline that was cut short, by time or ' +
      'because the source broke off, has `until` and `cut`.',
    params: { id: Type.String({ format: 'uuid', description: "The request's id." }) },
    input: 'ignored',
    answer: { description: 'The timeline.', schema: Answer },
    answers: { 202: { description: 'The request is queued or running.', schema: StandingSchema } },
    errors: {
      404: 'The caller has no such request, it has no timeline (the error says why), or its result has expired.',
    },
  },
  read,
);
