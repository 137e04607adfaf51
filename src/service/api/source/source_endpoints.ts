/** Sources: create one, list and read them, pause, resume and delete one, and have one listed now. */
import { randomBytes } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { hideQuery } from '../../../base/hide_query.ts';
import type { TokenRecord } from '../../../platform/store/records.ts';
import { MOST_WAITING, type NewSource, type ShownSource, type SourceState } from '../../../platform/store/sources.ts';
import { tokenSha256 } from '../../../platform/store/token_text.ts';
import { type BatchEvent, moveBatch } from '../batch/states.ts';
import type { Deps } from '../deps.ts';
import { ApiError, notFound } from '../errors.ts';
import { note, secrets, withEntry } from '../http/audit.ts';
import { type Described, endpoint } from '../http/endpoint.ts';
import { takeRequestRate } from '../http/rate.ts';
import { checkedBy } from '../http/read_input.ts';
import { type Asker, type Context, nameIgnored, tokenOf, uuidOf } from '../http/request_context.ts';
import { closed, component, NEWEST, oneOf, orNull, pageOfNewest, time, whole } from '../http/request_fields.ts';
import { untilClosed } from '../probe/stored_result.ts';
import { bodyOf, readBody } from './source_batch.ts';
import { MOST_SOURCES, type SentSource, SourceInput, SourceSchema } from './source_fields.ts';

const uuid = (description: string) => Type.String({ format: 'uuid', description });

const SourceAnswer = component('Source', {
  id: uuid("The source's id."),
  name: orNull(Type.String()),
  state: oneOf(['running', 'paused', 'stopped', 'deleting'] as const, {
    description:
      'running. paused: by its owner; events are still noted. stopped: it cannot go on; `reason` and `text` say why. ' +
      'deleting: its objects are being forgotten.',
  }),
  reason: orNull(Type.String({ description: 'Of a stopped source: TokenInactive, AddressesLost or InvalidRequest.' })),
  text: orNull(Type.String({ description: 'What a stopped source waits for.' })),
  created_at: time(),
  url: Type.String(),
  every: orNull(Type.Integer({ description: 'Seconds between two listings.' })),
  settle: whole('Seconds for which an object must not have changed.'),
  bundle: whole('Seconds between two batches.'),
  existing: Type.Boolean({ description: 'Whether older objects than the source are probed.' }),
  objects: whole('Objects that are known.'),
  waiting: whole(`Of these, with a version that no batch has; at most ${MOST_WAITING} are counted.`),
  next_listing_at: orNull(time('Null: none is due.')),
  events: closed({
    noted: whole('Events that named a version that was not known to be older.'),
    ignored: whole('Others: of another bucket, not wanted, or without an ETag.'),
    last_at: orNull(time('When the last message came.')),
    confirmation_waiting: Type.Boolean({
      description: 'Whether SNS waits until a subscription is confirmed. Its address is not opened and not kept.',
    }),
    confirmation_host: orNull(Type.String({ description: 'Of that address.' })),
  }),
  last_listing: orNull(
    closed(
      {
        at: time('When it began.'),
        error: orNull(Type.String({ description: 'Null: it listed all. Else its code or reason.' })),
        found: whole('Objects.'),
        filtered: whole('Of these, not wanted.'),
        left_out: whole('Of these, with a name that no address can have, or more than a source may have.'),
      },
      { description: 'Null: none has ended.' },
    ),
  ),
});

const WholeSource = closed({
  ...SourceAnswer.properties,
  request: Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        'The fields of its batches, as they were sent, without `webhook_url`. Empty if they can no longer be ' +
        'decrypted.',
    },
  ),
});

const CreatedSource = closed({
  ...SourceAnswer.properties,
  events_key: Type.String({ description: 'The secret of addresses for its events. It is shown this once.' }),
});

const SourceList = closed({
  sources: Type.Array(SourceAnswer),
  next: orNull(uuid('`before` of the next page. Null: there is none.')),
});

type Shown = Static<typeof SourceAnswer>;

const shown = (source: ShownSource): Shown => ({
  id: source.id,
  name: source.name,
  state: source.state,
  reason: source.reason,
  text: source.text,
  created_at: source.createdAt.toISOString(),
  url: hideQuery(source.url),
  every: source.every,
  settle: source.settle,
  bundle: source.bundle,
  existing: source.existing,
  objects: source.objects,
  waiting: source.waiting,
  next_listing_at: source.listAt?.toISOString() ?? null,
  events: {
    noted: source.eventsNoted,
    ignored: source.eventsIgnored,
    last_at: source.lastEventAt?.toISOString() ?? null,
    confirmation_waiting: source.confirmationHost !== null,
    confirmation_host: source.confirmationHost || null,
  },
  last_listing: source.lastListing,
});

// Creation.

/** As the key of an address for events. */
const newKey = (): string => randomBytes(24).toString('base64url');

export async function sourceFrom(
  deps: Deps,
  by: Asker,
  { every, settle, bundle, existing, ...body }: SentSource,
  { id, gone }: { id: string; gone: AbortSignal },
) {
  const token = tokenOf(by);
  const { ignored, listing } = await readBody(deps, by, body, gone);
  const key = newKey();
  const source: NewSource = {
    id,
    tokenId: token.id,
    userId: token.userId,
    name: body.name,
    url: body.bucket.url,
    filter: listing!.filter,
    body: await deps.accounts.box.seal(JSON.stringify(body), 'source', id),
    keySha256: tokenSha256(key),
    every,
    settle,
    bundle,
    existing,
  };
  return { source, key, ignored };
}

export const mostSources = ({ rootUserId }: TokenRecord) => ({ rootUserId, sources: MOST_SOURCES });

async function create(deps: Deps, ctx: Context) {
  await takeRequestRate(deps, ctx);
  const how = { id: deps.store.newRequest().id, gone: untilClosed(ctx) };
  const { source, key, ignored } = await sourceFrom(deps, ctx, checkedBy(SourceInput, ctx), how);
  const created = await withEntry(deps, ctx, async (store) => {
    const made = await store.createSource(source, mostSources(tokenOf(ctx)));
    if (made.outcome !== 'created') throw new ApiError(made.outcome);
    note(ctx, { subject: `source/${source.id}`, changes: secrets('shown', 'events_key') });
    return made.source;
  });
  nameIgnored(ctx, ignored);
  ctx.set('Location', `/v1/source/${created.id}`);
  return { ...shown(created), events_key: key };
}

export const createSource = endpoint('POST /v1/source', {
  id: 'createSource',
  summary: 'Probe what comes into a bucket',
  description:
    'The bucket is listed now and on a schedule. Each new version of an object that is wanted becomes an item of a ' +
    'batch, once. The other fields are those of `POST /v1/batch`, and hold for each of these batches. An account ' +
    `has at most ${MOST_SOURCES} sources.`,
  rate: 'request',
  body: SourceSchema,
  input: SourceInput,
  bodyExamples: {
    bucket: {
      summary: 'What comes into a bucket',
      value: { probe: { credential: 'films' }, bucket: { url: 's3://films/incoming/', include: ['*.mp4'] } },
    },
  },
  also: [409],
  answer: { status: 201, description: 'The source.', schema: CreatedSource },
  work: create,
});

// Reading.

export const listSources = endpoint('GET /v1/source', {
  id: 'listSources',
  summary: 'List sources',
  description: "Those of the caller's user, the newest first.",
  query: closed(NEWEST),
  answer: { description: 'A page of sources.', schema: SourceList },
  async work(deps, ctx, { limit, before }) {
    const { userId } = tokenOf(ctx);
    const found = await deps.store.listSources({ userId, before: before?.toLowerCase() ?? null, limit: limit + 1 });
    const { rows, next } = pageOfNewest(found, limit);
    return { sources: rows.map(shown), next };
  },
});

/** Of another user: as if there were none. */
async function ownSource({ store }: Pick<Deps, 'store'>, ctx: Context): Promise<ShownSource> {
  const source = await store.readSource(uuidOf(ctx));
  if (source?.userId !== tokenOf(ctx).userId) throw notFound();
  return source;
}

export const SOURCE_PARAM = { id: uuid("The source's id.") };

export const readSource = endpoint('GET /v1/source/:id', {
  id: 'readSource',
  summary: 'Read a source',
  params: SOURCE_PARAM,
  also: [404],
  answer: { description: 'The source, and what it makes batches of.', schema: WholeSource },
  async work(deps, ctx) {
    const source = await ownSource(deps, ctx);
    const { webhook_url: _secret, ...request } = (await bodyOf(deps, source)) ?? {};
    return { ...shown(source), request };
  },
});

// Actions.

export type Action = 'pause' | 'resume' | 'list' | 'delete';

/** From which states, to which one, and what becomes of the batches of the source. */
const ACTIONS: Record<Action, { from: readonly SourceState[]; to: SourceState; batches: BatchEvent | null }> = {
  pause: { from: ['running', 'paused', 'stopped'], to: 'paused', batches: 'pause' },
  resume: { from: ['running', 'paused', 'stopped'], to: 'running', batches: 'resume' },
  list: { from: ['running'], to: 'running', batches: null },
  delete: { from: ['running', 'paused', 'stopped', 'deleting'], to: 'deleting', batches: 'cancel' },
};

async function act(deps: Deps, ctx: Context, action: Action): Promise<ShownSource> {
  const source = await ownSource(deps, ctx);
  const moved = await actOn(deps, source.id, action);
  if (!moved) throw new ApiError('source-state', { text: `the source is ${source.state}: ${action} is not possible` });
  return moved;
}

/** Null: its state does not allow it. */
export async function actOn({ store }: Pick<Deps, 'store'>, id: string, action: Action): Promise<ShownSource | null> {
  const { from, to, batches } = ACTIONS[action];
  const moved = action === 'list' ? await store.listSourceNow(id) : await store.moveSource({ id, from, to });
  if (!moved || batches === null) return moved;
  // Those that are made from now on find the source as it is.
  for (const batch of await store.openBatchesOf(id)) await moveBatch({ store }, batch, batches);
  return moved;
}

const ACTION = {
  params: SOURCE_PARAM,
  also: [404],
  answer: { status: 202, description: 'The source.', schema: SourceAnswer },
  errors: { 409: 'The source is in another state; the error says which.' },
} satisfies Partial<Described>;

const action = (name: 'pause' | 'resume' | 'list', summary: string, description: string) =>
  endpoint(`POST /v1/source/:id/${name}`, {
    ...ACTION,
    id: `${name}Source`,
    summary,
    description,
    input: 'ignored',
    work: async (deps, ctx) => shown(await act(deps, ctx, name)),
  });

export const pauseSource = action(
  'pause',
  'Pause a source',
  'Nothing is listed, and its batches are paused. Events are still noted. A repeated call has the same answer.',
);

export const resumeSource = action(
  'resume',
  'Resume a source',
  'Of a paused or stopped one, with its batches. A repeated call has the same answer.',
);

export const renewSourceKey = endpoint('POST /v1/source/:id/key', {
  ...ACTION,
  id: 'renewSourceKey',
  summary: 'Make a new key of events',
  description: 'The one before is refused from now on.',
  answer: { description: 'The source with its new key.', schema: CreatedSource },
  input: 'ignored',
  async work(deps, ctx) {
    const { id } = await ownSource(deps, ctx);
    const key = newKey();
    const renewed = await withEntry(deps, ctx, async (store) => {
      const source = await store.setEventsKey(id, tokenSha256(key));
      if (!source)
        throw new ApiError('source-state', { text: 'the source is being deleted: it can have no other key' });
      note(ctx, { changes: [...secrets('changed', 'events_key'), ...secrets('shown', 'events_key')] });
      return source;
    });
    return { ...shown(renewed), events_key: key };
  },
});

export const listSourceNow = action('list', 'List the bucket of a source now', 'The schedule goes on from there.');

export const deleteSource = endpoint('DELETE /v1/source/:id', {
  ...ACTION,
  id: 'deleteSource',
  summary: 'Delete a source',
  description: 'Its batches are cancelled, and stay on record. What is known of its objects is forgotten.',
  input: 'ignored',
  work: async (deps, ctx) => shown(await act(deps, ctx, 'delete')),
});
