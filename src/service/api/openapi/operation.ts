/**
 * The description of an endpoint, from which its part of the OpenAPI document is generated.
 */
import type { TSchema } from 'typebox';

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
  examples?: Examples;
}

export const TAGS = {
  probe: 'Media analysis. These endpoints accept API tokens only.',
  policy: 'Policies: rules that a file is judged by.',
  mcp: 'The Model Context Protocol.',
  log: 'The log of requests.',
  statistics: 'Usage by user and time.',
  webhooks: 'Deliveries of results to webhook addresses.',
  auth: 'Accounts, sessions and tokens.',
  users: 'Users and their sub-users.',
  cluster: 'What the cluster is doing, for administrators.',
  description: 'This description.',
  health: 'Whether the service answers.',
} as const;
export type Tag = keyof typeof TAGS;

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
  permission?: string;
  /** Path parameters by name. */
  params?: Record<string, TSchema>;
  /** Query parameters, nested ones in bracket notation: the schema that validates them. */
  query?: TSchema;
  /** Whole queries: name of the example, then its parameters (nested ones as objects). */
  queryExamples?: Examples;
  body?: {
    schema: TSchema;
    mediaTypes: readonly string[];
    /** Alternative media types of the body, each with its schema. */
    otherTypes?: Record<string, TSchema>;
    required?: boolean;
    examples?: Examples;
  };
  headers?: Record<string, { description: string; schema: TSchema }>;
  /**
   * The responses. Unless given, the builder adds 400 for a query or a body, 404 for path parameters, 401, 403 and 429
   * for authenticated operations, and 500, each with the error body of its kind of endpoint.
   */
  responses: Record<number, Response>;
}
