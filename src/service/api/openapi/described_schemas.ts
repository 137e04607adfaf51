/** Schemas with a title are placed once, under components, and referred to wherever they are used. */
import { DESCRIBED_AS, LOWERED_TO } from '../http/input/read_fields.ts';

export class DescriptionError extends Error {
  readonly code = 'description-invalid';
}

/** Keywords that contain values, not schemas. */
const VALUES = new Set(['default', 'examples', 'enum', 'const']);

export interface Components {
  schemas: Record<string, unknown>;
  place(schema: unknown): unknown;
}

export function makeComponents(): Components {
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

export interface Schema {
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

export function requestSchema(schema: Schema): Schema {
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
export function writtenSchema(schema: Schema): Schema {
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
