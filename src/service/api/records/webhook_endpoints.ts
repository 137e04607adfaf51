/** Webhooks with the outcome of each attempt, and the retry of one. */
import Type, { type Static } from 'typebox';
import type { WebhookRecord, WebhookState } from '../../../platform/store/webhooks.ts';
import { shownUrl } from '../../webhooks/kept_url.ts';
import { callerOf, uuidOf } from '../http/request_context.ts';
import { note, withEntry } from '../http/audit.ts';
import { endpoint } from '../http/endpoint.ts';
import {
  anyOf,
  closed,
  ids,
  listAnswer,
  listSchema,
  pageOf,
  oneOf,
  orNull,
  Pagination,
  sortBy,
  time,
  UUID,
} from '../http/request_fields.ts';
import { ownersOf } from './query_filters.ts';
import { orNotFound } from '../errors.ts';
import { visibleUsers } from '../http/endpoint_access.ts';

const WEBHOOK_STATES = ['pending', 'delivered', 'failed'] as const satisfies readonly WebhookState[];

const WebhookRow = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The webhook-id that the receiver gets in every attempt.' }),
    request: Type.String({
      format: 'uuid',
      description: 'The request whose result it delivers, or the batch that has ended.',
    }),
    url: Type.String({ description: 'Without credentials; values of its query read REDACTED.' }),
    state: oneOf(WEBHOOK_STATES, { title: 'DeliveryState' }),
    created: time(),
    next: orNull(time('The next attempt; absent if it is delivered or failed.')),
    ended: orNull(time('When it was delivered or failed for good.')),
    attempts: Type.Array(
      Type.Object(
        {
          time: time(),
          status: orNull(Type.Integer({ description: 'Absent: no response.' })),
          error: Type.Optional(Type.String()),
          duration: Type.Integer({ description: 'Milliseconds.' }),
        },
        { title: 'DeliveryAttempt' },
      ),
      { description: 'Oldest first; the last 50.' },
    ),
    'user-id': Type.Integer(),
    'token-id': Type.Integer(),
  },
  { title: 'Delivery' },
);

const webhookRow = (row: WebhookRecord): Static<typeof WebhookRow> => ({
  id: row.id,
  request: row.requestId,
  url: shownUrl(row.url),
  state: row.state,
  created: row.createdAt.toISOString(),
  next: row.nextAt?.toISOString() ?? null,
  ended: row.endedAt?.toISOString() ?? null,
  attempts: row.attempts.map(({ at, status, error, durationMs }) => ({
    time: at,
    status,
    ...(error === undefined ? {} : { error }),
    duration: durationMs,
  })),
  'user-id': row.userId,
  'token-id': row.tokenId,
});

export const webhookList = endpoint('GET media/webhook', {
  id: 'listWebhooks',
  summary: 'List webhooks and their attempts',
  also: [404],
  query: closed({
    state: anyOf<WebhookState>(WEBHOOK_STATES, 'Webhooks in these states.'),
    request: orNull(Type.String({ pattern: UUID, default: null, description: 'Webhooks of this request.' })),
    'user-id': ids('Webhooks of these users. Default: all that the caller can see.'),
    'token-id': ids('Webhooks of requests with these tokens.'),
    pagination: Pagination,
    sort: sortBy(['created', 'next', 'state'], 'created', 'desc'),
  }),
  description: 'Newest first. Delivered and failed webhooks are kept as long as results.',
  answer: { description: 'A page of webhooks.', schema: listSchema('webhooks', WebhookRow) },
  async work(deps, ctx, { pagination, sort, ...filter }) {
    const { userIds, tokenIds } = await ownersOf(deps, callerOf(ctx), filter, 'visible');
    const { rows, total } = await deps.store.listWebhooks({
      userIds: userIds === 'everyone' ? null : userIds,
      tokenIds,
      states: filter.state,
      requestId: filter.request,
      sort: sort.field,
      order: sort.order,
      ...pageOf(pagination),
    });
    return listAnswer('webhooks', rows.map(webhookRow), { filter, pagination, sort }, { total });
  },
});

export const webhookRetry = endpoint('POST media/webhook/:id/retry', {
  id: 'retryWebhook',
  summary: 'Retry a webhook',
  also: [404],
  description:
    'Sends it now, with the same webhook-id. A delivered or failed webhook restarts its schedule; one that is ' +
    'being sent is not changed.',
  params: { id: Type.String({ format: 'uuid', description: 'Of the webhook.' }) },
  answer: { description: 'The webhook, waiting to be sent.', schema: WebhookRow },
  async work(deps, ctx) {
    const users = await visibleUsers(deps, callerOf(ctx));
    const found = await withEntry(deps, ctx, async (store) => {
      const webhook = orNotFound(await store.retryWebhook(uuidOf(ctx), users));
      note(ctx, { changes: [{ field: 'state', after: webhook.state }] });
      return webhook;
    });
    return webhookRow(found);
  },
});
