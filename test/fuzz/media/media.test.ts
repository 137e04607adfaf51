import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { builtTools } from '../../streams/real_runner.ts';
import { corpus, fuzzMedia } from './fuzz.ts';

/** The short form: a few dozen files with another seed each time. The long one is `make fuzz-media`. */
const cases = 24;
const built = await builtTools(({ latest }) => latest === true);

describe('damaged media', function () {
  this.timeout(120_000);

  it(`each of ${cases} damaged files ends with a result or an error, and the runner keeps working`, async function () {
    if (built.length === 0) {
      console.log('      skipped: no tool image is built here (make images)');
      this.skip();
    }
    if (!existsSync(corpus)) console.log('      the corpus is not here: one small file stands for it');
    const seed = Math.floor(Math.random() * 2 ** 32);
    const { problems, cases: done } = await fuzzMedia({ seed, cases, which: ({ latest }) => latest === true });
    assert.deepEqual(problems, [], `seed ${seed}`);
    assert.equal(done, cases);
  });
});
