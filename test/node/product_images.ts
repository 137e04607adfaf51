import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import type { Built } from './build.ts';
import { importImages } from './images.ts';
import type { Layout } from './layout.ts';
import { type Expected, say, timed } from '../../images/progress.ts';

/** The registry in the names of local builds. */
export const LOCAL = 'localhost';

export const BuiltImage = Type.Object({
  ref: Type.String(),
  name: Type.String(),
  archive: Type.String(),
  digest: Type.String(),
  kind: Type.String(),
  tool: Type.Optional(Type.String()),
  version: Type.Optional(Type.String()),
});
export type BuiltImage = Static<typeof BuiltImage>;

interface Recipes {
  buildAll(options: { only?: readonly string[]; withoutLater?: boolean }): Promise<unknown>;
  laterTools(): Promise<string[][]>;
  missingImages(options: { withoutLater?: boolean }): Promise<Expected[]>;
}

/** Undefined if the checkout has no recipes. */
async function recipes(): Promise<Recipes | undefined> {
  const file = join(import.meta.dirname, '..', '..', 'images', 'build.ts');
  return existsSync(file) ? ((await import(pathToFileURL(file).href)) as Recipes) : undefined;
}

/** Builds the images of the product and the tools. Does nothing if the checkout has no recipes. */
export async function buildImages(options: Parameters<Recipes['buildAll']>[0] = {}): Promise<BuiltImage[]> {
  const found = await recipes();
  if (found === undefined) say('images: skipped, there is no images/build.ts');
  return Value.Parse(Type.Array(BuiltImage), (await found?.buildAll(options)) ?? []);
}

/** Tools that are not in the cache and not needed by a first probe, in groups to install together. */
export const laterTools = async (): Promise<string[][]> => (await recipes())?.laterTools() ?? [];

/** The images that are not in the cache, as steps to come. */
export const missingImages = async (options: Parameters<Recipes['missingImages']>[0]): Promise<Expected[]> =>
  (await recipes())?.missingImages(options) ?? [];

/** Imports the images into the node. Returns how many were new. */
export async function deliverImages(layout: Layout, built: Built, images: readonly BuiltImage[]): Promise<number> {
  if (images.length === 0) return 0;
  const archives = images.map(({ ref, archive, digest }) => ({ name: ref, archive, digest }));
  return (await timed('the images are on the node', () => importImages(layout, built, archives))).length;
}
