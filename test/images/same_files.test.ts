import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ARCHITECTURES, type Architecture } from '../../images/architecture.ts';
import { architectureOf, buildImage, removeImage } from '../../images/buildah.ts';
import { withScratch } from '../../images/cache.ts';

describe('images of nothing but data', function () {
  this.timeout(120_000);

  it('are those of their architecture, although their files are the same', () =>
    withScratch(async (context) => {
      const dockerfile = join(context, 'Dockerfile');
      await writeFile(dockerfile, 'FROM scratch\nCOPY data /data\n');
      // Files that no other build has: a layer of an earlier run would be of one architecture.
      await writeFile(join(context, 'data'), `${process.pid} ${Date.now()}`);
      const refs = (Object.keys(ARCHITECTURES) as Architecture[]).map((arch) => ({
        arch,
        ref: `localhost/probeyard/data-${process.pid}:${arch}`,
      }));
      try {
        for (const { arch, ref } of refs) {
          await buildImage({ ref, arch, context, dockerfile, anew: true });
          assert.equal(await architectureOf(ref), arch);
        }
      } finally {
        for (const { ref } of refs) await removeImage(ref).catch(() => {});
      }
    }));
});
