/** What an endpoint says of itself: one value beside its middlewares, from which its part of the OpenAPI description is made. */
import type { TSchema } from 'typebox';

export interface Response {
  description: string;
  /** None: an empty body. */
  schema?: TSchema;
  /** `application/json` where nothing is said. */
  mediaType?: string;
  headers?: Record<string, { description: string; schema: TSchema }>;
  examples?: Record<string, { summary?: string; value: unknown }>;
}

export interface Operation {
  method: 'get' | 'post' | 'put' | 'delete';
  /** As the router has it: `/v1/probe/:id`. */
  path: string;
  /** Unique, in camel case. */
  id: string;
  tag: 'probe' | 'log' | 'statistics' | 'webhooks' | 'auth' | 'users' | 'description' | 'health';
  summary: string;
  description?: string;
  /** `gateway`: an API token. `management`: an API token or a JWT. `none`: nobody needs to be known. */
  security: 'gateway' | 'management' | 'none';
  /** The permission that is needed: `write:media`. */
  permission?: string;
  /** Path parameters by name. */
  params?: Record<string, TSchema>;
  /** Query parameters, nested ones in bracket notation. */
  query?: TSchema;
  body?: { schema: TSchema; mediaTypes: readonly string[]; required?: boolean; examples?: Record<string, { summary?: string; value: unknown }> };
  headers?: Record<string, { description: string; schema: TSchema }>;
  responses: Record<number, Response>;
}
