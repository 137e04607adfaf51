/**
 * A record in one place: each field with its type and the column or expression that it is read from. A query that lists
 * the columns returns the record itself, so neither the record nor its rows need another type.
 */
import { join, type Sql } from 'sql-template-tag';
import type { Database } from './connection.ts';
import { query, raw, sql } from './query.ts';

interface Column<T> {
  /** Absent: the column has the name of the field, with underscores. */
  expression: string | undefined;
  /** Never set: carries the type. */
  type?: T;
}
export type Columns = Readonly<Record<string, Column<unknown>>>;

export const column = <T>(expression?: string): Column<T> => ({ expression });

export type RecordOf<C extends Columns> = {
  -readonly [Field in keyof C]: C[Field] extends Column<infer T> ? T : never;
};
/** An absent field stays unchanged; null is a value. */
export type ChangeOf<C extends Columns> = { [Field in keyof C]?: RecordOf<C>[Field] | undefined };

/** Of each field: `user_id`, or `u.user_id` if the table has an alias. */
const expressions = (columns: Columns, alias?: string): [field: string, expression: string][] =>
  Object.entries(columns).map(([field, { expression }]) => {
    const name = field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [field, expression ?? (alias === undefined ? name : `${alias}.${name}`)];
  });

/** For `select` and `returning`: `user_id "userId", …`. */
export const listed = (columns: Columns, alias?: string): string =>
  expressions(columns, alias)
    .map(([field, expression]) => `${expression} "${field}"`)
    .join(', ');

/** The same as a part of a query. */
export const selected = (columns: Columns, alias?: string): Sql => raw(listed(columns, alias));

/** One JSON column with all of them. */
export const asObject = (columns: Columns, alias: string): string =>
  `jsonb_build_object(${expressions(columns, alias)
    .map(([field, expression]) => `'${field}', ${expression}`)
    .join(', ')})`;

/** For `insert into …`: the columns, and the values for them. */
export function inserted<C extends Columns>(columns: C, record: { readonly [Field in keyof C]: unknown }): Sql {
  const all = expressions(columns);
  const values = join(all.map(([field]) => record[field]));
  return sql`(${raw(all.map(([, name]) => name).join(', '))}) values (${values})`;
}

/** For `update`: the columns of the given fields, and the time. `name` distinguishes the prepared statements. */
export function assigned<C extends Columns>(
  columns: C,
  change: { readonly [Field in keyof C]?: unknown },
): { name: string; set: Sql } {
  const all = expressions(columns);
  const given = all.filter(([field]) => change[field] !== undefined);
  return {
    name: given.map((one) => all.indexOf(one)).join('_'),
    set: join([...given.map(([field, name]) => sql`${raw(name)} = ${change[field]}`), sql`updated_at = now()`]),
  };
}

export interface PageOfList {
  select: Sql;
  /** The tables of `select`, for the count. */
  from: Sql;
  where: Sql;
  order: string;
  offset: number;
  limit: number;
}

/** A page of a list, and the number of rows of the whole. */
export async function pageOf<T>(
  database: Database,
  name: string,
  { select, from, where, order, offset, limit }: PageOfList,
): Promise<{ rows: T[]; total: number }> {
  const [total, rows] = await Promise.all([
    database.value<number>(query(`count_${name}`)`select count(*) from ${from} where ${where}`),
    database.rows<T>(query(`list_${name}_${order.replaceAll(/\W+/g, '_')}`)`
      ${select} where ${where} order by ${raw(order)} limit ${limit} offset ${offset}`),
  ]);
  return { rows, total };
}
