/** Batches and their items as callers see them. */
import Type from 'typebox';
import { FACET_NAMES, FACETS, type Facet } from '../../../media/policy/facets.ts';
import { OUTCOMES, type Outcome } from '../../../media/policy/types.ts';
import { WEBHOOK_FORMATS } from '../../webhooks/cloud_event.ts';
import { closed, component, oneOf, orNull, time, whole } from '../http/request_fields.ts';

export const STATES = ['running', 'paused', 'stopped', 'cancelling', 'ended'] as const;
export const ITEM_STATES = ['waiting', 'running', 'success', 'with-errors', 'error', 'skipped'] as const;

const uuid = (description: string) => Type.String({ format: 'uuid', description });

const Counts = component(
  'BatchCounts',
  Object.fromEntries(ITEM_STATES.map((state) => [state, Type.Integer({ minimum: 0 })])) as Record<
    (typeof ITEM_STATES)[number],
    ReturnType<typeof Type.Integer>
  >,
  { description: 'Items by state; together they are `items`.' },
);

const bound = (description: string) => orNull(whole(description));

const BATCH = {
  id: uuid("The batch's id."),
  name: orNull(Type.String()),
  state: oneOf(STATES, {
    description:
      'running: items are begun. paused: by its owner. stopped: by its budget, a quota, or because its token is not ' +
      'active; `reason` says which. cancelling: what waits is skipped, what runs is cancelled. ended.',
  }),
  reason: orNull(
    Type.String({
      description:
        'Of a stopped batch: RequestBudget, ByteBudget, QuotaExceeded, TokenInactive, ToolUnavailable, ' +
        'PolicyUnavailable, AddressesLost, TooManyItems or InvalidRequest. Of one that is being ' +
        'cancelled or has ended: Completed, ' +
        'Cancelled or DeadlineExceeded.',
    }),
  ),
  text: orNull(Type.String({ description: 'What a stopped batch waits for.' })),
  created_at: time(),
  deadline_at: orNull(time('What waits then is skipped.')),
  ended_at: orNull(time()),
  items: whole('Number of items.'),
  counts: Counts,
  bucket: orNull(
    closed(
      {
        url: Type.String(),
        listed: Type.Boolean({
          description: 'All of it. False when the batch has ended: the error of item 0 says why.',
        }),
        found: whole('Objects so far.'),
        filtered: whole('Of these, not wanted.'),
        left_out: whole('Of these, with a name that no address can have.'),
      },
      { description: 'Of a batch over a bucket, whose item 0 is the listing. Null: its items were sent.' },
    ),
  ),
  source: orNull(uuid('The source that made it. Null: it was sent.')),
  requests: whole('Ended requests, repeated ones included.'),
  io_bytes: whole('Bytes that they read from origins.'),
  concurrency: whole('Jobs at once, each an item or a chunk of small files.'),
  rate: whole('Requests a minute.'),
  per_host: whole('Jobs at once that read from one host.'),
  tries: whole('Requests for an item whose failures are temporary.'),
  max_requests: bound('Null: no budget.'),
  max_bytes: bound('Null: no budget.'),
};

const Values = Type.Array(
  closed({
    value: orNull(Type.String({ description: 'Null: all values beyond the first 100 of a facet.' })),
    count: Type.Integer({ minimum: 1 }),
  }),
);

const Summary = component(
  'BatchSummary',
  Object.fromEntries(
    FACET_NAMES.map((facet) => [facet, { ...Values, description: FACETS[facet] }]),
  ) as unknown as Record<Facet, typeof Values>,
  {
    description:
      'What the files of ended items are: how many have each value, the commonest first. An item may have several ' +
      'values of a facet. Those of unchanged items are counted, too.',
  },
);

/** In a list. */
export const BatchRowSchema = component('BatchRow', BATCH);

export const BatchAnswerSchema = component('Batch', {
  ...BATCH,
  probe: Type.Object(
    {},
    { additionalProperties: true, description: 'The template, with defaults and exact versions.' },
  ),
  left_out: Type.Optional(
    Type.Integer({ minimum: 1, description: 'When it is created `from` a batch: its items that are not in this one.' }),
  ),
  webhook_url: orNull(Type.String({ description: 'Without credentials; values of its query read REDACTED.' })),
  webhook_every: orNull(Type.Integer({ description: 'Items between two webhooks. Null: one at the end alone.' })),
  webhook_format: oneOf(WEBHOOK_FORMATS),
  tagged: Type.Unsafe<Record<string, number> | null>({
    type: ['object', 'null'],
    additionalProperties: { type: 'integer', minimum: 1 },
    description:
      'With `tag_objects`: ended items by what became of the tags, `written` or the `code` of `tagged` of the ' +
      'result. Items that left no result are not counted. Null: tags were not asked for.',
  }),
  webhook_items: Type.Boolean({ description: 'The result of each item is sent, too.' }),
  per_minute: orNull(
    Type.Number({ description: 'Items that have ended a minute, since the batch was created. Null: none has.' }),
  ),
  estimated_end_at: orNull(time('If it goes on like this. Null: it does not run, or nothing has ended.')),
  errors: Type.Array(closed({ code: Type.String(), count: Type.Integer({ minimum: 1 }) }), {
    description: 'Failed items by `code`, or by `reason` where there is none; the commonest first, at most 100.',
  }),
  summary: Summary,
});

export const BatchListSchema = Type.Object({
  batches: Type.Array(BatchRowSchema),
  next: orNull(uuid('`before` of the next page. Null: there is none.')),
});

/** Without `policy`, which items have as `policy_outcome`. */
export const ITEM_FACETS = FACET_NAMES.filter((facet) => facet !== 'policy');
const textOrNull = (description: string) => orNull(Type.String({ description }));

export const BatchItemSchema = component('BatchItem', {
  n: whole('Its place in the list, from 0.'),
  url: Type.String({ description: 'Without credentials; values of its query read REDACTED.' }),
  ref: orNull(Type.String({ description: "The caller's own name of it." })),
  state: oneOf(ITEM_STATES),
  tries: whole('Requests so far, without those that never left the queue.'),
  request_id: orNull(
    uuid(
      'The last of them: its result is at `/v1/probe/{request_id}`. Before the first, and of an item that is skipped ' +
        'as unchanged, that of the earlier batch.',
    ),
  ),
  submitted_at: orNull(time('When that one was sent.')),
  not_before: orNull(time('Of an item that waits for another try.')),
  ended_at: orNull(time()),
  status: orNull(Type.Integer({ description: 'HTTP status of the request.' })),
  reason: orNull(
    Type.String({
      description: 'Why it ended so, as in the log; or `Unchanged`: its file is that of an earlier batch.',
    }),
  ),
  code: orNull(Type.String({ description: 'Why the first tool failed: see `Cause`.' })),
  policy_outcome: Type.Unsafe<Outcome | null>({
    type: ['string', 'null'],
    enum: [...OUTCOMES, null],
    description: 'Of the verdict. Null: the template names no policy, or the item has not ended.',
  }),
  io_bytes: whole('Bytes that all its requests read from origins.'),
  ...(Object.fromEntries(
    ITEM_FACETS.map((facet) => [
      facet,
      textOrNull(`${FACETS[facet]} Several are separated by \`; \`. Null: none is known.`),
    ]),
  ) as Record<(typeof ITEM_FACETS)[number], ReturnType<typeof textOrNull>>),
});

export const BatchItemsSchema = Type.Object({
  items: Type.Array(BatchItemSchema),
  next: orNull(Type.Integer({ description: '`after` of the next page. Null: there is none.' })),
});
