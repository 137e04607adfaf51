/** Declares an endpoint: its access, input, responses, description and work. */
import type Router from '@koa/router';
import type { Static, TSchema } from 'typebox';
import { isObject } from '../../../base/is_object.ts';
import type { Deps } from '../deps.ts';
import { errorResponse, type Examples, type Operation, type Response, tagOf } from '../openapi/operation.ts';
import { audited } from './audit.ts';
import {
  ACCESS,
  type Access,
  BASE,
  leavesEntry,
  permitted,
  PROBE_ACCESS,
  type Side,
  sideOf,
} from './endpoint_access.ts';
import { makeAuthenticate } from './authenticate.ts';
import { authenticateSender, SENDER_KEY } from './authenticate_sender.ts';
import type { Context, Handler, State } from './request_context.ts';
import { methods, noCache, sameSite } from './middleware.ts';
import { accountRate, addressRate, callRate, countRefused, rateLimitHeaders } from './rate.ts';
import { BODIES, BOUNDS, BOUNDS_OF_ANYONE, type Bounds, readInput } from './read_input.ts';
import { closed } from './request_fields.ts';
import { refuseOverload } from './overload.ts';

// Management answers have no null: a field without a value is left out, of what is sent and of its description. Items
// of lists stay, since their place says what they are.

/** For JSON.stringify. */
export const withoutNull = (_name: string, value: unknown): unknown => (value === null ? undefined : value);

type Members = Record<string, unknown>;

/** As an item of `type`, `enum` and `anyOf`. */
const isNull = (item: unknown): boolean =>
  item === null || item === 'null' || (isObject(item) && item['type'] === 'null');
const mayBeNull = (schema: unknown): boolean =>
  isObject(schema) && [schema['type'], schema['anyOf']].flat().some(isNull);
const each = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, withoutNullIn(member)]));

/** What may be null is optional. A description without null stays the same text wherever it is referred to. */
function withoutNullIn(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.filter((item) => !isNull(item)).map(withoutNullIn);
  if (!isObject(schema) || !JSON.stringify(schema).includes('"null"')) return schema;
  const { properties, required, ...others } = schema;
  const { type, anyOf, ...rest } = each(others);
  const [first, second] = Array.isArray(anyOf) ? (anyOf as Members[]) : [];
  const isOne = first !== undefined && second === undefined && first['title'] === undefined;
  const needed = (required as string[] | undefined)?.filter((name) => !mayBeNull((properties as Members)[name]));
  return {
    // One with a title stays itself, so that it is still referred to.
    ...(isOne ? first : anyOf === undefined ? {} : { anyOf }),
    ...rest,
    ...(type === undefined ? {} : { type: Array.isArray(type) && type.length === 1 ? type[0] : type }),
    ...(needed && needed.length > 0 ? { required: needed } : {}),
    ...(isObject(properties) ? { properties: each(properties) } : {}),
  };
}

export const schemaWithoutNull = (schema: TSchema): TSchema => withoutNullIn(schema) as TSchema;

const TABLE = { ...ACCESS, ...PROBE_ACCESS };
export type EndpointName = keyof typeof TABLE;

export interface Endpoint {
  name: EndpointName;
  access: Access;
  /** Of the body. */
  bounds: Bounds;
  operation: Operation;
  /** HEAD is answered as GET. Not where a GET starts a probe. */
  answersHead: boolean;
  handlers(deps: Deps): Handler[];
}

/** Returns the answer; what is not JSON it sets as `ctx.body`. */
export type Work<Asked = unknown, Answered = void> = (
  deps: Deps,
  ctx: Context,
  asked: Asked,
) => Promise<Answered | void> | Answered | void;

type Shared = 'id' | 'summary' | 'description' | 'params' | 'headers' | 'query' | 'queryExamples';

export interface Described extends Pick<Operation, Shared> {
  /** For POST and PUT; a GET or DELETE has a query. */
  body?: TSchema;
  /** The body is a text of one of these media types, and is not parsed; `body` describes the first of them. */
  text?: Record<string, TSchema>;
  bodyExamples?: Examples;
  /** A call without a body counts as one without fields. Those of the management endpoints always do. */
  bodyMayBeAbsent?: boolean;
  /** The schema that validates the input, if the description omits fields. `ignored`: the query is not read. */
  input?: TSchema | 'ignored';
  /** The successful response, with the status that is set before the work; errors are added. */
  answer: { status?: number } & Response;
  answers?: Record<number, Response>;
  /** Further errors, in addition to those of every endpoint. */
  also?: readonly (401 | 404 | 409)[];
  /** Descriptions of errors that replace the common ones. */
  errors?: Record<number, string>;
  /** Of the body, where they differ from those of all endpoints with this access. */
  bounds?: Partial<Bounds>;
  /** A multipart form may hold a file. */
  upload?: boolean;
  /** `call`: calls a minute of the account (the default). `request`: requests a minute of the token. */
  rate?: 'call' | 'request';
}

/** `Asked`: the schema of the query or body. `Answered`: that of the answer. */
interface Declared<Asked extends TSchema, Answered extends TSchema> extends Described {
  query?: Asked;
  body?: Asked;
  answer: Described['answer'] & { schema?: Answered };
  /** Done once the call is admitted and its input is checked. Without a schema it returns nothing. */
  work: Work<Static<Asked>, TSchema extends Answered ? void : Static<Answered>>;
}

const NOTHING = closed({});
const isPlain = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype;

const withoutValue = ({ schema, ...response }: Response): Response =>
  schema === undefined ? response : { ...response, schema: schemaWithoutNull(schema) };

const statusOf = ({ answer }: Described): number => answer.status ?? (answer.schema ? 200 : 204);

/** Adds the errors that every authenticated call and every checked field can cause. */
function responsesOf(path: string, described: Described, access: Access, side: Side): Record<number, Response> {
  const { answer, answers = {}, also = [], errors = {} } = described;
  const { status: _, ...success } = answer;
  const statuses = [400, ...(access.who === 'anyone' ? [403, 429] : []), ...also, ...Object.keys(errors).map(Number)];
  return {
    ...Object.fromEntries(statuses.map((code) => [code, errorResponse(path, code, errors[code])])),
    ...answers,
    [statusOf(described)]: side.leavesOut ? withoutValue(success) : success,
  };
}

function operationOf(method: string, path: string, described: Described, access: Access, side: Side): Operation {
  const { body, bodyExamples, text } = described;
  return {
    ...described,
    method: method.toLowerCase() as Operation['method'],
    path,
    tag: tagOf(path),
    security: access.who === 'anyone' ? 'none' : side.security,
    permission: access.permission,
    responses: responsesOf(path, described, access, side),
    body: body && {
      schema: body,
      mediaTypes: text === undefined ? BODIES : BODIES.slice(0, 1),
      otherTypes: text,
      examples: bodyExamples,
    },
  };
}

/**
 * Authentication, permissions, whether there is time for the call, and the rate limit that it counts against: before
 * any of the body is read.
 */
function accessChecks(deps: Deps, access: Access, side: Side, rate: Described['rate'], isRead: boolean): Handler[] {
  const time = isRead ? [] : [refuseOverload(deps)];
  if (access.who === 'anyone') return [addressRate(deps), ...time];
  if (access.who === 'sender') return [authenticateSender(deps, access), ...time];
  const [known, may] = [[makeAuthenticate(deps, side.credentials), ...time], permitted(access)];
  return rate === 'request'
    ? [rateLimitHeaders, countRefused(deps), ...known, accountRate(deps), may]
    : [...known, may, rateLimitHeaders, callRate(deps)];
}

/** `GET media/log` is a path of the management endpoints; one with a leading slash is complete. */
export function endpoint<Asked extends TSchema, Answered extends TSchema>(
  name: EndpointName,
  { work, ...described }: Declared<Asked, Answered>,
): Endpoint {
  const access: Access = TABLE[name];
  const [method, given] = name.split(' ') as [string, string];
  const path = given.startsWith('/') ? given : `${BASE}/${given}`;
  const side = sideOf(path);
  const { query, body, text, input = query ?? body ?? NOTHING, rate = 'call', upload = false } = described;
  const isRead = method === 'GET' && rate === 'call';
  const bounds = { ...(access.who === 'anyone' ? BOUNDS_OF_ANYONE : BOUNDS), ...described.bounds };
  return {
    name,
    access,
    bounds,
    operation: operationOf(method, path, described, access, side),
    answersHead: isRead,
    handlers: (deps) => [
      noCache,
      audited(deps, { action: described.id, path, changes: leavesEntry(name, path) }),
      ...accessChecks(deps, access, side, rate, isRead),
      sameSite(deps.accounts.ownHosts),
      ...(input === 'ignored'
        ? []
        : readInput(deps, {
            schema: input,
            text: text && Object.keys(text),
            side: {
              credentials: access.who === 'sender' ? ['token', SENDER_KEY] : side.credentials,
              emptyBody: side.emptyBody || described.bodyMayBeAbsent === true,
            },
            bounds,
            upload,
          })),
      async function answer(ctx) {
        ctx.status = statusOf(described);
        const answered = await work(deps, ctx, ctx.state.checked as Static<Asked>);
        if (answered !== undefined) ctx.body = answered;
        // Koa has set its type; streams and texts are as they are.
        if (side.leavesOut && isPlain(ctx.body)) ctx.body = JSON.stringify(ctx.body, withoutNull);
      },
    ],
  };
}

const PATTERN_LAST = (path: string): number => (path.includes(':') ? 1 : 0);

/** Fixed paths precede those with parameters: `user/current` is not an id. */
export function mount(router: Router<State>, deps: Deps, endpoints: readonly Endpoint[]): void {
  const paths = Map.groupBy(endpoints, ({ operation }) => operation.path);
  for (const [path, all] of [...paths].sort(([a], [b]) => PATTERN_LAST(a) - PATTERN_LAST(b))) {
    const only = methods(
      ...all.flatMap(({ operation, answersHead }) => [
        operation.method.toUpperCase(),
        ...(answersHead ? ['HEAD'] : []),
      ]),
    );
    for (const one of all) router[one.operation.method](path, only, ...one.handlers(deps));
    router.all(path, only);
  }
}
