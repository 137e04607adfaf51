/** Ten thousand command lines as people write them are understood, and others are refused by the name of a flag. */
import assert from 'node:assert/strict';
import { Failure } from '../../src/cli/exits.ts';
import { readFfprobe } from '../../src/cli/shim/ffprobe_shim.ts';
import { argumentsFor, assertSameOutput, isInstalled } from './debian_ffprobe.ts';
import { REFUSED, seeded, shapes, variant } from './ffprobe_lines.ts';

const LINES = 10_000;
const SEED = 33;

describe('command lines of ffprobe', function () {
  this.timeout(120_000);

  it(`${LINES} variants are understood`, () => {
    const random = seeded(SEED);
    for (let count = 0; count < LINES; count++) {
      const line = variant(random);
      try {
        argumentsFor(line);
      } catch (error) {
        assert.fail(`${line.join(' ')}: ${String(error)}`);
      }
    }
  });

  for (const [line, flag] of REFUSED)
    it(`${line} is refused by the name of ${flag}`, () =>
      assert.throws(
        () => readFfprobe(line.split(' ')),
        (error) => error instanceof Failure && error.exitCode === 2 && error.message.startsWith(`ffprobe: ${flag}: `),
      ));

  // All of them, and variants: ffprobe_outputs.test.ts.
  it('every fifteenth shape prints what ffprobe prints for the line itself', function () {
    if (!isInstalled()) return this.skip();
    assertSameOutput(shapes().filter((_, place) => place % 15 === 0));
  });
});
