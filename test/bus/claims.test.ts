import assert from 'node:assert/strict';
import { isBegin } from '../../src/bus/claims.ts';

describe('orders to begin', () => {
  const order = { epoch: 1, job: 'j', attempt: 1 };
  for (const number of ['1', '18446744073709551615'])
    it(`number ${number} is one of a launcher`, () => {
      assert.ok(isBegin({ ...order, number }));
    });
  const wrong = [undefined, 1, '', '0', '01', '-1', '1.5', '1e3', ' 1', '18446744073709551616', '9'.repeat(200)];
  for (const number of wrong)
    it(`number ${JSON.stringify(number)} is refused`, () => {
      assert.equal(isBegin({ ...order, number }), false);
    });
});
