/** Building blocks of schemas. A schema is the validator, the type and the documentation of a field. */
import Type, { type Static, type TSchema, type TSchemaOptions } from 'typebox';
import { LOWERED_TO } from './input/read_fields.ts';

/** An object with these members and no others. */
export const closed = <T extends Record<string, TSchema>>(properties: T, more: TSchemaOptions = {}) =>
  Type.Object(properties, { ...more, additionalProperties: false });

/** The same under a title: the description has it once, and refers to it wherever it is used. */
export const component = <T extends Record<string, TSchema>>(title: string, properties: T, more: TSchemaOptions = {}) =>
  closed(properties, { title, ...more });

export const oneOf = <const T extends string>(values: readonly T[], more: TSchemaOptions = {}) =>
  Type.Unsafe<T>({ ...more, type: 'string', enum: [...values] });

/** What the schema says, or null. Of a schema with a type: not of one with a title, which is referred to. */
export const orNull = <T extends TSchema>(schema: T) => {
  const { type, ...rest } = schema as T & { type: string };
  return Type.Unsafe<Static<T> | null>({ ...rest, type: [type, 'null'] });
};

/** An id of a request, in either case. */
export const UUID = '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$';

export const time = (description?: string) =>
  Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) });

/** A whole number from 0: of milliseconds, bytes or things. */
export const whole = (description: string) => Type.Integer({ minimum: 0, description });

export const milliseconds = (byDefault: number, loweredTo: number, description: string) =>
  Type.Integer({ minimum: 1, default: byDefault, [LOWERED_TO]: loweredTo, description });

export const flag = (byDefault: boolean, description: string) => Type.Boolean({ default: byDefault, description });

export const choice = <const T extends string>(values: readonly T[], byDefault: T, description: string) =>
  oneOf(values, { default: byDefault, description });

/** Null is the default, and may be sent. */
export const optionalChoice = <const T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T | null>({ type: ['string', 'null'], enum: [...values, null], default: null, description });

/** Without control characters and lone surrogates: neither Postgres nor an argument list accepts them. */
export const PLAIN = '^[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$';

export const nonEmpty = (maxLength: number, description: string, more: TSchemaOptions = {}) =>
  Type.String({ minLength: 1, maxLength, description, ...more });

export const optionalWhole = (minimum: number, maximum: number, description: string) =>
  orNull(Type.Integer({ minimum, maximum, default: null, description }));

export const optionalText = (maxLength: number, description: string, pattern = PLAIN) =>
  orNull(Type.String({ minLength: 1, maxLength, pattern, default: null, description }));

/** An object whose members all have defaults, so an absent one is filled in with them. */
export const options = <T extends Record<string, TSchema>>(properties: T, description: string) =>
  closed(properties, { default: {}, description });

// Lists whose rows have ids in the order of time, the newest first.

export const NEWEST = {
  limit: Type.Integer({ minimum: 1, default: 20, [LOWERED_TO]: 100, description: 'Rows; at most 100.' }),
  before: orNull(Type.String({ pattern: UUID, default: null, description: '`next` of the page before.' })),
};

/** Of one row more than the page has, if there are so many. `next`: `before` of the next page; null: there is none. */
export function pageOfNewest<T extends { id: string }>(found: readonly T[], limit: number) {
  const rows = found.slice(0, limit);
  return { rows, next: found.length > limit ? rows.at(-1)!.id : null };
}

// Lists: a page of rows, and the filter, page and order that were requested.

export const Pagination = options(
  {
    page: Type.Integer({ minimum: 1, maximum: 1_000_000_000, default: 1, description: 'Page number, from 1.' }),
    limit: Type.Integer({
      minimum: 1,
      default: 10,
      [LOWERED_TO]: 1000,
      description: 'Rows per page; larger values are lowered to 1000.',
    }),
  },
  'The page.',
);
export type Pagination = Static<typeof Pagination>;

export const sortBy = <const F extends string>(fields: readonly F[], byDefault: NoInfer<F>, order: 'asc' | 'desc') =>
  options(
    {
      field: choice(fields, byDefault, 'The field to sort by.'),
      order: choice(['asc', 'desc'], order, 'Ascending or descending.'),
    },
    'The order of the rows.',
  );

/** A filter that may be repeated; an empty one matches everything. */
export const anyOf = <const T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T[]>({ type: 'array', items: { type: 'string', enum: [...values] }, default: [], description });

/** What Postgres takes. */
export const STORABLE = String.raw`^[^\u0000]*$`;

/** A filter by a part of a text; null matches everything. */
export const containing = (maxLength: number, description: string) =>
  orNull(Type.String({ maxLength, pattern: STORABLE, default: null, description }));

export const ids = (description: string) =>
  Type.Array(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), { default: [], description });

export const pageOf = ({ page, limit }: Pagination) => ({ offset: (page - 1) * limit, limit });

/** A page of a list, in the form of `listSchema`, with what was asked for. */
export const listAnswer = (
  name: string,
  rows: readonly unknown[],
  { filter, pagination: { limit, page }, sort }: { filter: object; pagination: Pagination; sort: object },
  totals: { total: number },
) => ({ [name]: rows, filter, pagination: { count: rows.length, limit, page, ...totals }, sort });

export const LISTED = { count: Type.Integer(), limit: Type.Integer(), page: Type.Integer(), total: Type.Integer() };
const Listed = Type.Object(LISTED, { title: 'ListPage' });
const Sorted = Type.Object({ field: Type.String(), order: Type.String() }, { title: 'ListOrder' });

export const listSchema = <const N extends string, R extends TSchema, P extends TSchema = typeof Listed>(
  name: N,
  row: R,
  page?: P,
) =>
  Type.Object({
    filter: Type.Object({}, { additionalProperties: true }),
    [name]: Type.Array(row),
    pagination: page ?? Listed,
    sort: Sorted,
  });
