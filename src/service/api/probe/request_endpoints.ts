/** One request by its id: its state and result, its cancellation, its timeline. */
import Type from 'typebox';
import { AcceptedSchema, ComparisonAnswerSchema, EnvelopeSchema, StandingSchema } from './answer_schemas.ts';
import { type Described, endpoint } from '../http/endpoint.ts';
import { component } from '../http/request_fields.ts';
import { SINGLES } from './single_endpoints.ts';
import { endedNotice } from '../../result/ended_notice.ts';
import { readKeptRequest } from '../../result/kept_request.ts';
import { type Context, tokenOf } from '../http/request_context.ts';
import type { Deps } from '../deps.ts';
import { ApiError, expired } from '../errors.ts';
import type { Reason } from '../../../platform/kube/probe_job.ts';
import { cancelOpen } from './job.ts';
import { JSON_TYPE } from '../../result/answer.ts';
import { unpackResult } from '../../result/unpack.ts';
import type { RequestRecord } from '../../../platform/store/requests.ts';
import { MOST_BYTES } from '../../../media/timeline/limits.ts';
import { TimelineSchema } from '../../../media/timeline/schema.ts';
import { answer, outputTexts, ownRequest, resultFor } from './stored_result.ts';

const READ_BACK: Described = {
  id: 'readProbe',
  summary: 'Read a request back',
  description:
    'The state of a request of the caller and, once it has ended, its result, for as long as the log keeps ' +
    'it. The result is enveloped even if the request asked for the bare output. A request that ended ' +
    'without an envelope returns its own status.',
  params: { id: Type.String({ format: 'uuid', description: "The request's id." }) },
  input: 'ignored',
  answer: {
    description: 'The request has ended.',
    schema: Type.Unsafe<object>({
      anyOf: [EnvelopeSchema, ...SINGLES.map(({ envelope }) => envelope), ComparisonAnswerSchema],
    }),
  },
  answers: { 202: { description: 'The request is queued or running.', schema: StandingSchema } },
  errors: {
    400: 'The request ended with this error.',
    404: 'The caller has no such request, or its source was not accessible.',
    499: 'The request was cancelled.',
  },
};

async function readBack(deps: Deps, ctx: Context): Promise<void> {
  const record = await ownRequest(deps, ctx);
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
  await answer(deps, ctx, end, record.submittedAt, readKeptRequest(record).response);
}

export const readProbe = endpoint('GET /v1/probe/:id', READ_BACK, readBack);

/** A second call returns the response of the first. */
function checkEnd(reason: Reason | null): void {
  if (reason !== 'Cancelled') throw new ApiError('ended-already');
}

async function cancelRequest(deps: Deps, ctx: Context): Promise<void> {
  const record = await ownRequest(deps, ctx);
  if (record.state === 'open') {
    const own = await cancelOpen(deps, record);
    if (own) {
      checkEnd(own.reason);
      void deps.waiting.lookNow();
    }
  } else checkEnd(record.reason);
  ctx.body = { success: true, metadata: { request_id: record.id } };
}

export const cancelProbe = endpoint(
  'POST /v1/probe/:id/cancel',
  {
    id: 'cancelProbe',
    summary: 'Cancel a request',
    description:
      'The request ends with status 499, whether it is queued or runs; a result that arrives at the same moment ' +
      'may come first. A repeated call returns the same response.',
    params: { id: Type.String({ format: 'uuid', description: "The request's id." }) },
    input: 'ignored',
    also: [404],
    answer: { status: 202, description: 'The request is being cancelled, or was cancelled.', schema: AcceptedSchema },
    errors: { 409: 'The request has ended otherwise.' },
  },
  cancelRequest,
);

// `GET /v1/probe/{request_id}/timeline`: bit rate, key frames, gaps and jumps of each stream over time.

const Answer = component('Timeline', {
  success: Type.Literal(true),
  request_id: Type.String({ format: 'uuid' }),
  ...TimelineSchema.properties,
});

const none = (text: string): ApiError => new ApiError('not-found', { text });

const wasAsked = (record: RequestRecord): boolean =>
  (readKeptRequest(record).options['timeline'] as { enabled?: unknown } | undefined)?.enabled === true;

async function storedTimeline(deps: Deps, ctx: Context, record: RequestRecord): Promise<string> {
  const missing = () => none(wasAsked(record) ? 'the runner made no timeline' : 'no timeline was requested');
  if (!record.hasBody) throw wasAsked(record) ? none(`no timeline: ${record.error ?? 'no result'}`) : missing();
  const stored = await resultFor(deps, ctx, record, async (packed) => {
    const unpacked = await unpackResult(packed);
    const { timeline } = unpacked.result;
    if (!timeline) throw missing();
    if (timeline.output === null) throw none(`the timeline failed: ${timeline.error ?? 'no result'}`);
    const { from, to } = timeline.output;
    if (to - from > MOST_BYTES) throw none('the timeline cannot be read');
    const [text] = await outputTexts(unpacked, packed, [timeline.output]);
    return text!;
  });
  if (!stored) throw expired();
  return stored.value;
}

async function read(deps: Deps, ctx: Context): Promise<void> {
  const record = await ownRequest(deps, ctx);
  if (record.state === 'open') {
    ctx.status = 202;
    ctx.body = await deps.standing(record);
    return;
  }
  const stored = await storedTimeline(deps, ctx, record);
  const by = { account: tokenOf(ctx).rootUserId, what: 'the timeline' };
  const text = await deps.work.run('timeline', { requestId: record.id, stored }, by);
  if (text === null) throw none('the timeline cannot be read');
  ctx.type = JSON_TYPE;
  ctx.body = text;
}

export const readTimelineOf = endpoint(
  'GET /v1/probe/:id/timeline',
  {
    id: 'readTimeline',
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
