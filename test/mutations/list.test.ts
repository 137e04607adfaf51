import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { apply, copyTree, mutated, ROOT, type Copy } from './copy.ts';
import { AREAS } from './list.ts';
import { page } from './page.ts';
import { trial } from './trial.ts';

const all = AREAS.flatMap(({ mutations }) => mutations);

describe('the list of guards', () => {
  // Where a guard was rewritten, its line in test/mutations/guards is to follow it.
  it('takes out of a file what stands there exactly once, and names tests that there are', () => {
    const wrong = all.flatMap((mutation) => {
      const { file, test, grep, guard, build } = mutation;
      try {
        assert.notEqual(mutated(readFileSync(join(ROOT, file), 'utf8'), mutation), '');
        const tests = readFileSync(join(ROOT, test), 'utf8');
        assert.ok(grep === undefined || tests.includes(grep), `${test} has no test with "${grep}" in its name`);
        assert.ok(build === undefined || existsSync(join(ROOT, build)), `there is no ${build}`);
        return [];
      } catch (error) {
        return [`${guard}: ${(error as Error).message}`];
      }
    });
    assert.deepEqual(wrong, []);
  });

  it('has each guard once, and each is a change', () => {
    assert.equal(new Set(all.map(({ guard }) => guard)).size, all.length);
    for (const { from, to, guard } of all) assert.notEqual(from, to, guard);
  });

  it('refuses a change that does not apply, or applies twice', () => {
    for (const text of ['nothing', 'guard guard']) assert.throws(() => mutated(text, { file: 'a.ts', from: 'guard', to: '' }), { code: 'mutation-does-not-apply' });
    assert.equal(mutated('a guard b', { file: 'a.ts', from: 'guard', to: '$&' }), 'a $& b');
  });

  it('is told with what stayed green', () => {
    const [mutation] = all;
    const text = page([{ title: 'One', outcomes: [{ mutation: mutation!, verdict: 'green', detail: '', ms: 1 }, { mutation: mutation!, verdict: 'red', detail: '', ms: 1 }] }]);
    assert.match(text, /\*\*1 of 2\*\* turn a test red/);
    assert.match(text, /\| \*\*green\*\*: `test/);
  });
});

describe('taking a guard out', function () {
  this.timeout(60_000);
  let copy: Copy;
  before(() => { copy = copyTree(['package.json', 'src', 'test/controller/ledger.test.ts', 'test/runner/orders.test.ts', 'test/webhooks/sign.test.ts']); });
  after(() => copy.remove());

  for (const guard of ['no token holds more slots than its limit', 'a runner obeys no order of an older term', 'a webhook is signed over id, time and body']) {
    it(`turns its test red, and the test is green again with it: ${guard}`, async () => {
      const mutation = all.find((one) => one.guard === guard)!;
      const restore = apply(copy, mutation);
      const without = await trial(copy, mutation);
      restore();
      assert.equal(without.verdict, 'red', without.detail);
      assert.equal((await trial(copy, mutation)).verdict, 'green');
    });
  }

  it('tells tests that were not run from tests that were red', async () => {
    assert.equal((await trial(copy, { test: 'test/webhooks/sign.test.ts', grep: 'no such test' })).verdict, 'broken');
    assert.equal((await trial(copy, { test: 'test/no_such.test.ts' })).verdict, 'broken');
  });
});
