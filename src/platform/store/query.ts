/** Statements with their values in place. */
import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import type { Query } from './connection.ts';

export { empty, raw, sql };
export const allOf = (all: readonly Sql[]): Sql => join(all, ' and ');
/** As text, which a plan for any values knows. */
export const fixedLimit = (rows: number): Sql => raw(`limit ${rows}`);

/**
 * The query of this name: each value is a parameter, and what `sql` and `raw` make is text. The name stands in errors;
 * as it is that of a prepared statement, the text must always be the same. Undefined would be sent as null.
 */
export const query =
  (name: string) =>
  (texts: readonly string[], ...parts: readonly unknown[]): Query => {
    const { text, values } = sql(texts, ...parts);
    if (values.includes(undefined)) throw new TypeError(`a value of ${name} is undefined`);
    return { name, text, values };
  };
