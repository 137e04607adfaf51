/** Lists: a page of rows, and what it was asked with. */
import Type, { type Static, type TSchema } from 'typebox';
import { LOWERED_TO } from './input/check.ts';

export const Pagination = Type.Object(
  {
    page: Type.Integer({ minimum: 1, maximum: 1_000_000_000, default: 1, description: 'From 1.' }),
    limit: Type.Integer({
      minimum: 1,
      default: 10,
      [LOWERED_TO]: 1000,
      description: 'Rows on a page; above 1000 it is lowered to that.',
    }),
  },
  { additionalProperties: false, default: {}, description: 'Which page.' },
);
export type Pagination = Static<typeof Pagination>;

export const sortBy = <const F extends string>(fields: readonly F[], byDefault: NoInfer<F>, order: 'asc' | 'desc') =>
  Type.Object(
    {
      field: Type.Unsafe<F>({
        type: 'string',
        enum: [...fields],
        default: byDefault,
        description: 'What the rows are sorted by.',
      }),
      order: Type.Unsafe<'asc' | 'desc'>({
        type: 'string',
        enum: ['asc', 'desc'],
        default: order,
        description: 'asc or desc.',
      }),
    },
    { additionalProperties: false, default: {}, description: 'How the rows are sorted.' },
  );

/** A filter that may be repeated; none is no filter. */
export const anyOf = <const T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T[]>({ type: 'array', items: { type: 'string', enum: [...values] }, default: [], description });

export const ids = (description: string) =>
  Type.Array(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), { default: [], description });

export const offsetOf = ({ page, limit }: Pagination): number => (page - 1) * limit;

/** What every list answers beside its rows. */
export const listEcho = <F, S>(
  asked: { filter: F; pagination: Pagination; sort: S },
  rows: { count: number; total: number },
) => ({
  filter: asked.filter,
  pagination: { count: rows.count, limit: asked.pagination.limit, page: asked.pagination.page, total: rows.total },
  sort: asked.sort,
});

export const listSchema = <const N extends string, R extends TSchema>(name: N, row: R) =>
  Type.Object({
    filter: Type.Object({}, { additionalProperties: true }),
    [name]: Type.Array(row),
    pagination: Type.Object({
      count: Type.Integer(),
      limit: Type.Integer(),
      page: Type.Integer(),
      total: Type.Integer(),
    }),
    sort: Type.Object({ field: Type.String(), order: Type.String() }),
  });
