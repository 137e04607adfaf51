/** How health and the description itself are described. */
import Type from 'typebox';
import type { Operation } from './operation.ts';

const reasons = Type.Record(Type.String(), Type.String());

const description = (path: string, id: string): Operation => ({
  method: 'get',
  path,
  id,
  tag: 'description',
  summary: 'This description',
  security: 'none',
  responses: {
    200: {
      description: 'OpenAPI 3.1.',
      schema: Type.Unsafe<object>({ type: 'object', required: ['openapi', 'info', 'paths'] }),
    },
    304: { description: 'It is the one that `If-None-Match` names.' },
  },
});

export const SERVICE: readonly Operation[] = [
  description('/openapi.json', 'openapi'),
  description('/frontend/api/v1/openapi.json', 'openapiOfManagement'),
  {
    method: 'get',
    path: '/healthz',
    id: 'healthz',
    tag: 'health',
    summary: 'This replica answers',
    security: 'none',
    responses: {
      200: {
        description: 'It does.',
        schema: Type.Object({ ok: Type.Literal(true) }, { additionalProperties: false }),
      },
    },
  },
  {
    method: 'get',
    path: '/readyz',
    id: 'readyz',
    tag: 'health',
    summary: 'This replica can do its work',
    security: 'none',
    responses: {
      200: {
        description: 'It can.',
        schema: Type.Object({ ready: Type.Literal(true) }, { additionalProperties: false }),
      },
      503: {
        description: 'It cannot, and why.',
        schema: Type.Object({ ready: Type.Literal(false), reasons }, { additionalProperties: false }),
      },
    },
  },
];
