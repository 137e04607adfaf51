/**
 * All endpoints: those that these files export, in the order of the tables of permissions, which is that of the OpenAPI
 * description. All operations of it: an endpoint that is missing here is not described.
 */
import Type from 'typebox';
import type { Endpoint } from './http/endpoint.ts';
import { ACCESS, PROBE_ACCESS } from './http/endpoint_access.ts';
import { closed } from './http/request_fields.ts';
import type { Operation } from './openapi/operation.ts';
import * as labels from './accounts/account_labels.ts';
import * as sessions from './accounts/session_endpoints.ts';
import * as signUp from './accounts/sign_up_endpoints.ts';
import * as tokens from './accounts/token_endpoints.ts';
import * as users from './accounts/user_endpoints.ts';
import * as batches from './batch/batch_endpoints.ts';
import * as batchDiff from './batch/diff_endpoint.ts';
import * as batchItems from './batch/item_endpoints.ts';
import * as cluster from './cluster/cluster_endpoint.ts';
import * as compare from './compare/compare_endpoint.ts';
import * as compareReport from './compare/compare_report_endpoint.ts';
import { mcpOperation } from './mcp/mcp_endpoint.ts';
import * as policies from './policies/policy_endpoints.ts';
import * as file from './probe/file_endpoints.ts';
import * as qc from './probe/qc_endpoints.ts';
import * as offers from './probe/offer_endpoints.ts';
import * as requests from './probe/request_endpoints.ts';
import { SINGLES } from './probe/single_endpoints.ts';
import * as audit from './records/audit_endpoints.ts';
import * as log from './records/log_endpoints.ts';
import * as sourceEvents from './source/event_endpoint.ts';
import * as sources from './source/source_endpoints.ts';
import * as report from './report_page/report_endpoints.ts';
import * as mcpAccess from './sso/mcp_access.ts';
import * as sso from './sso/sso_endpoints.ts';
import * as statistics from './records/statistics_endpoints.ts';
import * as webhooks from './records/webhook_endpoints.ts';
import * as waivers from './waivers/waiver_endpoints.ts';

const isEndpoint = (value: unknown): value is Endpoint =>
  typeof value === 'object' && value !== null && 'handlers' in value;

const NAMES = Object.keys({ ...PROBE_ACCESS, ...ACCESS });

// By name, and not in a list: knip then knows that what these files export is used.
const FILES: object = {
  ...SINGLES.map(({ endpoints }) => endpoints),
  file,
  qc,
  requests,
  offers,
  batches,
  batchDiff,
  batchItems,
  sources,
  sourceEvents,
  compare,
  compareReport,
  policies,
  waivers,
  mcpAccess,
  signUp,
  sessions,
  sso,
  tokens,
  users,
  labels,
  cluster,
  audit,
  log,
  report,
  statistics,
  webhooks,
};

export const ENDPOINTS: readonly Endpoint[] = Object.values(FILES)
  .flatMap((one: object): unknown[] => Object.values(one))
  .filter(isEndpoint)
  .sort((a, b) => NAMES.indexOf(a.name) - NAMES.indexOf(b.name));
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
