/** One request by its id: its state and result, its cancellation, its timeline and pictures. */
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
import { isObject } from '../../../base/is_object.ts';
import { MOST_STORED_BYTES } from '../../../media/qc/limits.ts';
import { QcPicturesSchema } from '../../../media/qc/pictures_schema.ts';
import { MOST_BYTES } from '../../../media/timeline/limits.ts';
import { TimelineSchema } from '../../../media/timeline/schema.ts';
import type { KeptPart } from '../report_page/kept_parts.ts';
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
  await answer(deps, ctx, end, record, readKeptRequest(record).response);
}

export const readProbe = endpoint('GET /v1/probe/:id', { ...READ_BACK, work: readBack });

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

export const cancelProbe = endpoint('POST /v1/probe/:id/cancel', {
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
  work: cancelRequest,
});

// `GET /v1/probe/{request_id}/timeline`: bit rate, key frames, gaps and jumps of each stream over time. And
// `GET /v1/probe/{request_id}/pictures`: what content checks kept to be looked at.

const ofRequest = { success: Type.Literal(true), request_id: Type.String({ format: 'uuid' }) };

interface Part {
  unasked: string;
  isAsked(options: Record<string, unknown>): boolean;
  /** Of what is read. */
  mostBytes: number;
}
const hasOn = (section: unknown, name: string): boolean => isObject(section) && section[name] === true;
const PARTS: Readonly<Record<KeptPart, Part>> = {
  timeline: {
    unasked: 'no timeline was requested',
    isAsked: ({ timeline }) => hasOn(timeline, 'enabled'),
    mostBytes: MOST_BYTES,
  },
  pictures: {
    unasked: 'no pictures were requested',
    isAsked: ({ qc }) => hasOn(qc, 'pictures'),
    mostBytes: MOST_STORED_BYTES,
  },
};

const none = (text: string): ApiError => new ApiError('not-found', { text });

async function storedPart(deps: Deps, ctx: Context, record: RequestRecord, part: KeptPart): Promise<string> {
  const { unasked, isAsked, mostBytes } = PARTS[part];
  const wasAsked = isAsked(readKeptRequest(record).options);
  const missing = () => none(wasAsked ? `the runner made no ${part}` : unasked);
  if (!record.hasBody) throw wasAsked ? none(`no ${part}: ${record.error ?? 'no result'}`) : missing();
  const stored = await resultFor(deps, ctx, record, async (packed) => {
    const unpacked = await unpackResult(packed);
    const { [part]: made, timeline } = unpacked.result;
    if (!made) throw missing();
    if (made.output === null) throw none(`the timeline failed: ${timeline?.error ?? 'no result'}`);
    const { from, to } = made.output;
    if (to - from > mostBytes) throw none(`the ${part} cannot be read`);
    const [text] = await outputTexts(unpacked, packed, [made.output]);
    return text!;
  });
  if (!stored) throw expired();
  return stored.value;
}

const reading = (part: KeptPart) =>
  async function read(deps: Deps, ctx: Context): Promise<void> {
    const record = await ownRequest(deps, ctx);
    if (record.state === 'open') {
      ctx.status = 202;
      ctx.body = await deps.standing(record);
      return;
    }
    const stored = await storedPart(deps, ctx, record, part);
    const by = { account: tokenOf(ctx).rootUserId, what: `the ${part}` };
    const text = await deps.work.run(part, { requestId: record.id, stored }, by);
    if (text === null) throw none(`the ${part} cannot be read`);
    ctx.type = JSON_TYPE;
    ctx.body = text;
  };

const params = { id: Type.String({ format: 'uuid', description: "The request's id." }) };
const answers = { 202: { description: 'The request is queued or running.', schema: StandingSchema } };

export const readTimelineOf = endpoint('GET /v1/probe/:id/timeline', {
  id: 'readTimeline',
  summary: 'Read the timeline of a request',
  description:
    'Of a request with `timeline`, for as long as its result is kept. A timeline that was cut short, by time or ' +
    'because the source broke off, has `until` and `cut`.',
  params,
  input: 'ignored',
  answer: {
    description: 'The timeline.',
    schema: component('Timeline', { ...ofRequest, ...TimelineSchema.properties }),
  },
  answers,
  errors: {
    404: 'The caller has no such request, it has no timeline (the error says why), or its result has expired.',
  },
  work: reading('timeline'),
});

export const readPicturesOf = endpoint('GET /v1/probe/:id/pictures', {
  id: 'readPictures',
  summary: 'Read the pictures of a request',
  description:
    'Of a request with `qc[pictures]`, for as long as its result is kept: small pictures of the video, and the ' +
    'course of the sound. No other answer, webhook or log line has them.',
  params,
  input: 'ignored',
  answer: {
    description: 'The pictures.',
    schema: component('Pictures', { ...ofRequest, ...QcPicturesSchema.properties }),
  },
  answers,
  errors: {
    404: 'The caller has no such request, it has no pictures (the error says why), or its result has expired.',
  },
  work: reading('pictures'),
});
