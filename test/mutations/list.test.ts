import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { GUARDS } from './list.ts';
import { isFound, runWithout } from './trial.ts';

/** Fast ones, one for each way to take a guard out: an export, a method, a value made by another module. */
const TRIED = [
  'a token runs no more than its limit',
  'an order of an older term is refused',
  'an IPv4 address inside an IPv6 one is checked',
  'a webhook is signed over id, time and body',
];

describe('mutations', function () {
  this.timeout(120_000);

  it('each guard has a unique name', () => {
    assert.equal(new Set(GUARDS.map(({ keeps }) => keeps)).size, GUARDS.length);
  });

  for (const { keeps, test, module, name, method } of GUARDS)
    it(`the guard "${keeps}" and its test exist`, async () => {
      assert.ok(existsSync(new URL(`../../${test}`, import.meta.url)), test);
      const value = ((await module()) as Record<string, { prototype?: object }>)[name];
      assert.notEqual(value, undefined, name);
      if (method !== undefined) assert.equal(typeof Reflect.get(value!.prototype!, method), 'function', method);
    });

  for (const wanted of TRIED)
    it(`without the guard "${wanted}" its test fails`, async () => {
      const guard = GUARDS.find(({ keeps }) => keeps === wanted)!;
      const tried = await runWithout(guard);
      assert.ok(isFound(tried), JSON.stringify(tried));
    });
});
