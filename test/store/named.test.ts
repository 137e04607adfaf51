import assert from 'node:assert/strict';
import { column } from '../../src/platform/store/columns.ts';
import { calling, named } from '../../src/platform/store/named.ts';

describe('store: parameters by name', () => {
  it('a call of a function has its parameters by name', () => {
    const shown = calling('take_rate', { scope: 'token', id: 7, per_minute: null }, { allowed: column() });
    assert.match(shown.text, /^select allowed "allowed" from/);
    assert.deepEqual(calling('take_rate', { scope: 'token', id: 7, per_minute: null }), {
      name: 'take_rate',
      text: 'select * from take_rate(p_scope => $1, p_id => $2, p_per_minute => $3)',
      values: ['token', 7, null],
    });
  });

  it('a statement has one parameter for each name, and keeps its casts', () => {
    const values = { unused: 0, userId: 1, id: 2, ids: [], sha256: 3 };
    assert.deepEqual(named('select :id, :userId::bigint, now()::date, :sha256 where :id = any(:ids)', values), {
      text: 'select $1, $2::bigint, now()::date, $3 where $1 = any($4)',
      values: [2, 1, 3, []],
    });
  });

  it('a name without a value is refused', () => {
    assert.throws(() => named('select :id', { user_id: 1 }), { message: ':id has no value' });
  });
});
