/** All operations, in the order of the description. An endpoint that is missing here is not described. */
import Type from 'typebox';
import type { Operation } from './operation.ts';
import { ENDPOINTS } from '../endpoints.ts';
import { closed } from '../http/request_fields.ts';
import { mcpOperation } from '../mcp/mcp_endpoint.ts';

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
    304: { description: 'Unchanged: it matches `If-None-Match`.' },
  },
});

const SERVICE: readonly Operation[] = [
  description('/openapi.json', 'openapi'),
  description('/frontend/api/v1/openapi.json', 'openapiOfManagement'),
  {
    method: 'get',
    path: '/healthz',
    id: 'healthz',
    tag: 'health',
    summary: 'Liveness',
    security: 'none',
    responses: {
      200: {
        description: 'This replica responds.',
        schema: closed({ ok: Type.Literal(true) }),
      },
    },
  },
  {
    method: 'get',
    path: '/readyz',
    id: 'readyz',
    tag: 'health',
    summary: 'Readiness',
    security: 'none',
    responses: {
      200: {
        description:
          'This replica takes requests. `degraded` names dependencies that do not respond: requests that need one ' +
          'are held for up to 5 s, then answered with 503 and `Retry-After`.',
        schema: closed({ ready: Type.Literal(true), degraded: Type.Optional(reasons) }),
      },
      503: {
        description: 'This replica takes no requests, with the reasons.',
        schema: closed({ ready: Type.Literal(false), reasons, degraded: Type.Optional(reasons) }),
      },
    },
  },
];

export const OPERATIONS: readonly Operation[] = [
  ...ENDPOINTS.map(({ operation }) => operation),
  mcpOperation,
  ...SERVICE,
];
