/** The OpenAPI 3.1 description, generated from the operations. Pure: the same operations produce the same document. */
import { createHash } from 'node:crypto';
import Type, { type TSchema } from 'typebox';
import { BATCH_EVENTS, EVENTS } from '../../webhooks/body.ts';
import { CLOUD_EVENT_TYPE, CLOUD_EVENTS } from '../../webhooks/cloud_event.ts';
import { DESCRIBED_AS, LOWERED_TO } from '../http/input/read_fields.ts';
import type { Handler } from '../http/request_context.ts';
import { methods } from '../http/middleware.ts';
import { closed, component, oneOf, time } from '../http/request_fields.ts';
import { BatchAnswerSchema, BatchItemSchema } from '../batch/batch_answers.ts';
import { EnvelopeSchema, MetadataSchema } from '../probe/answer_schemas.ts';
import { commonErrors, type Examples, type Operation, type Response, TAGS } from './operation.ts';

export const ABOUT = {
  title: 'Probeyard',
  version: 'v1.0',
  summary: 'What is in this media file or stream?',
  description: [
    'Probeyard runs ffprobe and mediainfo on a media file, playlist or stream, each at an exact version, and ' +
      'returns their output.',
    'Names are snake_case under `/v1/probe/` and kebab-case under `/frontend/api/v1/`. Times are RFC 3339 in ' +
      'UTC, durations milliseconds, sizes bytes.',
    'In queries and forms a boolean is `true`, `t`, `1`, `false`, `f` or `0` in any case, an empty value counts ' +
      'as omitted, and a nested field is written in brackets: `ffprobe[show_frames]=true`. In forms an object may ' +
      'also be a JSON string. Unknown names, wrong types and repeated values are refused with 400.',
    'Answers under `/frontend/api/v1/` have no null: a field without a value is left out.',
    'Where GET only reads, HEAD answers as GET does, without a body. Other methods get 405 with the header `Allow`.',
  ].join('\n\n'),
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
} as const;

// Schemas with a title are placed once, under components, and referred to wherever they are used.

class DescriptionError extends Error {
  readonly code = 'description-invalid';
}

/** Keywords that contain values, not schemas. */
const VALUES = new Set(['default', 'examples', 'enum', 'const']);

type Place = (schema: unknown) => unknown;

function makeComponents() {
  const schemas: Record<string, unknown> = {};
  const texts = new Map<string, string>();

  const inside = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(place);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, VALUES.has(name) ? member : place(member)]),
    );
  };

  function place(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value;
    const { title } = value as { title?: unknown };
    if (typeof title !== 'string') return inside(value);
    if (!/^[A-Za-z][A-Za-z0-9]*$/.test(title))
      throw new DescriptionError(`the title "${title}" is not a valid component name`);
    const text = JSON.stringify(value);
    const known = texts.get(title);
    if (known !== undefined && known !== text) throw new DescriptionError(`two schemas are called ${title}`);
    if (known === undefined) {
      texts.set(title, text);
      schemas[title] = inside(value);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  return { schemas, place };
}

// A request schema as callers see it: fields with a default are optional, and lowered maxima are described.

interface Schema {
  [keyword: string]: unknown;
  type?: string | string[];
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  description?: string;
}

/** Its members and items, as `make` makes them. */
const within = ({ properties, items }: Schema, make: (schema: Schema) => Schema): Schema => ({
  ...(properties
    ? { properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, make(field)])) }
    : {}),
  ...(items ? { items: make(items) } : {}),
});

function requestSchema(schema: Schema): Schema {
  // A component is the same wherever it is referred to.
  if (typeof schema['title'] === 'string') return schema;
  const described = schema[DESCRIBED_AS] as Schema | undefined;
  if (described) return { ...described, description: schema.description ?? '', default: schema['default'] };
  const { required, [LOWERED_TO]: lowered, description, ...rest } = schema;
  const { properties } = schema;
  const needed = (required ?? []).filter(
    (name) => properties?.[name] !== undefined && !('default' in properties[name]),
  );
  const said = [description, ...(lowered === undefined ? [] : [`Larger values are lowered to ${String(lowered)}.`])]
    .filter((text) => text !== undefined)
    .join(' ');
  return {
    ...rest,
    ...(said === '' ? {} : { description: said }),
    ...(needed.length > 0 ? { required: needed } : {}),
    ...within(schema, requestSchema),
  };
}

/** As sent in a query or a form: an empty value is null, an absent one has its default. */
function writtenSchema(schema: Schema): Schema {
  const { type, enum: values, default: fallback, ...rest } = schema as Schema & { enum?: unknown[]; default?: unknown };
  const types = [type].flat().filter((name) => name !== undefined && name !== 'null') as string[];
  return {
    ...rest,
    ...(types.length === 0 ? {} : { type: types.length === 1 ? types[0]! : types }),
    ...(values ? { enum: values.filter((value) => value !== null) } : {}),
    ...(fallback === undefined || fallback === null ? {} : { default: fallback }),
    ...within(schema, writtenSchema),
  };
}

const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';

const SCHEMES = {
  apiToken: { type: 'http', scheme: 'bearer', description: 'An API token, 64 characters.' },
  apiTokenQuery: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'An API token, for clients that cannot send headers.',
  },
  jwt: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A JWT from `auth/sign-in` or `auth/jwt`.' },
  jwtQuery: { type: 'apiKey', in: 'query', name: 'jwt' },
  jwtCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'jwt',
    description:
      'Set by a sign-in. Behind TLS the cookie `__Host-jwt` is set as well; if both are sent, `jwt` is ignored.',
  },
};
const GATEWAY = ['apiToken', 'apiTokenQuery'] as const;
const SECURITY = { gateway: GATEWAY, management: [...GATEWAY, 'jwt', 'jwtQuery', 'jwtCookie'], none: [] };

const REQUEST_ID = {
  description: 'The id of this request; for a probe, the id to read its result with.',
  schema: { type: 'string', format: 'uuid' },
};
const RATE_HEADERS = {
  'RateLimit-Policy': { description: 'The rate limit, as in the IETF draft.', schema: { type: 'string' } },
  RateLimit: { description: 'The remaining calls, as in the IETF draft.', schema: { type: 'string' } },
};

const isObject = (schema: Schema): boolean => [schema.type].flat().includes('object');
const isArray = (schema: Schema): boolean => [schema.type].flat().includes('array');

const examplesOf = (examples: Examples | undefined): object =>
  examples && Object.keys(examples).length > 0 ? { examples } : {};

function queryParameters({ query, queryExamples = {}, id }: Operation, place: Place): object[] {
  if (!query) return [];
  const { properties = {}, required = [] } = writtenSchema(requestSchema(query as Schema));
  for (const [name, { value }] of Object.entries(queryExamples)) {
    const unknown = Object.keys(value as object).find((parameter) => !(parameter in properties));
    if (unknown) throw new DescriptionError(`${id}: the example ${name} has the unknown parameter ${unknown}`);
  }
  return Object.entries(properties).map(([name, schema]) => {
    const { description, ...rest } = schema;
    const examples = Object.entries(queryExamples).flatMap(([key, example]) => {
      const values = example.value as Record<string, unknown>;
      return name in values ? [[key, { ...example, value: values[name] }] as const] : [];
    });
    return {
      name,
      in: 'query',
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      // Objects in brackets, lists by repetition.
      ...(isObject(schema)
        ? { style: 'deepObject', explode: true }
        : isArray(schema)
          ? { style: 'form', explode: true }
          : {}),
      schema: place(rest),
      ...examplesOf(Object.fromEntries(examples)),
    };
  });
}

const headerParameters = ({ headers = {} }: Operation): object[] =>
  Object.entries(headers).map(([name, { description, schema }]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema,
  }));

function pathParameters({ path, params = {}, id }: Operation): object[] {
  const named = [...path.matchAll(/:([A-Za-z_]+)/g)].map(([, name]) => name!);
  const missing = named.find((name) => !(name in params)) ?? Object.keys(params).find((name) => !named.includes(name));
  if (missing !== undefined)
    throw new DescriptionError(`${id}: the path ${path} and its parameters do not agree on ${missing}`);
  return named.map((name) => {
    const { description, ...schema } = params[name] as Schema;
    return { name, in: 'path', required: true, ...(description === undefined ? {} : { description }), schema };
  });
}

/** Objects in a form: in brackets, or as one JSON string. */
function encoding(mediaType: string, { properties = {} }: Schema): object {
  const objects = Object.keys(properties).filter((name) => isObject(properties[name]!));
  if (objects.length === 0) return {};
  if (mediaType === FORM)
    return { encoding: Object.fromEntries(objects.map((name) => [name, { style: 'deepObject', explode: true }])) };
  return mediaType === MULTIPART
    ? { encoding: Object.fromEntries(objects.map((name) => [name, { contentType: 'application/json' }])) }
    : {};
}

function requestBody({ body }: Operation, place: Place): object {
  if (!body) return {};
  const schema = requestSchema(body.schema as Schema);
  const written = writtenSchema(schema);
  const content = body.mediaTypes.map(
    (mediaType) =>
      [
        mediaType,
        {
          schema: place(mediaType === FORM || mediaType === MULTIPART ? written : schema),
          ...encoding(mediaType, schema),
          ...examplesOf(body.examples),
        },
      ] as const,
  );
  const others = Object.entries(body.otherTypes ?? {}).map(([type, each]) => [type, { schema: place(each) }] as const);
  return { requestBody: { required: true, content: Object.fromEntries([...content, ...others]) } };
}

function response(
  operation: Operation,
  { description, schema, mediaType = 'application/json', otherTypes = {}, headers = {} }: Response,
  status: number,
  place: Place,
): object {
  const types: Record<string, TSchema> = { ...(schema ? { [mediaType]: schema } : {}), ...otherTypes };
  const content = Object.entries(types).map(([type, each]) => [type, { schema: place(each) }] as const);
  const counted = operation.security !== 'none' && status !== 401 && status !== 403;
  return {
    description,
    headers: { 'X-Request-Id': REQUEST_ID, ...(counted ? RATE_HEADERS : {}), ...headers },
    ...(content.length > 0 ? { content: Object.fromEntries(content) } : {}),
  };
}

function describe(operation: Operation, place: Place): object {
  const { id, tag, summary, description, permission, security } = operation;
  const said = [description, ...(permission === undefined ? [] : [`Requires the permission \`${permission}\`.`])]
    .filter((text) => text !== undefined)
    .join('\n\n');
  const parameters = [
    ...pathParameters(operation),
    ...queryParameters(operation, place),
    ...headerParameters(operation),
  ];
  const responses = Object.entries({ ...commonErrors(operation), ...operation.responses }).map(
    ([status, each]) => [status, response(operation, each, Number(status), place)] as const,
  );
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(said === '' ? {} : { description: said }),
    security: SECURITY[security].map((scheme) => ({ [scheme]: [] })),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...requestBody(operation, place),
    responses: Object.fromEntries(responses),
  };
}

// Webhooks.

/** The result's members are added to these: those of each tool, or of the one requested tool. */
export const WebhookSchema = Type.Object(
  {
    type: oneOf(Object.keys(EVENTS) as (keyof typeof EVENTS)[]),
    timestamp: time('When the request ended.'),
    truncated: Type.Optional(
      Type.Literal(true, {
        description: 'The result exceeds 1 MB, and comes without the outputs of the tools. Read it by its id.',
      }),
    ),
    success: EnvelopeSchema.properties.success,
    error: EnvelopeSchema.properties.error,
    code: EnvelopeSchema.properties.code,
    metadata: Type.Object(MetadataSchema.properties),
    policy: EnvelopeSchema.properties.policy,
    item: Type.Optional(
      closed(
        {
          batch: Type.String({ format: 'uuid' }),
          n: BatchItemSchema.properties.n,
          ref: BatchItemSchema.properties.ref,
        },
        { description: 'With `webhook_items` of a batch: the item whose result it is.' },
      ),
    ),
  },
  { title: 'Webhook' },
);

const BatchWebhookSchema = Type.Object(
  {
    ...BatchAnswerSchema.properties,
    type: oneOf(Object.keys(BATCH_EVENTS) as (keyof typeof BATCH_EVENTS)[]),
    timestamp: time('When the batch ended, or had come so far.'),
    progress: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'With `batch.progress`: how many items had ended, a multiple of `webhook_every`. Sent once for each.',
      }),
    ),
  },
  { title: 'BatchWebhook' },
);

/** `data` is what the plain webhook has as its body. */
const eventSchema = (title: string, data: TSchema) =>
  component(title, {
    specversion: Type.Literal('1.0'),
    id: Type.String({ description: 'As `webhook-id`: the same in each attempt.' }),
    source: Type.String({ description: 'The public address of the installation, if it has one, and a path.' }),
    type: oneOf(Object.values(CLOUD_EVENTS).map(({ type }) => type)),
    subject: Type.String({ description: 'The id of the request or batch; of an item its `ref`, if it has one.' }),
    time: time('As `timestamp`.'),
    datacontenttype: Type.Literal('application/json'),
    data,
  });

const OF_REQUEST = { schema: WebhookSchema, event: eventSchema('WebhookEvent', WebhookSchema) };
const OF_BATCH = { schema: BatchWebhookSchema, event: eventSchema('BatchWebhookEvent', BatchWebhookSchema) };

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
});
const HEADERS = [
  header('webhook-id', 'The id of the webhook, the same in each attempt.'),
  header('webhook-timestamp', 'When this attempt was made, in seconds since 1970.'),
  header('webhook-signature', 'Signatures by Standard Webhooks 1.0, with the secret of the token.'),
];

const describeWebhooks = (
  place: Place,
  events: Record<string, string>,
  { schema, event: asEvent }: { schema: TSchema; event: TSchema },
): object =>
  Object.fromEntries(
    Object.entries(events).map(([event, summary]) => [
      event,
      {
        post: {
          operationId: event.replace(/\.(.)/, (_, letter: string) => letter.toUpperCase()),
          tags: ['webhooks'],
          summary,
          security: [],
          parameters: HEADERS,
          requestBody: {
            required: true,
            content: {
              'application/json': { schema: place(schema) },
              [CLOUD_EVENT_TYPE]: { schema: place(asEvent) },
            },
          },
          responses: {
            '2XX': { description: 'Delivered.' },
            '410': { description: 'The receiver is gone: there is no further attempt.' },
            default: { description: 'The delivery has failed; another attempt follows.' },
          },
        },
      },
    ]),
  );

export function openapiDocument(operations: readonly Operation[]): object {
  const { schemas, place } = makeComponents();
  const paths: Record<string, Record<string, object>> = {};
  const ids = new Set<string>();
  for (const operation of operations) {
    if (ids.has(operation.id)) throw new DescriptionError(`two operations are called ${operation.id}`);
    ids.add(operation.id);
    const path = operation.path.replaceAll(/:([A-Za-z_]+)/g, '{$1}');
    const ofPath = (paths[path] ??= {});
    if (ofPath[operation.method]) throw new DescriptionError(`${operation.method} ${path} is described twice`);
    ofPath[operation.method] = describe(operation, place);
  }
  const used = Object.entries(TAGS).filter(([name]) => operations.some(({ tag }) => tag === name));
  return {
    openapi: '3.1.1',
    info: ABOUT,
    servers: [{ url: '/' }],
    tags: used.map(([name, { text }]) => ({ name, description: text })),
    paths,
    webhooks: {
      ...describeWebhooks(place, EVENTS, OF_REQUEST),
      ...describeWebhooks(place, BATCH_EVENTS, OF_BATCH),
    },
    components: { schemas, securitySchemes: SCHEMES },
  };
}

// `GET /openapi.json`, and the same at `/frontend/api/v1/openapi.json`. Needs no authentication.

export function openapi(operations: readonly Operation[]): Handler[] {
  const text = JSON.stringify(openapiDocument(operations));
  const etag = `"${createHash('sha256').update(text).digest('base64url')}"`;
  return [
    methods('GET', 'HEAD'),
    function answerDescription(ctx) {
      ctx.set('Cache-Control', 'no-cache');
      ctx.set('ETag', etag);
      ctx.type = 'application/json';
      ctx.status = 200;
      // Programs that send a tag themselves often send no-cache with it, which Koa takes as a wish for the whole.
      const kept = ctx.get('If-None-Match').split(',');
      if (kept.some((tag) => tag.trim().replace(/^W\//, '') === etag)) ctx.status = 304;
      else ctx.body = text;
    },
  ];
}
