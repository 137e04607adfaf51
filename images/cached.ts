/** Tool images that are in the cache, without building any. */
import { type Architecture, USUAL } from './architecture.ts';
import { type BuiltImage, type ImagePlan, isCached, realise } from './built_image.ts';
import { type Entry, isFor, readCatalog } from './catalog.ts';
import { toolPlan } from './tool_image.ts';

export async function cachedTools(
  arch: Architecture = USUAL,
): Promise<{ entry: Entry; image: BuiltImage | undefined }[]> {
  const found = [];
  for (const entry of readCatalog().tools)
    if (isFor(entry, arch)) found.push({ entry, image: await cached(await toolPlan(entry, arch)) });
  return found;
}

export async function cached(plan: ImagePlan): Promise<BuiltImage | undefined> {
  return isCached(plan) ? realise(plan) : undefined;
}
