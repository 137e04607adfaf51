/** `GET media/webhook`: webhooks with the outcome of each attempt. */
import Type from 'typebox';
import type { WebhookState } from '../../../platform/store/webhooks.ts';
import { callerOf, type Context } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { endpoint } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import { anyOf, ids, listEcho, listSchema, offsetOf, Pagination, sortBy } from '../http/lists.ts';
import { ownersOf } from './owners.ts';
import { WEBHOOK_STATES, webhookRow, WebhookRow } from './webhook_row.ts';

const Query = Type.Object(
  {
    state: anyOf<WebhookState>(WEBHOOK_STATES, 'Webhooks in these states.'),
    request: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
      default: null,
      description: 'Webhooks of this request.',
    }),
    'user-id': ids('Webhooks of these users. Default: all that the caller can see.'),
    'token-id': ids('Webhooks of requests with these tokens.'),
    pagination: Pagination,
    sort: sortBy(['created', 'next', 'state'], 'created', 'desc'),
  },
  { additionalProperties: false },
);

async function list(deps: Deps, ctx: Context): Promise<void> {
  const { pagination, sort, ...filter } = checkedBy(Query, ctx);
  const { userIds, tokenIds } = await ownersOf(
    deps,
    callerOf(ctx),
    { userIds: filter['user-id'], tokenIds: filter['token-id'] },
    'visible',
  );
  const { webhooks, total } = await deps.store.listWebhooks({
    userIds: userIds === 'everyone' ? null : userIds,
    tokenIds,
    states: filter.state,
    requestId: filter.request,
    sort: sort.field,
    order: sort.order,
    offset: offsetOf(pagination),
    limit: pagination.limit,
  });
  ctx.body = {
    webhooks: webhooks.map(webhookRow),
    ...listEcho({ filter, pagination, sort }, { count: webhooks.length, total }),
  };
}

export const webhookList = endpoint(
  'GET media/webhook',
  {
    id: 'listWebhooks',
    tag: 'webhooks',
    summary: 'List webhooks and their attempts',
    also: [404],
    query: Query,
    description: 'Newest first. Delivered and failed webhooks are kept as long as results.',
    answer: { description: 'A page of webhooks.', schema: listSchema('webhooks', WebhookRow) },
  },
  list,
);
