/**
 * Management answers have no null: a field without a value is left out, of what is sent and of its description. Items
 * of lists stay, since their place says what they are.
 */
import type { TSchema } from 'typebox';

type Members = Record<string, unknown>;

const isPlain = (value: unknown): value is Members => {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** Streams and texts are as they are. */
export function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => (member === null ? [] : [[name, withoutNull(member)]])),
  );
}

/** The subset of JSON Schema in descriptions of answers. */
interface Schema extends Members {
  type?: string | string[];
  enum?: unknown[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
}

const isNull = ({ type }: Schema): boolean => type === 'null';
const mayBeNull = ({ type, anyOf }: Schema): boolean =>
  [type].flat().includes('null') || anyOf?.some(isNull) === true;

/** As a member of an object: without null. */
function asMember(schema: Schema): Schema {
  if (!mayBeNull(schema)) return schema;
  const { type, enum: values, anyOf, ...rest } = schema;
  const types = [type].flat().filter((one) => one !== undefined && one !== 'null');
  return {
    ...(anyOf ? oneOf(anyOf.filter((one) => !isNull(one))) : {}),
    ...rest,
    ...(types.length === 0 ? {} : { type: types.length === 1 ? types[0]! : (types as string[]) }),
    ...(values ? { enum: values.filter((one) => one !== null) } : {}),
  };
}

/** One with a title stays itself, so that it is still referred to. */
const oneOf = (schemas: Schema[]): Schema =>
  schemas.length === 1 && schemas[0]!['title'] === undefined ? schemas[0]! : { anyOf: schemas };

/** Of an answer: what may be null is optional. One without null stays the same text wherever it is referred to. */
function schemaOf(schema: Schema): Schema {
  if (!JSON.stringify(schema).includes('"null"')) return schema;
  const { properties, required, items, patternProperties, additionalProperties, anyOf, ...rest } = schema;
  const needed = required?.filter((name) => !mayBeNull(properties?.[name] ?? {}));
  return {
    ...rest,
    ...(needed && needed.length > 0 ? { required: needed } : {}),
    ...(properties ? { properties: eachMember(properties) } : {}),
    ...(patternProperties ? { patternProperties: eachMember(patternProperties) } : {}),
    ...(items ? { items: schemaOf(items) } : {}),
    ...(anyOf ? { anyOf: anyOf.map(schemaOf) } : {}),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: schemaOf(asMember(additionalProperties)) }
      : additionalProperties === undefined
        ? {}
        : { additionalProperties }),
  };
}

const eachMember = (members: Record<string, Schema>): Record<string, Schema> =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, schemaOf(asMember(member))]));

export const schemaWithoutNull = (schema: TSchema): TSchema => schemaOf(schema as Schema) as TSchema;
