import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import type { Built } from './build.ts';
import { importImages } from './images.ts';
import type { Layout } from './layout.ts';
import { say, timed } from './progress.ts';

/** The registry in the names of local builds. */
export const LOCAL = 'localhost';

const BuiltImage = Type.Object({
  ref: Type.String(),
  name: Type.String(),
  archive: Type.String(),
  digest: Type.String(),
  kind: Type.String(),
  tool: Type.Optional(Type.String()),
  version: Type.Optional(Type.String()),
});
export type BuiltImage = Static<typeof BuiltImage>;

/** Builds the images of the product and the tools. Does nothing if the checkout has no recipes. */
export async function buildImages(): Promise<BuiltImage[]> {
  const recipes = join(import.meta.dirname, '..', '..', 'images', 'build.ts');
  if (!existsSync(recipes)) {
    say('images: skipped, there is no images/build.ts');
    return [];
  }
  const module = (await import(pathToFileURL(recipes).href)) as { buildAll: () => Promise<unknown> };
  return Value.Parse(Type.Array(BuiltImage), await module.buildAll());
}

/** Imports the images into the node. Returns how many were new. */
export async function deliverImages(layout: Layout, built: Built, images: readonly BuiltImage[]): Promise<number> {
  if (images.length === 0) return 0;
  const archives = images.map(({ ref, archive, digest }) => ({ name: ref, archive, digest }));
  return (await timed(`${images.length} images are on the node`, () => importImages(layout, built, archives))).length;
}
