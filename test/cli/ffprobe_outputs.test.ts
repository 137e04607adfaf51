/** Every shape of a command line, and variants: the bytes that Debian's ffprobe prints for the line itself. */
import { assertSameOutput, isInstalled } from './debian_ffprobe.ts';
import { seeded, shapes, variant } from './ffprobe_lines.ts';

const VARIANTS = 40;
const SEED = 34;

describe('outputs for command lines of ffprobe', function () {
  this.timeout(300_000);
  before(function () {
    if (!isInstalled()) this.skip();
  });

  it('every shape prints what ffprobe prints for the line itself', () => assertSameOutput(shapes()));

  it(`${VARIANTS} variants print what ffprobe prints for the line itself`, () => {
    const random = seeded(SEED);
    assertSameOutput(Array.from({ length: VARIANTS }, () => variant(random)));
  });
});
