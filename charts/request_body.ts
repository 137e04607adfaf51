/** The bodies of `POST /v1/batch` and `/v1/source` as a CustomResourceDefinition can say them, from their schemas. */
import { BatchSchema, ItemSchema } from '../src/service/api/batch/batch_fields.ts';
import { SourceSchema } from '../src/service/api/source/source_fields.ts';
import { LOWERED_TO } from '../src/service/api/http/input/read_fields.ts';

interface Field {
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  pattern?: string;
  required?: string[];
  properties?: Record<string, Field>;
  items?: Field;
  [keyword: string]: unknown;
}

/** Value checks that mean the same to the API server. What it cannot say, the API checks when it reads the request. */
const KEPT = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'not'];

/** As Go's regular expressions have it, which know neither lone surrogates nor assertions, and repeat 1,000 times. */
function patternOf(pattern: string | undefined): { pattern?: string } {
  if (pattern === undefined || pattern.includes('(?!') || pattern.includes('}){')) return {};
  return { pattern: pattern.replaceAll('\\ud800-\\udfff', '').replaceAll(/\\u00([0-9a-f]{2})/g, '\\x$1') };
}

function described({ description = '', default: fallback, [LOWERED_TO]: lowered }: Field): { description?: string } {
  const said = [
    description,
    ...(lowered === undefined ? [] : [`Larger values are lowered to ${String(lowered)}.`]),
    ...(fallback === undefined || fallback === null || typeof fallback === 'object'
      ? []
      : [`Default: ${JSON.stringify(fallback)}.`]),
  ];
  const text = said.filter((one) => one !== '').join(' ');
  // The API server drops an empty one, and a GitOps engine would see a difference.
  return text === '' ? {} : { description: text };
}

/** Of a text that is bounded otherwise: the API server has to know what its checks may cost. */
const MOST = 8_192;

/** Without defaults, which the API adds: an object shows what was written. */
function fieldOf(field: Field): object {
  const { type, properties, items, enum: values, required = [] } = field;
  const [only] = [type].flat().filter((name) => name !== 'null');
  const needed = required.filter((name) => !('default' in (properties?.[name] ?? {})));
  return {
    type: only,
    ...described(field),
    ...Object.fromEntries(KEPT.filter((name) => name in field).map((name) => [name, field[name]])),
    ...patternOf(field.pattern),
    // Null is another value than the default.
    ...([type].flat().includes('null') && (field.default ?? null) !== null ? { nullable: true } : {}),
    ...(only === 'string' && !values && field['maxLength'] === undefined ? { maxLength: MOST } : {}),
    ...(values ? { enum: values.filter((value) => value !== null) } : {}),
    ...(needed.length > 0 ? { required: needed } : {}),
    ...(properties ? { properties: fieldsOf(properties) } : {}),
    ...(items ? { items: fieldOf(items), 'x-kubernetes-list-type': 'atomic' } : {}),
  };
}

const fieldsOf = (fields: Record<string, Field>): Record<string, object> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, fieldOf(field)]));

/** Whoever may read the object reads its addresses: as in a ProbeJob they have no user info, query or fragment. */
const open = (field: Field): Field => ({
  ...field,
  pattern: '^[A-Za-z0-9+.-]+://[^/?#@]*(/[^?#]*)?$',
  description: `${field.description ?? ''} Here without user info, query and fragment.`,
});

type Fields = Record<string, Field>;

/** What both bodies have. */
function opened({ bucket, webhook_url: webhook, ...fields }: Fields): Fields {
  const properties = { ...bucket!.properties, url: open(bucket!.properties!['url']!) };
  return { ...fields, bucket: { ...bucket, properties }, webhook_url: open(webhook!) };
}

export function batchBody(): object {
  const { items, items_url: list, ...fields } = BatchSchema.properties as unknown as Fields;
  const { url, ...ofItem } = ItemSchema.properties as unknown as Fields;
  const item: Field = { type: 'object', required: ['url'], properties: { url: open(url!), ...ofItem } };
  const { bucket, webhook_url: webhook, ...rest } = opened(fields);
  return fieldOf({
    type: 'object',
    description: 'The body of POST /v1/batch: the template, the sources and the bounds of the batch.',
    properties: {
      ...rest,
      items: { ...items, type: 'array', items: item, description: `${items!.description ?? ''} As objects here.` },
      items_url: open(list!),
      bucket: bucket!,
      webhook_url: webhook!,
    },
  });
}

export const sourceBody = (): object =>
  fieldOf({
    type: 'object',
    description: 'The body of POST /v1/source: the bucket, when it is looked at, and how its objects are probed.',
    required: ['bucket'],
    properties: opened(SourceSchema.properties as unknown as Fields),
  });
