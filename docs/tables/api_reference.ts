/** docs/reference: a page for each group of endpoints, from the OpenAPI document. */
import { OPERATIONS } from '../../src/service/api/endpoints.ts';
import { openapiDocument } from '../../src/service/api/openapi/openapi_document.ts';
import { errorResponse, TAGS } from '../../src/service/api/openapi/operation.ts';
import {
  codeOf,
  componentBlock,
  componentsOf,
  fieldItem,
  fieldList,
  sampleOf,
  typeOf,
  type Schema,
  type Schemas,
} from './api_schemas.ts';

interface Example {
  summary?: string;
  value: unknown;
}
interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Schema;
  examples?: Record<string, Example>;
}
interface Content {
  schema: Schema;
  examples?: Record<string, Example>;
}
interface Response {
  description: string;
  headers?: Record<string, { description: string; schema: Schema }>;
  content?: Record<string, Content>;
}
interface Operation {
  operationId: string;
  tags: [keyof typeof TAGS];
  summary: string;
  description?: string;
  security: Record<string, unknown>[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, Response>;
}
interface Description {
  info: { description: string };
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: {
    schemas: Schemas;
    securitySchemes: Record<string, { description?: string; in?: string; name?: string }>;
  };
}

const TITLES: Readonly<Record<keyof typeof TAGS, string>> = {
  probe: 'API: probes',
  policy: 'API: policies',
  batch: 'API: batches',
  source: 'API: sources',
  mcp: 'API: Model Context Protocol',
  log: 'API: the log',
  audit: 'API: the audit log',
  reports: 'API: reports to hand on',
  statistics: 'API: statistics',
  webhooks: 'API: webhooks',
  auth: 'API: sessions and tokens',
  users: 'API: users',
  cluster: 'API: the cluster',
  description: 'API: OpenAPI',
  health: 'API: health',
};

/** What else a reader of the group wants to know. */
const NOTES: Readonly<Partial<Record<keyof typeof TAGS, string>>> = {
  probe:
    'The playground of the [console](../console.md) composes these requests, and copies them as curl, JSON or a ' +
    'ProbeJob.',
};

/** Where they are, for a link of the overview. */
const fileOf = (tag: string): string => `${tag}.md`;

interface Described {
  /** Absent: a webhook, which is sent to an address of the caller. */
  path?: string;
  method: string;
  operation: Operation;
}

// Examples.

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const LONGEST_LINE = 76;

function jsonOf(value: unknown): string {
  const line = JSON.stringify(value);
  return line.length <= LONGEST_LINE ? line : JSON.stringify(value, null, 2);
}

/** Nested fields in brackets, lists by repetition. */
const pairsOf = (name: string, value: unknown): string[] => {
  if (Array.isArray(value)) return value.map((one) => `${name}=${String(one)}`);
  return typeof value === 'object' && value !== null
    ? Object.entries(value).map(([inner, one]) => `${name}[${inner}]=${String(one)}`)
    : [`${name}=${String(value)}`];
};

const variableOf = (name: string): string => `$${name.toUpperCase().replaceAll('-', '_')}`;

function curlOf(
  { path = '', method, operation }: Described,
  sent: { query?: string[]; type?: string; body?: string },
): string {
  const { query = [], type, body } = sent;
  const address = `"$PROBEYARD_URL${path.replaceAll(/\{([\w-]+)\}/g, (_, name: string) => variableOf(name))}"`;
  const usual = body === undefined ? 'get' : 'post';
  return [
    `curl -sS ${query.length > 0 ? '-G ' : ''}${method === usual ? '' : `-X ${method.toUpperCase()} `}${address}`,
    ...(operation.security.length === 0 ? [] : ['-H "Authorization: Bearer $PROBEYARD_TOKEN"']),
    ...(type === undefined ? [] : [`-H ${quoted(`Content-Type: ${type}`)}`]),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
    ...query.map((pair) => `--data-urlencode ${quoted(pair)}`),
  ].join(' \\\n  ');
}

/** By its name: what the description has, or a small one that is valid. */
function examplesOf(described: Described, schemas: Schemas): [summary: string, curl: string][] {
  const { parameters = [], requestBody } = described.operation;
  const [body] = Object.entries(requestBody?.content ?? {});
  if (body) {
    const [type, { schema, examples = { usual: { value: sampleOf(schema, schemas) } } }] = body;
    return Object.values(examples).map(({ summary = '', value }) => [
      summary,
      curlOf(described, { type, body: jsonOf(value) }),
    ]);
  }
  const inQuery = parameters.filter((one) => one.in === 'query');
  const names = [...new Set(inQuery.flatMap(({ examples = {} }) => Object.keys(examples)))];
  const named = names.map((name): [string, string] => {
    const used = inQuery.filter(({ examples = {} }) => name in examples);
    const query = used.flatMap((one) => pairsOf(one.name, one.examples![name]!.value));
    return [used[0]!.examples![name]!.summary ?? '', curlOf(described, { query })];
  });
  if (named.length > 0) return named;
  const required = inQuery.filter((one) => one.required);
  const query = required.flatMap(({ name, schema }) => pairsOf(name, sampleOf(schema, schemas, name)));
  return [['', curlOf(described, { query })]];
}

// An operation.

const FORMS: Readonly<Record<string, string>> = {
  'application/json': 'JSON',
  'application/x-www-form-urlencoded': 'form',
  'multipart/form-data': 'multipart form',
};
const formOf = (type: string): string => FORMS[type] ?? codeOf(type);

function credentialOf({ security }: Operation): string {
  const names = security.flatMap((scheme) => Object.keys(scheme));
  if (names.length === 0) return 'Needs no credential.';
  return `Credential: ${names.includes('jwt') ? 'an API token, or the JWT of a session' : 'an API token'}.`;
}

const parameterItem = ({ name, in: where, required, description, schema }: Parameter): string =>
  fieldItem(
    name,
    description === undefined ? schema : { ...schema, description },
    `${where === 'query' ? '' : `, in the ${where}`}${required ? ', required' : ''}`,
  );

function bodyText({ requestBody }: Operation): string[] {
  const all = Object.entries(requestBody?.content ?? {});
  const [first] = all;
  if (!first) return [];
  const [, { schema }] = first;
  // Forms have the same fields, and other types are texts with a description.
  const same = all.filter(([type]) => type in FORMS).map(([type]) => formOf(type));
  const others = all.filter(([type]) => !(type in FORMS));
  const list = schema.$ref === undefined ? fieldList(schema) : `- ${typeOf(schema)}`;
  return [
    `**Body**, as ${same.join(', ')}`,
    ...(list === '' ? [] : [list]),
    ...others.map(([type, other]) => `Or as ${codeOf(type)}: ${other.schema.description ?? typeOf(other.schema)}`),
  ];
}

/** Of every response: the overview says so once. */
const USUAL_HEADERS = new Set(['X-Request-Id', 'RateLimit-Policy', 'RateLimit', 'WWW-Authenticate', 'Retry-After']);

function responseItem(status: string, { description, headers = {}, content = {} }: Response): string {
  const bodies = Object.entries(content).map(([type, { schema }]) =>
    type === 'application/json'
      ? typeOf(schema)
      : `${codeOf(type)}${schema.$ref === undefined ? '' : ` ${typeOf(schema)}`}`,
  );
  const own = Object.entries(headers).filter(([name]) => !USUAL_HEADERS.has(name));
  const fields = Object.values(content).flatMap(({ schema }) => fieldList(schema, '  ') || []);
  return [
    `- **${status}** ${description}${bodies.length === 0 ? '' : ` Body: ${[...new Set(bodies)].join(', or ')}.`}`,
    ...own.map(([name, header]) => `  - Header \`${name}\`: ${header.description}`),
    ...fields,
  ].join('\n');
}

function responsesText({ path, operation }: Described): string[] {
  const all = Object.entries(operation.responses);
  const isUsual = ([status, { description }]: [string, Response]): boolean =>
    path !== undefined && Number(status) >= 400 && description === errorResponse(path, Number(status)).description;
  const usual = all.filter(isUsual).map(([status]) => status);
  return [
    '**Responses**',
    [
      ...all.filter((one) => !isUsual(one)).map(([status, response]) => responseItem(status, response)),
      ...(usual.length === 0 ? [] : [`- ${usual.join(', ')}: [errors of every endpoint](README.md#errors)`]),
    ].join('\n'),
  ];
}

/** Two of a page may do the same by different methods, or at different paths. */
function headingOf({ path = '', method, operation }: Described, page: readonly Described[]): string {
  const summary = operation.summary.replace(/\.$/, '');
  const same = page.filter((one) => one.operation.summary === operation.summary);
  if (same.length === 1) return summary;
  const byMethod = same.filter((one) => one.method === method).length === 1;
  return `${summary} (${byMethod ? method.toUpperCase() : path})`;
}

function operationText(described: Described, page: readonly Described[], schemas: Schemas): string[] {
  const { path, method, operation } = described;
  const { operationId, description, parameters = [] } = operation;
  const examples = path === undefined ? [] : examplesOf(described, schemas);
  return [
    `<a id="${operationId}"></a>`,
    `## ${headingOf(described, page)}`,
    path === undefined ? 'Sent by `POST` to the address of the request.' : codeOf(`${method.toUpperCase()} ${path}`),
    ...(description === undefined ? [] : [description]),
    ...(path === undefined ? [] : [credentialOf(operation)]),
    ...examples.flatMap(([summary, curl]) => [...(summary === '' ? [] : [`${summary}:`]), `\`\`\`sh\n${curl}\n\`\`\``]),
    ...(parameters.length === 0 ? [] : ['**Parameters**', parameters.map(parameterItem).join('\n')]),
    ...bodyText(operation),
    ...responsesText(described),
  ];
}

// The pages.

function groupPage(tag: keyof typeof TAGS, page: readonly Described[], schemas: Schemas): string {
  const used = componentsOf(
    page.map(({ operation }) => operation),
    schemas,
  );
  return [
    `# ${TITLES[tag]}`,
    [TAGS[tag].text, NOTES[tag] ?? []].flat().join(' '),
    ...page.flatMap((one) => operationText(one, page, schemas)),
    ...(used.length === 0 ? [] : ['## Schemas', ...used.map((name) => componentBlock(name, schemas[name]!))]),
  ]
    .join('\n\n')
    .replaceAll(/\n{3,}/g, '\n\n');
}

const ERRORS = [400, 401, 403, 404, 409, 429, 500, 503];

function overviewPage(document: Description, groups: ReadonlyMap<keyof typeof TAGS, readonly Described[]>): string {
  const { info, components } = document;
  const group = (tag: keyof typeof TAGS): string[] => [
    `## [${TITLES[tag].replace('API: ', '').replace(/^./, (letter) => letter.toUpperCase())}](${fileOf(tag)})`,
    TAGS[tag].text,
    groups
      .get(tag)!
      .map((one) => {
        const link = `[${headingOf(one, groups.get(tag)!)}](${fileOf(tag)}#${one.operation.operationId})`;
        return `- ${link}${one.path === undefined ? '' : ` ${codeOf(`${one.method.toUpperCase()} ${one.path}`)}`}`;
      })
      .join('\n'),
  ];
  const schemes = Object.entries(components.securitySchemes).map(([name, { description, ...scheme }]) => {
    const how =
      scheme.in === undefined ? 'the header `Authorization: Bearer …`' : `the ${scheme.in} \`${scheme.name}\``;
    return `- \`${name}\`, in ${how}${description === undefined ? '' : `: ${description}`}`;
  });
  return [
    '# API reference',
    'Every endpoint with its fields, answers and examples. It is made from the schemas that validate requests, as is ' +
      'OpenAPI 3.1 at `/openapi.json`. [The API by example](../api.md) shows each feature in use.',
    info.description,
    'The examples use `$PROBEYARD_URL`, the address of the installation, and `$PROBEYARD_TOKEN`, an API token. Other ' +
      'names in capitals, as `$ID`, are yours to replace. _Try_ beside an example sends it from this page.',
    ...[...groups.keys()].flatMap(group),
    '## Credentials',
    schemes.join('\n'),
    '## Errors',
    'The body is JSON with `error`, a message. Under `/frontend/api/v1/` it also has a number, the status, and the ' +
      'name of the field that is not valid.',
    ERRORS.map((status) => `- **${status}** ${errorResponse('/v1/', status).description}`).join('\n'),
    '[Errors and retries](../guides/errors.md) says which of them to send again.',
    '## Headers of every response',
    [
      '- `X-Request-Id`: the id of this request; for a probe, the id to read its result with.',
      '- `RateLimit-Policy`, `RateLimit`: the rate limit and the remaining calls, as in the IETF draft.',
      '- `Retry-After`, with 429 and 503: seconds to wait before a retry.',
    ].join('\n'),
  ].join('\n\n');
}

/** By their names below docs/reference. */
export function apiPages(): [name: string, text: string][] {
  const document = openapiDocument(OPERATIONS) as Description;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Described => ({ path, method, operation })),
  );
  const events = Object.values(document.webhooks).map(({ post }): Described => ({ method: 'post', operation: post }));
  const byTag = Map.groupBy([...operations, ...events], ({ operation }) => operation.tags[0]);
  const tags = (Object.keys(TAGS) as (keyof typeof TAGS)[]).filter((tag) => byTag.has(tag));
  const groups = new Map(tags.map((tag) => [tag, byTag.get(tag)!]));
  const { schemas } = document.components;
  return [
    ['README.md', overviewPage(document, groups)],
    ...[...groups].map(([tag, page]): [string, string] => [fileOf(tag), groupPage(tag, page, schemas)]),
  ];
}
