/** `POST media/webhook/{id}/retry`: makes a webhook due now. */
import Type from 'typebox';
import { callerOf, type Context, uuidOf } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { visibleUsers } from '../http/access.ts';
import { webhookRow, WebhookRow } from './webhook_row.ts';

async function retry(deps: Deps, ctx: Context): Promise<void> {
  const found = await deps.store.retryWebhook(uuidOf(ctx), await visibleUsers(deps, callerOf(ctx)));
  if (!found) throw notFound();
  ctx.body = webhookRow(found);
}

export const webhookRetry = endpoint(
  'POST media/webhook/:id/retry',
  {
    id: 'retryWebhook',
    tag: 'webhooks',
    summary: 'Retry a webhook',
    also: [404],
    description:
      'Sends it now, with the same webhook-id. A delivered or failed webhook restarts its schedule; one that is ' +
      'being sent is not changed.',
    params: { id: Type.String({ format: 'uuid', description: 'Of the webhook.' }) },
    answer: { description: 'The webhook, waiting to be sent.', schema: WebhookRow },
  },
  retry,
);
