import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import type { Built } from './build.ts';
import { importImages } from './images.ts';
import type { Layout } from './layout.ts';
import { say, timed } from './progress.ts';

const BuiltImages = Type.Array(Type.Object({ ref: Type.String(), archive: Type.String(), digest: Type.String(), kind: Type.String() }));
type BuiltImages = Static<typeof BuiltImages>;

/** Builds the product's images and the tools'; nothing where the checkout has no recipes for them. */
export async function buildImages(): Promise<BuiltImages> {
  const recipes = join(import.meta.dirname, '..', '..', 'images', 'build.ts');
  if (!existsSync(recipes)) {
    say('images: skipped, there is no images/build.ts');
    return [];
  }
  const module = (await import(pathToFileURL(recipes).href)) as { buildAll: () => Promise<unknown> };
  return Value.Parse(BuiltImages, await module.buildAll());
}

/** Brings the images to the node; how many were new to it. */
export async function deliverImages(layout: Layout, built: Built): Promise<number> {
  const images = await buildImages();
  if (images.length === 0) return 0;
  const imported = await timed(`${images.length} images are on the node`, () => importImages(layout, built, images.map(({ ref, ...image }) => ({ name: ref, ...image }))));
  return imported.length;
}
