/** docs/operating/custom-resources.md: every field of the custom resources, from their definitions. */
import { customResourceDefinition, DEFINITIONS } from '../../charts/crds.ts';
import { API_VERSION, type Definition } from '../../src/platform/kube/resource.ts';

interface Schema {
  type?: string;
  format?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
}

const code = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const fence = text.includes('`') ? '``' : '`';
  return `${fence}${text.replaceAll('|', '\\|')}${fence}`;
};

function typeOf(schema: Schema): string {
  const { type, items, additionalProperties: values, enum: accepted } = schema;
  if (schema['x-kubernetes-int-or-string']) return 'integer or string';
  if (accepted) return accepted.map(code).join(', ');
  if (type === 'array') return `list of ${items?.properties ? 'objects' : typeOf(items ?? {})}`;
  if (type === 'object' && typeof values === 'object')
    return `map of ${values.properties ? 'objects' : typeOf(values)}`;
  return type ?? 'any';
}

/** "1 to 5", "at least 1". */
function between(least: number | undefined, most: number | undefined, of = ''): string[] {
  if (least !== undefined && most !== undefined) return [`${least} to ${most}${of}`];
  if (least !== undefined) return [`at least ${least}${of}`];
  return most === undefined ? [] : [`at most ${most}${of}`];
}

const limitsOf = (schema: Schema): string =>
  [
    ...between(schema.minimum, schema.maximum),
    ...between(schema.minLength, schema.maxLength, ' characters'),
    ...between(schema.minItems, schema.maxItems, ' items'),
    ...(schema.pattern === undefined ? [] : [code(schema.pattern)]),
    ...(schema.default === undefined ? [] : [`default ${code(schema.default)}`]),
  ].join('; ');

interface Field {
  path: string;
  schema: Schema;
  required: boolean;
}

function* fieldsOf(schema: Schema, path: string): Generator<Field> {
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const own = path === '' ? name : `${path}.${name}`;
    yield { path: own, schema: member, required: schema.required?.includes(name) ?? false };
    yield* fieldsOf(member, own);
    if (member.items) yield* fieldsOf(member.items, `${own}[]`);
    if (typeof member.additionalProperties === 'object') yield* fieldsOf(member.additionalProperties, `${own}.*`);
  }
}

const row = ({ path, schema, required }: Field): string => {
  const meaning = schema.description?.replaceAll('\n', ' ').replaceAll('|', '\\|') ?? '';
  return `| \`${path}\`${required ? ' (required)' : ''} | ${typeOf(schema)} | ${meaning} | ${limitsOf(schema)} |`;
};

interface Made {
  spec: { versions: { schema: { openAPIV3Schema: { description: string; properties: Record<string, Schema> } } }[] };
}

function sectionOf(definition: Definition): string[] {
  const made = customResourceDefinition(definition) as unknown as Made;
  const { description, properties } = made.spec.versions[0]!.schema.openAPIV3Schema;
  const tables = (['spec', 'status'] as const).flatMap((part) => {
    const rows = [...fieldsOf(properties[part] ?? {}, part)].map(row);
    return rows.length === 0 ? [] : ['| field | type | meaning | limits |', '|---|---|---|---|', ...rows, ''];
  });
  return [`## ${definition.kind}`, '', `${description} \`kubectl get ${definition.short}\` lists them.`, '', ...tables];
}

export const customResourcesPage = (): string =>
  [
    '# Custom resources',
    '',
    `Each field of the kinds of ${code(API_VERSION)}, as the API server validates it.`,
    '`kubectl explain` shows the same.',
    '',
    ...DEFINITIONS.flatMap(sectionOf),
  ].join('\n');
