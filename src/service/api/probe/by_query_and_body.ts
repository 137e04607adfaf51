/** Describes a probe endpoint: by GET, and by POST, which also accepts a webhook and headers. */
import Type, { type TObject, type TProperties } from 'typebox';
import type { Described } from '../http/endpoint.ts';
import { PREFERENCE_APPLIED } from '../http/request_context.ts';
import { closed } from '../http/request_fields.ts';
import type { Examples } from '../openapi/operation.ts';
import { PolicyNameField } from '../policies/asked_policy.ts';
import { AcceptedSchema } from './answer_schemas.ts';

interface Probe extends Pick<Described, 'summary' | 'description' | 'answer'> {
  /** Operation id. */
  id: string;
  schema: TObject;
  /** Fields that are described in another way for a query. */
  inQuery?: TProperties;
  queryExamples: Examples;
  bodyExamples: Examples;
  /** The source of a 404's text. */
  failed: string;
}

export function byQueryAndBody({
  id,
  schema,
  inQuery: only = {},
  queryExamples,
  bodyExamples,
  failed,
  ...described
}: Probe): Record<'byQuery' | 'byBody', Described> {
  const common = {
    ...described,
    rate: 'request',
    errors: {
      404: `The source is not accessible; the text is that of ${failed}.`,
      429: 'The token exceeds its rate limit, or the request waited too long in the queue.',
      499: 'The request was cancelled.',
    },
  } as const satisfies Partial<Described>;
  const { webhook_url: _, webhook_format: _f, ...others } = schema.properties;
  const { policy: __, headers: ___, cookies: ____, file: _____, ...inQuery } = others;
  return {
    byQuery: {
      ...common,
      id: `${id}ByQuery`,
      query: closed({ ...inQuery, ...only, policy: PolicyNameField }),
      input: schema,
      queryExamples,
    },
    byBody: {
      ...common,
      id,
      headers: {
        Prefer: {
          description:
            '`respond-async`: the response is 202 at once; read the result at `/v1/probe/{request_id}`. ' +
            'Other preferences are ignored.',
          schema: Type.String(),
        },
        traceparent: {
          description:
            'The trace of the caller (W3C Trace Context), which the request goes on with. ' +
            'One that is not valid is ignored.',
          schema: Type.String(),
        },
        'Idempotency-Key': {
          description: 'A repeated request with the same key and body gets the result of the first one.',
          schema: Type.String({ minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' }),
        },
      },
      body: schema,
      bodyExamples,
      answers: {
        202: {
          description:
            'With `webhook_url`: accepted; the envelope is sent to that address. With `Prefer: respond-async`: ' +
            'accepted; the result can be read back.',
          schema: AcceptedSchema,
          headers: {
            [PREFERENCE_APPLIED]: {
              description: 'With `Prefer: respond-async`: `respond-async`.',
              schema: Type.String(),
            },
          },
        },
      },
    },
  };
}
