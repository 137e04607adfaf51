import { fuzz } from './fuzz.ts';
import { programs, WHY_SKIPPED } from './rig.ts';

describe('C2PA check of changed files', function () {
  this.timeout(120_000);
  if (!programs) {
    it.skip(`skipped: ${WHY_SKIPPED}`);
    return;
  }
  it('always ends, and never validates changed data', async () => {
    const { seed, cases, refused, invalid, none, unchanged } = await fuzz(320, Math.floor(Math.random() * 1_000_000));
    console.log(
      `      seed ${seed}: ${cases} cases: ${refused} refused, ${invalid} ` +
        `Invalid, ${none} without a manifest, ${unchanged} as before`,
    );
  });
});
