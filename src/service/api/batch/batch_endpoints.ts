/** Batches: create one, list and read them, pause, resume and cancel one. */
import { createHash } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { FACET_NAMES } from '../../../media/policy/facets.ts';
import type {
  Batch,
  BatchState,
  Budget,
  CreatedBatch,
  MostOfBatches,
  NewBatch,
} from '../../../platform/store/batches.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import type { Store } from '../../../platform/store/store.ts';
import type { DueWebhook } from '../../../platform/store/webhooks.ts';
import type { OfBatch } from '../../webhooks/deliver.ts';
import { keptUrl, shownUrl } from '../../webhooks/kept_url.ts';
import type { Deps } from '../deps.ts';
import { ApiError, notFound } from '../errors.ts';
import { type Described, endpoint } from '../http/endpoint.ts';
import { takeRequestRate } from '../http/rate.ts';
import type { TextBody } from '../http/read_input.ts';
import { type Asker, type Context, nameIgnored, tokenOf, uuidOf } from '../http/request_context.ts';
import { closed, NEWEST, orNull, pageOfNewest, UUID } from '../http/request_fields.ts';
import { idempotencyKey } from '../probe/probe_request.ts';
import { untilClosed } from '../probe/stored_result.ts';
import { BatchAnswerSchema, BatchListSchema, type BatchRowSchema } from './batch_answers.ts';
import { BatchSchema, type Head, MOST_BATCHES, MOST_ITEMS, ResumeSchema } from './batch_fields.ts';
import { batchRequest, type BatchRequest, type KeptTemplate, makeSlices } from './batch_request.ts';
import { shownListing } from './bucket.ts';
import { newBatchKey, sealItems } from './item_seal.ts';
import { type BatchEvent, move, textOfStop } from './states.ts';

// How a batch is shown.

const timeOrNull = (time: Date | null): string | null => time?.toISOString() ?? null;

const rowOf = (batch: Batch): Static<typeof BatchRowSchema> => ({
  id: batch.id,
  name: batch.name,
  state: batch.state,
  reason: batch.reason,
  text: batch.state === 'stopped' ? textOfStop(batch.reason) : null,
  created_at: batch.createdAt.toISOString(),
  deadline_at: timeOrNull(batch.deadlineAt),
  ended_at: timeOrNull(batch.endedAt),
  items: batch.items,
  counts: batch.counts,
  bucket: batch.listing && shownListing(batch.listing),
  source: batch.sourceId,
  requests: batch.requests,
  io_bytes: batch.ioBytes,
  concurrency: batch.concurrency,
  rate: batch.rate,
  per_host: batch.perHost,
  tries: batch.tries,
  max_requests: batch.maxRequests,
  max_bytes: batch.maxBytes,
});

const MINUTE_MS = 60_000;

/** Of those that have ended by a request or are unchanged, over the time since it was created. */
export function progressOf(
  { state, counts, createdAt, endedAt }: Pick<Batch, 'state' | 'counts' | 'createdAt' | 'endedAt'>,
  now: number,
): { perMinute: number | null; estimatedEnd: Date | null } {
  const done = counts.success + counts['with-errors'] + counts.error + (state === 'running' ? counts.skipped : 0);
  const minutes = Math.max(1, (endedAt?.getTime() ?? now) - createdAt.getTime()) / MINUTE_MS;
  if (done === 0) return { perMinute: null, estimatedEnd: null };
  const perMinute = done / minutes;
  const left = counts.waiting + counts.running;
  return {
    perMinute: Math.round(perMinute * 10) / 10,
    estimatedEnd: state === 'running' ? new Date(now + (left / perMinute) * MINUTE_MS) : null,
  };
}

const MOST_CODES = 100;

const commonest = (counts: Record<string, number>): [string, number][] =>
  Object.entries(counts).toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));

/** `facet:value`, by facet. */
export function summaryOf(facets: Record<string, number>): Static<typeof BatchAnswerSchema>['summary'] {
  const summary = Object.fromEntries(FACET_NAMES.map((facet) => [facet, [] as object[]]));
  for (const [key, count] of commonest(facets)) {
    const at = key.indexOf(':');
    summary[key.slice(0, at)]?.push({ value: key.slice(at + 1) || null, count });
  }
  return summary as ReturnType<typeof summaryOf>;
}

async function shown({ store }: { store: Store }, batch: Batch): Promise<Static<typeof BatchAnswerSchema>> {
  const { perMinute, estimatedEnd } = progressOf(batch, store.clock.now());
  const { fields, policyRevision, ...more } = batch.template as KeptTemplate;
  const { codes, facets } = await store.batchFound(batch.id);
  return {
    ...rowOf(batch),
    probe: { ...fields, ...(policyRevision === null ? {} : { policy_revision: policyRevision }) },
    webhook_url: batch.webhookUrl === null ? null : shownUrl(batch.webhookUrl),
    webhook_every: batch.webhookEvery,
    webhook_format: more.webhookFormat ?? 'plain',
    webhook_items: more.webhookItems ?? false,
    tagged: more.tagObjects ? batch.tags : null,
    per_minute: perMinute,
    estimated_end_at: timeOrNull(estimatedEnd),
    errors: commonest(codes)
      .slice(0, MOST_CODES)
      .map(([code, count]) => ({ code, count })),
    summary: summaryOf(facets),
  };
}

/** The webhook of a batch, which is shown as it is now, or of one of its items. Null: there is none. */
export async function ofBatch(
  store: Store,
  { requestId, progress, createdAt }: Pick<DueWebhook, 'requestId' | 'progress' | 'createdAt'>,
): Promise<OfBatch | null> {
  const batch = await store.readBatch(requestId);
  if (!batch) return null;
  const { webhookFormat: format = 'plain' } = batch.template as KeptTemplate;
  if (progress < 0) {
    const n = -1 - progress;
    const [item] = await store.itemsPage({ batch: batch.id, after: n - 1, limit: 1 });
    if (item?.n !== n || item.requestId === null) return null;
    return { format, item: { n, ref: item.ref, requestId: item.requestId } };
  }
  if (progress === 0 && batch.state !== 'ended') return null;
  const isEnd = progress === 0;
  const time = (isEnd ? batch.endedAt : null) ?? createdAt;
  const event = isEnd ? { type: 'batch.ended' } : { type: 'batch.progress', progress };
  const body = Buffer.from(
    JSON.stringify({ ...(await shown({ store }, batch)), ...event, timestamp: time.toISOString() }),
  );
  return { format, body, event: { of: isEnd ? 'batch' : 'progress', subject: batch.id, time } };
}

/** Of another user: as if there were none. */
export async function ownBatch({ store }: Pick<Deps, 'store'>, ctx: Context, id = uuidOf(ctx)): Promise<Batch> {
  const batch = await store.readBatch(id);
  if (!batch || batch.userId !== tokenOf(ctx).userId) throw notFound();
  return batch;
}

// Creation.

const DEFAULT_AT_ONCE = 4;
const atLeastOne = (value: number): number => Math.max(1, Math.floor(value));

/** Within what the token may do, and by default at most half of it: a batch is not to shut its owner out. */
export function limitsOf({ concurrency, rate }: Pick<Head, 'concurrency' | 'rate'>, token: ReturnType<typeof tokenOf>) {
  const { concurrency: slots, accountRequestsPerMinute: perMinute } = token.limits;
  return {
    concurrency: atLeastOne(Math.min(concurrency ?? Math.min(DEFAULT_AT_ONCE, slots / 2), slots)),
    rate: atLeastOne(Math.min(rate ?? perMinute / 2, perMinute)),
  };
}

export const mostOf = (
  { settings }: Pick<Deps, 'settings'>,
  { rootUserId }: Pick<TokenRecord, 'rootUserId'>,
): MostOfBatches => ({ rootUserId, batches: MOST_BATCHES, items: settings.batchMaxItems });

const OUTCOMES = {
  'too-many-batches': 'too-many-batches',
  'too-many-items': 'too-many-items',
  'not-claimed': 'unavailable',
} as const;

type Conditions = Parameters<Store['createBatch']>[2];

/** With the `id` of an earlier call that created the batch, it is that batch. */
export async function createOf(
  deps: Deps,
  by: Asker,
  { head, template, listing, readItems }: BatchRequest,
  conditions: Conditions,
  { id: given, sourceId = null }: { id?: string; sourceId?: string | null } = {},
): Promise<{ created: CreatedBatch; leftOut: number }> {
  const { store, accounts } = deps;
  const token = tokenOf(by);
  const { items: read, leftOut } = await readItems();
  const { id: fresh, submittedAt } = store.newRequest();
  const id = given ?? fresh;
  const batchKey = newBatchKey();
  const items = await sealItems(read, { batch: id, n: 0 }, batchKey, makeSlices(deps.paceOf(token.rootUserId)));
  const batch: NewBatch = {
    id,
    tokenId: token.id,
    userId: token.userId,
    name: head.name,
    template,
    listing,
    sourceId,
    sealedKey: await accounts.box.seal(batchKey.toString('base64'), 'batch', id),
    ...limitsOf(head, token),
    perHost: head.per_host,
    tries: head.tries,
    maxRequests: head.max_requests,
    maxBytes: head.max_bytes,
    webhookUrl: head.webhook_url === null ? null : await keptUrl(head.webhook_url, id, accounts.box),
    webhookEvery: head.webhook_every,
    deadlineAt: new Date(submittedAt.getTime() + head.deadline),
  };
  return { created: await store.createBatch(batch, items, conditions), leftOut };
}

async function create(deps: Deps, ctx: Context) {
  const token = tokenOf(ctx);
  const body = ctx.state.checked as TextBody;
  const key = idempotencyKey(ctx);
  await takeRequestRate(deps, ctx);
  const request = await batchRequest(deps, ctx, body, untilClosed(ctx));
  const conditions: Conditions = {
    most: mostOf(deps, token),
    idempotency: key === null ? null : { key, bodySha256: createHash('sha256').update(body.text).digest() },
  };
  // When a call is repeated, the list may not be at its address any more.
  const foreseen = request.head.items_url === null ? null : await deps.store.foreseenBatch(token.id, conditions);
  const { created, leftOut } = foreseen
    ? { created: foreseen, leftOut: 0 }
    : await createOf(deps, ctx, request, conditions);
  if (created.outcome === 'idempotency-conflict') throw new ApiError('idempotency-conflict');
  if (!('batch' in created)) throw new ApiError(OUTCOMES[created.outcome]);
  nameIgnored(ctx, request.ignored);
  ctx.set('Location', `/v1/batch/${created.batch.id}`);
  return { ...(await shown(deps, created.batch)), ...(leftOut > 0 ? { left_out: leftOut } : {}) };
}

const MB = 1024 * 1024;
const film = 'https://media.example.com/film.mp4';

export const createBatch = endpoint('POST /v1/batch', {
  id: 'createBatch',
  summary: 'Probe many files',
  description:
    `Up to ${MOST_ITEMS} addresses, each an ordinary request by the same template: in the log, in the usage, and ` +
    'to be read back by its id. As JSON of at most 1 MB, or as `application/x-ndjson` of at most 4 MB: the first ' +
    'line has the fields without `items`, and each other line is an item. All items are created or none; the error ' +
    'names the first wrong ones. With `bucket` in place of items, jobs list the objects of a bucket in the ' +
    'background: as many as the account may have. Temporary failures are tried again with ' +
    'growing pauses. With `Idempotency-Key` ' +
    'the same body is answered with the first batch. An account has at most ' +
    `${MOST_BATCHES} batches that have not ended, and in them as many items as the operator allows: by default ` +
    '1,000,000.',
  rate: 'request',
  body: BatchSchema,
  bounds: { bytes: 4 * MB },
  text: {
    'application/x-ndjson': Type.String({ description: 'Lines of JSON, at most 9,216 characters each.' }),
  },
  headers: {
    'Idempotency-Key': {
      description: 'The same key with the same body, within a day, is answered with the first batch.',
      schema: Type.String({ minLength: 1, maxLength: 255 }),
    },
  },
  bodyExamples: {
    addresses: { summary: 'Addresses', value: { items: [film, 'https://media.example.com/trailer.mp4'] } },
    template: {
      summary: 'A template, and names of the caller',
      value: {
        name: 'library',
        probe: { ffprobe: { version: '7.1' }, policy: 'shared/web-mp4' },
        items: [{ url: film, ref: 'asset-17' }],
      },
    },
    again: {
      summary: 'What failed in an earlier batch',
      value: { from: { batch: '01937c5e-8a00-7000-8000-000000000001' } },
    },
    bucket: {
      summary: 'What lies in a bucket',
      value: { probe: { credential: 'films' }, bucket: { url: 's3://films/2026/', include: ['*.mp4'] } },
    },
  },
  also: [404, 409],
  answer: { status: 201, description: 'The batch.', schema: BatchAnswerSchema },
  work: create,
});

// Reading.

export const listBatches = endpoint('GET /v1/batch', {
  id: 'listBatches',
  summary: 'List batches',
  description: "Those of the caller's user, the newest first.",
  query: closed({
    ...NEWEST,
    source: orNull(Type.String({ pattern: UUID, default: null, description: 'Only batches of this source.' })),
  }),
  answer: { description: 'A page of batches.', schema: BatchListSchema },
  async work({ store }, ctx, { limit, before, source }) {
    const found = await store.listBatches({
      userId: tokenOf(ctx).userId,
      before: before?.toLowerCase() ?? null,
      limit: limit + 1,
      source: source?.toLowerCase() ?? null,
    });
    const { rows, next } = pageOfNewest(found, limit);
    return { batches: rows.map(rowOf), next };
  },
});

const BATCH_PARAM = { id: Type.String({ format: 'uuid', description: "The batch's id." }) };

export const readBatch = endpoint('GET /v1/batch/:id', {
  id: 'readBatch',
  summary: 'Read a batch',
  params: BATCH_PARAM,
  answer: { description: 'State, progress and errors.', schema: BatchAnswerSchema },
  work: async (deps, ctx) => shown(deps, await ownBatch(deps, ctx)),
});

// Actions.

const MOVED: Record<BatchEvent, string> = {
  pause: 'be paused',
  resume: 'be resumed',
  stop: 'be stopped',
  cancel: 'be cancelled',
};

/** It may move between the look and the write: then it is looked at again. */
const LOOKS = 5;

async function act(deps: Deps, ctx: Context, event: BatchEvent, raise: Budget = {}): Promise<Batch> {
  for (let look = 1; look <= LOOKS; look++) {
    const batch = await ownBatch(deps, ctx);
    const { id, state } = batch;
    // A second cancellation is answered as the first.
    if (event === 'cancel' && state === 'ended' && batch.reason === 'Cancelled') return batch;
    const to = move(state, event);
    if (to === null) throw new ApiError('batch-state', { text: `the batch is ${state} and cannot ${MOVED[event]}` });
    const isRaised = Object.values(raise).some((bound) => bound !== undefined);
    if (to === state && !isRaised) return batch;
    const moved = await deps.store.moveBatch({ id, from: [state], to, reason: reasonOf(to), raise });
    if (moved) return moved;
  }
  throw new ApiError('unavailable');
}

const reasonOf = (to: BatchState): string | null => (to === 'cancelling' ? 'Cancelled' : null);

const action = (event: 'pause' | 'cancel', summary: string, description: string) =>
  endpoint(`POST /v1/batch/:id/${event}`, {
    ...ACTION,
    id: `${event}Batch`,
    summary,
    description,
    input: 'ignored',
    work: async (deps, ctx) => shown(deps, await act(deps, ctx, event)),
  });

const ACTION = {
  params: BATCH_PARAM,
  also: [404],
  answer: { status: 202, description: 'The batch.', schema: BatchAnswerSchema },
  errors: { 409: 'The batch is in another state; the error says which.' },
} satisfies Partial<Described>;

export const pauseBatch = action(
  'pause',
  'Pause a batch',
  'No further item is begun; what runs goes on. A repeated call has the same answer.',
);

export const cancelBatch = action(
  'cancel',
  'Cancel a batch',
  'What waits is skipped, and what runs is cancelled. A repeated call has the same answer.',
);

export const resumeBatch = endpoint('POST /v1/batch/:id/resume', {
  ...ACTION,
  id: 'resumeBatch',
  summary: 'Resume a batch',
  description:
    'Of a paused or stopped one. A budget that is sent replaces that of the batch, and null lifts it; one that is ' +
    'left out stays. A repeated call has the same answer.',
  body: ResumeSchema,
  bodyMayBeAbsent: true,
  async work(deps, ctx, { max_requests: maxRequests, max_bytes: maxBytes }) {
    return shown(deps, await act(deps, ctx, 'resume', { maxRequests, maxBytes }));
  },
});
