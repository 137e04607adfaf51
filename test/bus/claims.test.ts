import assert from 'node:assert/strict';
import { isBegin, isUse } from '../../src/platform/bus/claims.ts';

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

describe('what a runner says that a cancelled job has cost', () => {
  it('is a number of bytes and of milliseconds that can be recorded', () => {
    assert.ok(isUse({ bytes: 0, ms: 0 }));
    assert.ok(isUse({ bytes: 1e15, ms: 86_400_000 }));
  });
  for (const used of [undefined, null, 1, {}, { bytes: 1 }, { bytes: -1, ms: 0 }, { bytes: 0.5, ms: 0 }])
    it(`is not ${JSON.stringify(used)}`, () => assert.equal(isUse(used), false));
  for (const used of [
    { bytes: 1e15 + 1, ms: 0 },
    { bytes: 0, ms: 86_400_001 },
    { bytes: '1', ms: 0 },
    { bytes: NaN, ms: 0 },
  ])
    it(`is not ${JSON.stringify(used)}, which cannot be true`, () => assert.equal(isUse(used), false));
});
