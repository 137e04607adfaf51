/**
 * Management answers have no null: a field without a value is left out, of what is sent and of its description. Items
 * of lists stay, since their place says what they are.
 */
import type { TSchema } from 'typebox';

/** For JSON.stringify. */
export const withoutNull = (_name: string, value: unknown): unknown => (value === null ? undefined : value);

type Members = Record<string, unknown>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** As an item of `type`, `enum` and `anyOf`. */
const isNull = (item: unknown): boolean =>
  item === null || item === 'null' || (isMembers(item) && item['type'] === 'null');
const mayBeNull = (schema: unknown): boolean =>
  isMembers(schema) && [schema['type'], schema['anyOf']].flat().some(isNull);
const each = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).map(([name, member]) => [name, withoutNullIn(member)]));

/** What may be null is optional. A description without null stays the same text wherever it is referred to. */
function withoutNullIn(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.filter((item) => !isNull(item)).map(withoutNullIn);
  if (!isMembers(schema) || !JSON.stringify(schema).includes('"null"')) return schema;
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
    ...(isMembers(properties) ? { properties: each(properties) } : {}),
  };
}

export const schemaWithoutNull = (schema: TSchema): TSchema => withoutNullIn(schema) as TSchema;
