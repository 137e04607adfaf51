/** Schemas of the OpenAPI document as lists of fields, and the least value that each takes. */

export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  description?: string;
  default?: unknown;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  required?: string[];
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

export type Schemas = Readonly<Record<string, Schema>>;

export const codeOf = (value: unknown): string => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
const nameOfRef = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);
const anchorOfSchema = (name: string): string => `schema-${name}`;
const linkTo = (ref: string): string => `[${codeOf(nameOfRef(ref))}](#${anchorOfSchema(nameOfRef(ref))})`;

const choices = ({ anyOf, oneOf, allOf }: Schema): Schema[] | undefined => anyOf ?? oneOf ?? allOf;
const isMap = (schema: Schema): boolean => schema.properties === undefined && valueOfMap(schema) !== undefined;

function valueOfMap({ patternProperties, additionalProperties }: Schema): Schema | undefined {
  const [first] = Object.values(patternProperties ?? {});
  return first ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
}

const MOST_BY_OR = 3;
const oneOf = (names: readonly string[]): string =>
  names.length > MOST_BY_OR ? `one of ${names.join(', ')}` : names.join(' or ');

export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return linkTo(schema.$ref);
  if (schema.const !== undefined) return codeOf(schema.const);
  if (schema.enum) return oneOf(schema.enum.map(codeOf));
  const parts = choices(schema);
  if (parts) return oneOf([...new Set(parts.map(typeOf))]);
  const value = valueOfMap(schema);
  if (isMap(schema) && value) return `object, whose values are ${typeOf(value)}`;
  const names = [schema.type ?? []].flat().map((name) => {
    if (name === 'array') return schema.items ? `list of ${typeOf(schema.items)}` : 'list';
    return name === 'string' && schema.format !== undefined ? `string (${schema.format})` : name;
  });
  return names.length === 0 ? 'any value' : names.join(' or ');
}

/** Names of the components that are needed to read it, its own first. */
function* refsOf(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const one of value) yield* refsOf(one);
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value))
      if (name === '$ref' && typeof member === 'string') yield nameOfRef(member);
      else yield* refsOf(member);
}

/** Those of `value`, and those that they refer to. */
export function componentsOf(value: unknown, schemas: Schemas): string[] {
  const found = new Set<string>();
  const add = (part: unknown): void => {
    for (const name of refsOf(part))
      if (!found.has(name)) {
        found.add(name);
        add(schemas[name]);
      }
  };
  add(value);
  return [...found].toSorted();
}

/** Bounds of the number itself, and not of what it counts. */
const LARGE = 2 ** 31 - 1;

function boundsOf({ minimum, maximum, maxLength, minItems, maxItems }: Schema): string[] {
  return [
    ...(minimum === undefined || minimum === 0 ? [] : [`at least ${minimum}`]),
    ...(maximum === undefined || maximum >= LARGE ? [] : [`at most ${maximum}`]),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
    ...(minItems === undefined ? [] : [`at least ${minItems} items`]),
    ...(maxItems === undefined ? [] : [`at most ${maxItems} items`]),
  ];
}

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`;
const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value).length === 0);

/** What is said of a field: its meaning, bounds, default and an example. */
function notesOf(schema: Schema): string {
  const bounds = boundsOf(schema);
  return [
    ...(schema.description === undefined ? [] : [schema.description]),
    ...(bounds.length === 0 ? [] : [sentence(bounds.join(', '))]),
    ...(schema.default === undefined || isEmpty(schema.default) ? [] : [`Default: ${codeOf(schema.default)}.`]),
    ...(schema.examples === undefined || schema.examples.length === 0
      ? []
      : [`Example: ${codeOf(schema.examples[0])}.`]),
  ].join(' ');
}

/** The first part of it that has named fields and no name of its own. */
function objectIn(schema: Schema): Schema | undefined {
  if (schema.$ref !== undefined) return undefined;
  if (schema.properties) return schema;
  const value = valueOfMap(schema);
  const inner = [...(schema.items ? [schema.items] : []), ...(choices(schema) ?? []), ...(value ? [value] : [])];
  for (const one of inner) {
    const found = objectIn(one);
    if (found) return found;
  }
  return undefined;
}

const counted = (fields: Schema): string => {
  const count = Object.keys(fields.properties ?? {}).length;
  return count === 1 ? '1 field' : `${count} fields`;
};

/** An item of a list: a field with what is below it, which is closed at first. */
export function fieldItem(name: string, schema: Schema, note: string, indent = ''): string {
  const below = objectIn(schema);
  const [first = '', ...others] = notesOf(schema).split('\n');
  const text = [`${indent}- \`${name}\` ${typeOf(schema)}${note}${first === '' ? '' : `: ${first}`}`];
  for (const line of others) text.push(line === '' ? '' : `${indent}  ${line}`);
  if (below && Object.keys(below.properties ?? {}).length > 0)
    text.push(
      '',
      `${indent}  <details><summary>${counted(below)}</summary>`,
      '',
      fieldList(below, `${indent}  `),
      '',
      `${indent}  </details>`,
      '',
    );
  return text.join('\n');
}

export const fieldList = ({ properties = {}, required = [] }: Schema, indent = ''): string =>
  Object.entries(properties)
    .map(([name, field]) => fieldItem(name, field, required.includes(name) ? ', required' : '', indent))
    .join('\n');

/** A component, closed until it is asked for. */
export function componentBlock(name: string, schema: Schema): string {
  const list = fieldList(objectIn(schema) ?? schema);
  const body = [
    ...(schema.description === undefined ? [] : [schema.description]),
    ...(list === '' ? [`Type: ${typeOf(schema)}.`] : [list]),
  ];
  return [`<details id="${anchorOfSchema(name)}"><summary><code>${name}</code></summary>`, ...body, '</details>'].join(
    '\n\n',
  );
}

const MOST_OPTIONAL = 2;

/** Values of fields that have no example of their own, by name and by format. */
const VALUES: Readonly<Record<string, unknown>> = {
  email: 'ann@example.org',
  'first-name': 'Ann',
  'last-name': 'Smith',
  name: 'delivery',
  'new-password': 'a longer one',
  password: 'a long password',
  request_ids: ['01980000-0000-7000-8000-000000000001'],
  status: 'suspended',
};
const VALUES_OF_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-11-01T00:00:00Z',
  uuid: '01980000-0000-7000-8000-000000000001',
};

/** A small value that is valid: what is required, or else the first optional fields. */
export function sampleOf(schema: Schema, schemas: Schemas, name = ''): unknown {
  if (schema.$ref !== undefined) return sampleOf(schemas[nameOfRef(schema.$ref)]!, schemas, name);
  if (schema.const !== undefined) return schema.const;
  if (schema.examples && schema.examples.length > 0) return schema.examples[0];
  if (name in VALUES) return VALUES[name];
  if (schema.enum) return schema.enum.find((one) => one !== null);
  const [part] = choices(schema) ?? [];
  if (part) return sampleOf(part, schemas, name);
  const type = [schema.type ?? []].flat().find((one) => one !== 'null');
  if (type === 'object') {
    const { properties = {}, required = [] } = schema;
    const names = required.length > 0 ? required : Object.keys(properties).slice(0, MOST_OPTIONAL);
    return Object.fromEntries(names.map((one) => [one, sampleOf(properties[one]!, schemas, one)]));
  }
  if (type === 'array') return schema.items ? [sampleOf(schema.items, schemas)] : [];
  if (type === 'boolean') return schema.default !== true;
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
  return VALUES_OF_FORMAT[schema.format ?? ''] ?? '…';
}
