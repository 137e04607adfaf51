/** The OpenAPI 3.1 description of webhooks. */
import Type from 'typebox';
import { EVENTS } from '../../webhooks/events.ts';
import { EnvelopeSchema, MetadataSchema } from '../probe/answer_schemas.ts';
import type { Components } from './described_schemas.ts';

/** The result's members are added to these: those of each tool, or of the one requested tool. */
export const WebhookSchema = Type.Object(
  {
    type: Type.Unsafe<keyof typeof EVENTS>({ type: 'string', enum: Object.keys(EVENTS) }),
    timestamp: Type.String({ format: 'date-time', description: 'When the request ended.' }),
    truncated: Type.Optional(
      Type.Literal(true, {
        description: 'The result exceeds 1 MB, and comes without the outputs of the tools. Read it by its id.',
      }),
    ),
    success: EnvelopeSchema.properties.success,
    error: EnvelopeSchema.properties.error,
    code: EnvelopeSchema.properties.code,
    metadata: Type.Object(MetadataSchema.properties),
    policy: EnvelopeSchema.properties.policy,
  },
  { title: 'Webhook' },
);

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
});
const HEADERS = [
  header('webhook-id', 'The id of the webhook, the same in each attempt.'),
  header('webhook-timestamp', 'When this attempt was made, in seconds since 1970.'),
  header('webhook-signature', 'Signatures by Standard Webhooks 1.0, with the secret of the token.'),
];

export const describeWebhooks = (place: Components['place']): object =>
  Object.fromEntries(
    Object.entries(EVENTS).map(([event, summary]) => [
      event,
      {
        post: {
          operationId: event.replace(/\.(.)/, (_, letter: string) => letter.toUpperCase()),
          tags: ['webhooks'],
          summary,
          security: [],
          parameters: HEADERS,
          requestBody: { required: true, content: { 'application/json': { schema: place(WebhookSchema) } } },
          responses: {
            '2XX': { description: 'Delivered.' },
            '410': { description: 'The receiver is gone: there is no further attempt.' },
            default: { description: 'The delivery has failed; another attempt follows.' },
          },
        },
      },
    ]),
  );
