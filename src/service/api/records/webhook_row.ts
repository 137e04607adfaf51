/** A webhook as its owner sees it. */
import Type, { type Static } from 'typebox';
import type { WebhookRecord, WebhookState } from '../../../platform/store/webhooks.ts';
import { shownUrl } from '../../webhooks/kept_url.ts';

export const WEBHOOK_STATES = ['pending', 'delivered', 'failed'] as const satisfies readonly WebhookState[];

const time = Type.String({ format: 'date-time' });
const orNull = <T extends object>(schema: T, description: string) =>
  Type.Unsafe<string | null>({ anyOf: [schema, { type: 'null' }], description });

export const WebhookRow = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The webhook-id that the receiver gets in every attempt.' }),
    request: Type.String({ format: 'uuid', description: 'The request whose result it delivers.' }),
    url: Type.String({ description: 'Without credentials; values of its query read REDACTED.' }),
    state: Type.Unsafe<WebhookState>({ title: 'DeliveryState', type: 'string', enum: [...WEBHOOK_STATES] }),
    created: time,
    next: orNull(time, 'The next attempt; null if it is delivered or failed.'),
    ended: orNull(time, 'When it was delivered or failed for good.'),
    attempts: Type.Array(
      Type.Object(
        {
          time,
          status: Type.Unsafe<number | null>({ type: ['integer', 'null'], description: 'Null: no response.' }),
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

export const webhookRow = ({
  id,
  requestId,
  url,
  state,
  createdAt,
  nextAt,
  endedAt,
  attempts,
  userId,
  tokenId,
}: WebhookRecord): Static<typeof WebhookRow> => ({
  id,
  request: requestId,
  url: shownUrl(url),
  state,
  created: createdAt.toISOString(),
  next: nextAt?.toISOString() ?? null,
  ended: endedAt?.toISOString() ?? null,
  attempts: attempts.map(({ at, status, error, durationMs }) => ({
    time: at,
    status,
    ...(error === undefined ? {} : { error }),
    duration: durationMs,
  })),
  'user-id': userId,
  'token-id': tokenId,
});
