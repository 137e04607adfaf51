/** One image with the product and all of /tools, for clusters that cannot mount images. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { unpack } from './archive.ts';
import { buildImage, loadImage } from './buildah.ts';
import type { BuiltImage, ImagePlan } from './built_image.ts';
import { contentKey, contents, withScratch } from './cache.ts';
import type { Entry } from './catalog.ts';

const dockerfile = join(import.meta.dirname, 'bundled', 'Dockerfile');

export async function bundledPlan(
  product: BuiltImage,
  tools: readonly { entry: Entry; image: BuiltImage }[],
): Promise<ImagePlan> {
  return {
    name: 'bundled',
    tag: product.tag,
    kind: 'bundled',
    arch: product.arch,
    key: contentKey(
      product.digest,
      ...tools.map(({ image }) => `${image.ref}@${image.digest}`),
      await contents(dockerfile),
    ),
    make: (ref) =>
      withScratch(async (context) => {
        for (const { entry, image } of tools) {
          const target = join(context, 'tools', entry.tool, entry.version);
          await mkdir(target, { recursive: true });
          await unpack(image.archive, target);
        }
        await loadImage(product.ref, product.archive);
        await buildImage({ ref, arch: product.arch, context, dockerfile, args: { PRODUCT: product.ref } });
      }),
  };
}
