/**
 * The frame of the management side, `/frontend/api/v1/*`. How to add an endpoint:
 *  1. a line in access.ts says who may call it: `'GET media/log': having('read:media')`;
 *  2. a file exports it: `export const listLog = endpoint('GET media/log', { id, tag, summary, query: Query, answer:
 * {...} }, (deps) => [listLog(deps)])`.
 *     The frame authenticates, judges by the table, takes the rate, checks query (GET, DELETE) or body (POST, PUT)
 * against the schema. The
 *     steps find `callerOf(ctx)` and `checkedBy(Query, ctx)`, and throw GatewayErrors: `notFound()` for what belongs to
 * another;
 *  3. endpoints.ts lists it. Its Operation (OpenAPI) is `listLog.operation`. Whose data a caller sees: `await
 * visibleUsers(deps, caller)`: null is everyone's, else these user ids. Lists: lists.ts.
 */
import type Router from '@koa/router';
import Type, { type TSchema } from 'typebox';
import type { Handler, State } from './context.ts';
import type { Deps } from '../deps.ts';
import { methods, noCache, sameSite } from './middleware.ts';
import { errorResponse } from '../openapi/errors.ts';
import type { Operation, Response } from '../openapi/operation.ts';
import { rateLimitHeaders, userRate } from './rate.ts';
import { ACCESS, type Access, type EndpointName, permitted } from './access.ts';
import { authenticate } from './authenticate.ts';
import { BASE } from './error_body.ts';
import { readInput } from './read_input.ts';
import { tooMany } from './too_many.ts';

export interface Endpoint {
  name: EndpointName;
  access: Access;
  operation: Operation;
  handlers(deps: Deps): Handler[];
}

export interface Described {
  id: string;
  tag: Operation['tag'];
  summary: string;
  description?: string;
  params?: Record<string, TSchema>;
  query?: TSchema;
  body?: TSchema;
  /** Of the success; the errors are added. */
  answer: { status?: number } & Response;
  /** Further statuses it may give, beside those that every endpoint has. */
  also?: readonly (401 | 404 | 409)[];
}

const NOTHING = Type.Object({}, { additionalProperties: false });
const BODIES = ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'] as const;
/** The description adds what every known caller and every checked field can meet; here stands the rest. */
function responses(path: string, { answer, also = [] }: Described, access: Access): Record<number, Response> {
  const { status = answer.schema ? 200 : 204, ...success } = answer;
  const statuses = [400, ...(access.who === 'anyone' ? [403, 429] : []), ...also];
  return {
    [status]: success,
    ...Object.fromEntries(
      statuses.map((code) => [
        code,
        errorResponse(path, code, code === 409 ? 'It collides with what is there.' : undefined),
      ]),
    ),
  };
}

export function endpoint(name: EndpointName, described: Described, steps: (deps: Deps) => Handler[]): Endpoint {
  const access: Access = ACCESS[name];
  const [method, path] = name.split(' ') as [string, string];
  const { id, tag, summary, description, params, query, body } = described;
  const operation: Operation = {
    method: method.toLowerCase() as Operation['method'],
    path: `${BASE}/${path}`,
    id,
    tag,
    summary,
    security: access.who === 'anyone' ? 'none' : 'management',
    responses: responses(`${BASE}/${path}`, described, access),
    ...(description === undefined ? {} : { description }),
    ...(access.permission === undefined ? {} : { permission: access.permission }),
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body: { schema: body, mediaTypes: BODIES } }),
  };
  return {
    name,
    access,
    operation,
    handlers: (deps) => [
      noCache,
      ...(access.who === 'anyone' ? [] : [authenticate(deps), permitted(access), rateLimitHeaders, userRate(deps)]),
      sameSite(deps.accounts.ownHosts),
      ...readInput(query ?? body ?? NOTHING),
      tooMany,
      ...steps(deps),
    ],
  };
}

const PATTERN_LAST = (path: string): number => (path.includes(':') ? 1 : 0);

/** Fixed paths before those with parameters: `user/current` is no id. */
export function mountManagement(router: Router<State>, deps: Deps, endpoints: readonly Endpoint[]): void {
  const paths = Map.groupBy(endpoints, ({ operation }) => operation.path);
  for (const [path, all] of [...paths].sort(([a], [b]) => PATTERN_LAST(a) - PATTERN_LAST(b))) {
    const only = methods(...all.map(({ operation }) => operation.method.toUpperCase()));
    for (const one of all) router[one.operation.method](path, only, ...one.handlers(deps));
    router.all(path, only);
  }
}
