/**
 * The columns of a record in one place: each field with the column or expression that it is read from. A query that
 * lists them returns the record itself, so rows need no second type.
 */
import type { Database } from './connection.ts';

export type Columns<T> = Readonly<Record<keyof T & string, string>>;
type Named = Readonly<Record<string, string>>;

/** For `select` and `returning`: `user_id "userId", …`. */
export const listed = (columns: Named): string =>
  Object.entries(columns)
    .map(([field, column]) => `${column} "${field}"`)
    .join(', ');

/** One JSON column with all of them. `table`: the alias of their table. */
export const asObject = (columns: Named, table: string): string =>
  `jsonb_build_object(${Object.entries(columns)
    .map(([field, column]) => `'${field}', ${table}.${column}`)
    .join(', ')})`;

/**
 * For `update`: the columns of the given fields, from parameter `first` on. Null is a value. `name` distinguishes the
 * prepared statements.
 */
export function assigned<T>(
  columns: Columns<T>,
  change: { readonly [K in keyof T]?: unknown },
  first: number,
): { name: string; set: string; values: unknown[] } {
  const all = Object.keys(columns) as (keyof T & string)[];
  const fields = all.filter((field) => change[field] !== undefined);
  return {
    name: fields.map((field) => all.indexOf(field)).join('_'),
    set: fields.map((field, index) => `${columns[field]} = $${first + index}, `).join(''),
    values: fields.map((field) => change[field]),
  };
}

export interface PageOfList {
  select: string;
  /** The tables of `select`, for the count. */
  from: string;
  where: string;
  /** Of `where`. */
  values: readonly unknown[];
  order: string;
  offset: number;
  limit: number;
}

/** A page of a list, and the number of rows of the whole. */
export async function pageOf<T>(
  database: Database,
  name: string,
  { select, from, where, values, order, offset, limit }: PageOfList,
): Promise<{ rows: T[]; total: number }> {
  const next = values.length + 1;
  const [{ total }, rows] = await Promise.all([
    database.one<{ total: number }>({
      name: `count_${name}`,
      text: `select count(*) total from ${from} where ${where}`,
      values: [...values],
    }),
    database.rows<T>({
      name: `list_${name}_${order.replaceAll(/\W+/g, '_')}`,
      text: `${select} where ${where} order by ${order} limit $${next} offset $${next + 1}`,
      values: [...values, limit, offset],
    }),
  ]);
  return { rows, total };
}
