/** The description of an endpoint, from which its part of the OpenAPI document is generated, and its errors. */
import Type, { type TSchema } from 'typebox';
import { ERRORS, numberOf } from '../errors.ts';
import { isManagement } from '../http/endpoint_access.ts';
import { closed, component } from '../http/request_fields.ts';
import { CauseSchema } from '../probe/answer_schemas.ts';

export type Examples = Record<string, { summary?: string; value: unknown }>;

export interface Response {
  description: string;
  /** Absent: an empty body. */
  schema?: TSchema;
  /** Default: `application/json`. */
  mediaType?: string;
  /** Alternative media types of the body, each with its schema. */
  otherTypes?: Record<string, TSchema>;
  headers?: Record<string, { description: string; schema: TSchema }>;
}

/** Of which paths, and what the description says of them. The last one that fits counts. */
export const TAGS = {
  probe: { of: /^\/v1\//, text: 'Media analysis. These endpoints accept API tokens only.' },
  policy: { of: /\/(?:policy|waivers)\b/, text: 'Policies: rules that a file is judged by, and what is waived.' },
  batch: { of: /^\/v1\/batch\b/, text: 'Batches: many files, probed by one template.' },
  source: { of: /^\/v1\/source\b/, text: 'Sources: buckets whose new objects are probed.' },
  mcp: { of: /^\/mcp$|^\/\.well-known\//, text: 'The Model Context Protocol.' },
  log: { of: /\/media\/log\b/, text: 'The log of requests.' },
  reports: { of: /^\/r\/|\/media\/(?:link\b|log\/:id\/)/, text: 'Reports of requests to hand on, and links to them.' },
  statistics: { of: /\/statistics\//, text: 'Usage by user and time.' },
  webhooks: { of: /\/media\/webhook\b/, text: 'Deliveries of results to webhook addresses.' },
  auth: { of: /\/auth\//, text: 'Accounts, sessions and tokens.' },
  users: { of: /\/user\b/, text: 'Users and their sub-users.' },
  audit: { of: /\/audit\b/, text: 'The audit log: who changed what, who saw a secret, and who was denied.' },
  cluster: { of: /\/cluster$/, text: 'What the cluster is doing, for administrators.' },
  description: { of: /\/openapi\.json$/, text: 'This description.' },
  health: { of: /^\/(?:health|ready)z$/, text: 'Whether the service answers.' },
} as const;
type Tag = keyof typeof TAGS;

export function tagOf(path: string): Tag {
  const tag = (Object.keys(TAGS) as Tag[]).findLast((name) => TAGS[name].of.test(path));
  if (tag === undefined) throw new Error(`${path}: no tag is of this path`);
  return tag;
}

interface RequestBody {
  schema: TSchema;
  mediaTypes: readonly string[];
  /** Alternative media types of the body, each with its schema. */
  otherTypes?: Record<string, TSchema> | undefined;
  examples?: Examples | undefined;
}

export interface Operation {
  method: 'get' | 'post' | 'put' | 'delete';
  /** In the router's form: `/v1/probe/:id`. */
  path: string;
  /** Unique, in camel case. */
  id: string;
  tag: Tag;
  summary: string;
  description?: string;
  /** `gateway`: an API token. `management`: an API token or a JWT. `none`: no authentication. */
  security: 'gateway' | 'management' | 'none';
  /** The required permission: `write:media`. */
  permission?: string | undefined;
  params?: Record<string, TSchema>;
  /** Query parameters, nested ones in bracket notation: the schema that validates them. */
  query?: TSchema;
  /** Whole queries: name of the example, then its parameters (nested ones as objects). */
  queryExamples?: Examples;
  body?: RequestBody | undefined;
  headers?: Record<string, { description: string; schema: TSchema }>;
  /**
   * The responses. Unless given, the builder adds 400 for a query or a body, 404 for path parameters, 401, 403 and 429
   * for authenticated operations, and 500, each with the error body of its kind of endpoint.
   */
  responses: Record<number, Response>;
}

// The error bodies of both kinds of endpoints, and the errors that all operations share.

/** 49900 only occurs in the log, because its caller has disconnected. */
const NUMBERS = [...new Set(Object.values(ERRORS).map(numberOf))].filter((number) => number !== 49900);

const GatewayErrorSchema = component('GatewayError', {
  error: Type.String({ description: 'A human-readable message.' }),
  code: Type.Optional(CauseSchema),
});

const ManagementErrorSchema = component('ManagementError', {
  code: Type.Integer({
    description: `The status and two digits that distinguish errors with the same status: ${NUMBERS.join(', ')}.`,
  }),
  context: closed({
    field: Type.Optional(Type.String({ description: 'The invalid field.' })),
    'request-id': Type.Optional(Type.String({ description: 'The id to report to the operator.' })),
  }),
  error: Type.String({ description: 'A human-readable message.' }),
  status: Type.String({ description: 'The reason phrase of the status.' }),
});

const seconds = Type.String({ description: 'Seconds.', pattern: '^[0-9]+$' });

const TEXTS: Record<number, string> = {
  400: 'A field is invalid, unknown or missing; the error names it.',
  401: 'The credential is missing, malformed, expired or revoked.',
  403: 'The credential lacks the permission, its account is not active, or its quota is used up.',
  404: 'Not found, or not visible to the caller.',
  409: 'The request conflicts with the current state.',
  429: 'Too many requests, or too many unknown tokens from this address.',
  500: 'Internal error.',
  503:
    'The service is not available: a dependency is unreachable, the memory budget of answers is used up, or this ' +
    'server is overloaded.',
};

/** The error response of a status, with the body for the path's kind of endpoint. */
export function errorResponse(path: string, status: number, description = TEXTS[status] ?? 'An error.'): Response {
  const schema: TSchema = isManagement(path) ? ManagementErrorSchema : GatewayErrorSchema;
  const headers: NonNullable<Response['headers']> =
    status === 401
      ? { 'WWW-Authenticate': { description: 'Bearer', schema: Type.String() } }
      : status === 429 || status === 503
        ? { 'Retry-After': { description: 'Seconds to wait before a retry.', schema: seconds } }
        : {};
  return { description, schema, headers };
}

export function commonErrors({ path, security, query, body, params }: Operation): Record<number, Response> {
  const statuses = [
    ...(query || body ? [400] : []),
    ...(security === 'none' ? [] : [401, 403, 429]),
    ...(params ? [404] : []),
    500,
    503,
  ];
  return Object.fromEntries(statuses.map((status) => [status, errorResponse(path, status)]));
}
