/** Builds every image that is not in the cache: `npm exec -- node images/build.ts [name...]`. */
import { bundledPlan } from './bundled_image.ts';
import { type BuiltImage, type ImagePlan, isCached, realise, stepOf } from './built_image.ts';
import { dropOldScratch } from './cache.ts';
import { type Entry, entryName, readCatalog } from './catalog.ts';
import { natsPlan, postgresPlan } from './dev_images.ts';
import { ImageError } from './image_error.ts';
import { ensurePackages } from './packages.ts';
import { productPlan } from './product_image.ts';
import { type Expected, say } from './progress.ts';
import { toolPlan } from './tool_image.ts';

export type { BuiltImage } from './built_image.ts';

export interface BuildOptions {
  /**
   * Only these images, by name: product, nats, postgres, bundled, tools, ffprobe-9.0, mediainfo-26.10 and so on. All if
   * empty.
   */
  only?: readonly string[];
  /** The large image with every tool, needed only by clusters without image volumes. */
  bundled?: boolean;
  /** Skips tools that take minutes to compile here, unless they are in the cache. */
  withoutSlow?: boolean;
}

/** Names (as in `only`) of the tools that `withoutSlow` would skip now. */
export async function slowTools(): Promise<string[]> {
  const slow: string[] = [];
  for (const entry of readCatalog().tools)
    if (isCompiled(entry) && canBeHad(entry) && !isCached(await toolPlan(entry))) slow.push(entryName(entry));
  return slow;
}

/** The images that are not in the cache, without slow tools, as steps to come. */
export async function missingImages(): Promise<Expected[]> {
  const slow = new Set(await slowTools());
  const servers: [ImagePlan, number][] = [
    [await productPlan(), 115],
    [await natsPlan(), 18],
    [await postgresPlan(), 22],
  ];
  const tools = await Promise.all(
    readCatalog()
      .tools.filter((entry) => canBeHad(entry) && !slow.has(entryName(entry)))
      .map(async (entry): Promise<[ImagePlan, number]> => [await toolPlan(entry), entry.source.kind === 'npm' ? 3 : 7]),
  );
  return [...servers, ...tools]
    .filter(([plan]) => !isCached(plan))
    .map(([plan, seconds]): Expected => [stepOf(plan), seconds]);
}

const isCompiled = ({ source }: Entry): boolean => source.kind === 'cargo' || source.kind === 'upstream-source';

/** Sources without a tarball, or with one in a Debian suite. The others fail within seconds and cause no delay. */
const canBeHad = ({ source }: Entry): boolean =>
  source.kind !== 'upstream-source' || source.tarballs.some(({ debian }) => debian !== undefined);

/** Builds what is missing, in an order that shows errors early. Prints what it skips, with the reason. */
export async function buildAll(options: BuildOptions = {}): Promise<BuiltImage[]> {
  const only = new Set(options.only ?? []);
  const wanted = (...names: string[]) => only.size === 0 || names.some((name) => only.has(name));
  await ensurePackages();
  await dropOldScratch();
  const built: BuiltImage[] = [];
  const servers: [string, () => Promise<ImagePlan>][] = [
    ['product', productPlan],
    ['nats', natsPlan],
    ['postgres', postgresPlan],
  ];
  for (const [name, plan] of servers) if (wanted(name)) built.push(await realise(await plan()));
  const slow = new Set(options.withoutSlow === true ? await slowTools() : []);
  const entries = readCatalog().tools.filter((entry) => !slow.has(entryName(entry)));
  const tools: { entry: Entry; image: BuiltImage }[] = [];
  for (const entry of entries) {
    if (!wanted('tools', 'bundled', entryName(entry)) && options.bundled !== true) continue;
    const image = await buildTool(entry);
    if (image) tools.push({ entry, image });
  }
  built.push(...tools.map(({ image }) => image));
  if (only.has('bundled') || options.bundled === true)
    built.push(await realise(await bundledPlan(await realise(await productPlan()), tools)));
  return built;
}

/** A version whose files are unavailable on this machine is skipped. Any other failure is an error. */
async function buildTool(entry: Entry): Promise<BuiltImage | undefined> {
  try {
    return await realise(await toolPlan(entry));
  } catch (error) {
    if (!(error instanceof ImageError) || (error.code !== 'SOURCE_UNAVAILABLE' && error.code !== 'CHECKSUM_UNKNOWN'))
      throw error;
    say(`left out ${entry.tool} ${entry.version}: ${error.message.split('\n')[0]}`);
    return undefined;
  }
}

if (import.meta.main) {
  try {
    const images = await buildAll({ only: process.argv.slice(2) });
    for (const { ref, digest, archive } of images) say(`${ref}  ${digest.slice(0, 19)}  ${archive}`);
  } catch (error) {
    console.error(error instanceof ImageError ? `${error.code}: ${error.message}` : error);
    process.exit(1);
  }
}
