import assert from 'node:assert/strict';
import { column } from '../../src/platform/store/columns.ts';
import { calling } from '../../src/platform/store/function_call.ts';
import { query, raw, sql } from '../../src/platform/store/query.ts';

describe('store: parameters', () => {
  it('a call of a function has its parameters by name', () => {
    const shown = calling('take_rate', { scope: 'token', id: 7, per_minute: null }, { allowed: column() });
    assert.match(shown.text, /^select allowed "allowed" from/);
    assert.deepEqual(calling('take_rate', { scope: 'token', id: 7, per_minute: null }), {
      name: 'take_rate',
      text: 'select * from take_rate(p_scope => $1, p_id => $2, p_per_minute => $3)',
      values: ['token', 7, null],
    });
  });

  it('a query has a parameter for each value, and the text of its parts', () => {
    const mine = sql`user_id = ${7} or ${null}::bigint is null`;
    assert.deepEqual(
      query('found')`select ${raw('id')} from users where (${mine}) and id = any(${[1, 2]}) limit ${5}`,
      {
        name: 'found',
        text: 'select id from users where (user_id = $1 or $2::bigint is null) and id = any($3) limit $4',
        values: [7, null, [1, 2], 5],
      },
    );
  });

  it('an undefined value is an error, also in a part of a query', () => {
    const part = sql`id = ${undefined}`;
    for (const asked of [() => query('found')`select ${undefined}`, () => query('found')`select 1 where ${part}`])
      assert.throws(asked, { name: 'TypeError', message: 'a value of found is undefined' });
  });
});
