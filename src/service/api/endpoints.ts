/**
 * All endpoints: those that the files of endpoint_files.ts export, in the order of the tables of permissions, which is
 * that of the OpenAPI description. All operations of it: an endpoint that is missing here is not described.
 */
import Type from 'typebox';
import type { Endpoint } from './http/endpoint.ts';
import { ACCESS, PROBE_ACCESS } from './http/endpoint_access.ts';
import { closed } from './http/request_fields.ts';
import type { Operation } from './openapi/operation.ts';
import * as files from './endpoint_files.ts';
import { mcpOperation } from './mcp/mcp_endpoint.ts';
import { SINGLES } from './probe/single_endpoints.ts';

const isEndpoint = (value: unknown): value is Endpoint =>
  typeof value === 'object' && value !== null && 'handlers' in value;

const NAMES = Object.keys({ ...PROBE_ACCESS, ...ACCESS });

const EXPORTED: Readonly<Record<string, unknown>> = { ...files };

export const ENDPOINTS: readonly Endpoint[] = [
  ...SINGLES.flatMap(({ endpoints }) => endpoints),
  ...Object.values(EXPORTED).filter(isEndpoint),
].sort((a, b) => NAMES.indexOf(a.name) - NAMES.indexOf(b.name));
export const MANAGEMENT: readonly Endpoint[] = ENDPOINTS.filter(({ name }) => name in ACCESS);

// Operations that are no endpoints.

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
