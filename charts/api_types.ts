/**
 * Types for the calls of the console and of the command line, generated from the schemas that validate them: a shape
 * has one name, and that is its title in OpenAPI.
 */
import { ComparisonAnswerSchema, StandingSchema } from '../src/service/api/probe/answer_schemas.ts';
import { ENDPOINTS } from '../src/service/api/endpoints.ts';
import type { Endpoint, EndpointName } from '../src/service/api/http/endpoint.ts';
import { probeReport } from '../src/media/tools/probe_report.ts';
import { ENDPOINT_ROWS, SECTIONS, sectionOf } from '../src/media/tools/table.ts';
import { HlsReportSchema } from '../src/media/hls/schema.ts';
import { CONTAINER_FIELDS, STREAM_FIELDS } from '../src/media/policy/fields.ts';
import { PolicyResultSchema } from '../src/media/policy/schema.ts';
import { ProbeReportSchema } from '../src/media/report/schema.ts';
import { C2paReportSchema } from '../src/media/tools/c2pa_schema.ts';

/** Only these calls, so that changes to the schemas of others need no new file here. */
const CALLS: readonly EndpointName[] = [
  'POST auth/sign-up',
  'POST auth/verify',
  'POST auth/sign-in',
  'POST auth/sign-in/link',
  'GET auth/sso',
  'POST auth/sso/:name/device',
  'POST auth/sso/:name/token',
  'POST auth/reset',
  'POST auth/reset/confirm',
  'DELETE auth/sign-out',
  'POST auth/jwt',
  'GET auth/session',
  'DELETE auth/session',
  'DELETE auth/session/:id',
  'PUT auth/current/password',
  'PUT auth/:id/password',
  'GET auth/api-token',
  'POST auth/api-token',
  'GET auth/api-token/:id',
  'PUT auth/api-token/:id',
  'DELETE auth/api-token/:id',
  'GET user',
  'GET user/current',
  'PUT user/current',
  'POST user/current',
  'GET user/:id',
  'PUT user/:id/status',
  'GET user/:id/limits',
  'PUT user/:id/limits',
  'GET user/:id/labels',
  'PUT user/:id/labels',
  'GET cluster',
  'GET audit',
  'GET audit/export',
  'GET /v1/versions',
  'GET /v1/samples',
  'POST /v1/probe/file',
  'POST /v1/probe/mediastreamvalidator',
  'POST /v1/probe/c2pa',
  'POST /v1/probe/qc',
  'GET /v1/probe/:id',
  'POST /v1/probe/:id/cancel',
  'GET /v1/probe/:id/policy',
  'GET /v1/probe/:id/timeline',
  'GET /v1/probe/:id/pictures',
  'POST /v1/batch',
  'GET /v1/batch',
  'GET /v1/batch/:id',
  'GET /v1/batch/:id/items',
  'GET /v1/batch/:id/results',
  'GET /v1/batch/:id/diff',
  'POST /v1/batch/:id/pause',
  'POST /v1/batch/:id/resume',
  'POST /v1/batch/:id/cancel',
  'POST /v1/source',
  'GET /v1/source',
  'GET /v1/source/:id',
  'DELETE /v1/source/:id',
  'POST /v1/source/:id/pause',
  'POST /v1/source/:id/resume',
  'POST /v1/source/:id/list',
  'POST /v1/source/:id/key',
  'POST /v1/compare',
  'POST /v1/compare/report',
  'GET /v1/policy',
  'GET /v1/policy/:name',
  'GET /v1/policy/shared/:name',
  'PUT /v1/policy/:name',
  'DELETE /v1/policy/:name',
  'POST /v1/policy/:name/evaluate',
  'GET /v1/waivers',
  'POST /v1/waivers',
  'DELETE /v1/waivers/:id',
  'GET media/log',
  'GET media/log/:id',
  'DELETE media/log/:id',
  'GET media/log/:id/report',
  'POST media/log/:id/link',
  'GET media/link',
  'DELETE media/link/:id',
  'GET media/webhook',
  'POST media/webhook/:id/retry',
  'GET statistics/chargeback',
  'GET statistics/usage',
  'GET statistics/queue',
  'GET statistics/requests',
  'GET statistics/sources',
];

/** Outputs of tools that calls return as text, and what a call answers with another status. */
const OUTPUTS: readonly object[] = [
  ProbeReportSchema,
  HlsReportSchema,
  C2paReportSchema,
  PolicyResultSchema,
  ComparisonAnswerSchema,
  StandingSchema,
];

interface Schema {
  title?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  patternProperties?: Record<string, Schema>;
  default?: unknown;
}

/** `sent` by a caller, who may omit fields with a default. `got` in a response. */
type Direction = 'sent' | 'got';

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
const literal = (value: unknown): string => (typeof value === 'string' ? quoted(value) : JSON.stringify(value));
const enumKey = (values: readonly unknown[]): string =>
  values
    .filter((value) => value !== null)
    .map(literal)
    .join(' | ');
const keyOf = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : quoted(name));

/** Indents the lines of a member by two columns. */
const inner = (text: string): string => text.replaceAll('\n', '\n  ');
const WIDTH = 80;
const union = (parts: readonly string[]): string => {
  const line = parts.join(' | ');
  return line.length > WIDTH && !line.includes('\n') ? parts.map((part) => `\n  | ${part}`).join('') : line;
};

/** `enums`: names of enumerations by their values, for those that are repeated without a title, as in queries. */
function makeTypes(enums: ReadonlyMap<string, string>) {
  const named = new Map<string, string>();

  function objectType(schema: Schema, direction: Direction): string {
    const { properties, required = [], additionalProperties, patternProperties = {} } = schema;
    if (!properties) {
      const member =
        typeof additionalProperties === 'object' ? additionalProperties : Object.values(patternProperties)[0];
      const value = member ? typeOf(member, direction) : 'unknown';
      return `Record<string, ${value}>`;
    }
    const members = Object.entries(properties).map(([name, member]) => {
      const optional = !required.includes(name) || (direction === 'sent' && member.default !== undefined);
      return `  ${keyOf(name)}${optional ? '?' : ''}: ${inner(typeOf(member, direction))};\n`;
    });
    return members.length === 0 ? 'object' : `{\n${members.join('')}}`;
  }

  function ofType(type: string | undefined, schema: Schema, direction: Direction): string {
    switch (type) {
      case 'string':
      case 'boolean':
      case 'null':
        return type;
      case 'integer':
      case 'number':
        return 'number';
      case 'array':
        return `Array<${schema.items ? typeOf(schema.items, direction) : 'unknown'}>`;
      case 'object':
        return objectType(schema, direction);
      default:
        return 'unknown';
    }
  }

  function inline(schema: Schema, direction: Direction): string {
    const { title, anyOf, enum: values, type } = schema;
    if (schema.const !== undefined) return literal(schema.const);
    if (anyOf) return union(anyOf.map((one) => typeOf(one, direction)));
    if (values) {
      const name = title === undefined ? enums.get(enumKey(values)) : undefined;
      return name === undefined ? union(values.map(literal)) : values.includes(null) ? `${name} | null` : name;
    }
    return union([type].flat().map((one) => ofType(one, schema, direction)));
  }

  /** A title names what is in answers. What is sent may omit more: it has that name only if it omits the same. */
  function typeOf(schema: Schema, direction: Direction): string {
    const { title } = schema;
    if (title === undefined) return inline(schema, direction);
    const text = inline(schema, direction);
    if (direction === 'sent' && text !== inline(schema, 'got')) return text;
    named.set(title, text);
    return title;
  }

  return { named, typeOf };
}

/** Fields that rules of policies name, for completion. */
const policyFields = (): string[] => [
  ...new Set([
    ...Object.keys(CONTAINER_FIELDS).map((name) => `container.${name}`),
    ...Object.values(STREAM_FIELDS).flatMap((fields) => Object.keys(fields)),
  ]),
];

interface Made {
  named: Map<string, string>;
  calls: string[];
}

function makeCalls(enums: ReadonlyMap<string, string>): Made {
  const { named, typeOf } = makeTypes(enums);
  const byName = new Map<string, Endpoint>(ENDPOINTS.map((one) => [one.name, one]));
  const calls = CALLS.map((name) => {
    const { query, body, responses } = byName.get(name)!.operation;
    const answer = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].schema;
    const members = [
      ...(query ? [`query: ${typeOf(query as Schema, 'sent')}`] : []),
      ...(body ? [`body: ${typeOf(body.schema as Schema, 'sent')}`] : []),
      `answer: ${answer ? typeOf(answer as Schema, 'got') : 'undefined'}`,
    ];
    return `  ${quoted(name)}: {\n${members.map((member) => `    ${inner(inner(member))};\n`).join('')}  };`;
  });
  for (const schema of OUTPUTS) typeOf(schema, 'got');
  return { named, calls };
}

/** Values of an enumeration that is written out. */
const valuesIn = (type: string): string[] | null => {
  const values = type.split('|').map((value) => value.trim());
  const some = values[0] === '' ? values.slice(1) : values;
  return some.every((value) => /^'[\w:-]+'$/.test(value)) ? some : null;
};

const array = (values: readonly string[]): string => `[\n${values.map((value) => `  ${quoted(value)},\n`).join('')}]`;
const list = (name: string, values: readonly string[]): string =>
  `export const ${name}: readonly string[] = ${array(values)};\n`;

/** Enumerations that the console offers as choices, by the titles of their schemas. */
const CHOICES = {
  KINDS: 'Kind',
  LOG_STATES: 'LogState',
  TOOL_STATES: 'ToolState',
  POLICY_STATES: 'PolicyState',
} as const;

const singles = (): string =>
  '/** The section of a tool that is a kind of request of its own. */\n' +
  `export const SECTION_OF_KIND: Readonly<Record<string, string>> = {\n${ENDPOINT_ROWS.map(
    (row) => `  ${row.name}: ${quoted(sectionOf(row))},\n`,
  ).join('')}};\n`;

export function apiTypes(): string {
  const enums = [...makeCalls(new Map()).named].flatMap(([name, type]) => {
    const values = valuesIn(type);
    return values ? [[values.join(' | '), name] as const] : [];
  });
  const { named, calls } = makeCalls(new Map(enums));
  const types = [...named].map(([name, type]) =>
    type.startsWith('{') ? `export interface ${name} ${type}\n` : `export type ${name} = ${type};\n`,
  );
  const choices = Object.entries(CHOICES).map(([name, title]) => {
    const values = valuesIn(named.get(title) ?? '');
    if (!values) throw new Error(`no schema of the console's calls is the enumeration ${title}`);
    return `export const ${name} = [\n  ${values.join(',\n  ')},\n] as const satisfies readonly ${title}[];\n`;
  });
  return [
    '/** Made from the schemas of the API by `make generate`: change them there. */\n',
    ...types,
    `export interface Calls {\n${calls.join('\n')}\n}\n`,
    ...choices,
    '/** The members of a file request, and of its answer, that are tools. */\n' +
      `export const SECTIONS = ${array(SECTIONS)} as const satisfies readonly (keyof Envelope)[];\n`,
    '/** Tools that a report is made from. */\n' + list('REPORT_READERS', probeReport.from),
    singles(),
    '/** What rules of policies name. */\n' + list('POLICY_FIELDS', policyFields()),
  ].join('\n');
}
