/** `GET media/webhook`: webhooks with what came of each attempt. */
import Type from 'typebox';
import type { WebhookState } from '../../store/webhooks.ts';
import { callerOf, type Handler } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { endpoint } from '../http/endpoint.ts';
import { checkedBy } from '../http/read_input.ts';
import { anyOf, ids, listEcho, listSchema, offsetOf, Pagination, sortBy } from '../http/lists.ts';
import { ownersOf } from './owners.ts';
import { WEBHOOK_STATES, webhookRow, WebhookRow } from './webhook_row.ts';

const Query = Type.Object(
  {
    state: anyOf<WebhookState>(WEBHOOK_STATES, 'In these states.'),
    request: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
      default: null,
      description: 'Of one request.',
    }),
    'user-id': ids('Of these users. Default: of all whose webhooks the caller sees.'),
    'token-id': ids('Of requests by these tokens.'),
    pagination: Pagination,
    sort: sortBy(['created', 'next', 'state'], 'created', 'desc'),
  },
  { additionalProperties: false },
);

const list = (deps: Deps): Handler =>
  async function answerWebhooks(ctx) {
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
  };

export const webhookList = endpoint(
  'GET media/webhook',
  {
    id: 'listWebhooks',
    tag: 'webhooks',
    summary: 'Webhooks and their attempts',
    also: [404],
    query: Query,
    description: 'Newest first. Those that are delivered or given up are kept as long as results are.',
    answer: { description: 'A page of webhooks.', schema: listSchema('webhooks', WebhookRow) },
  },
  (deps) => [list(deps)],
);
