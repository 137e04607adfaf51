/** Builds every image that is not in the cache: `npm exec -- node images/build.ts [--arch arm64] [name...]`. */
import { parseArgs } from 'node:util';
import { type Architecture, isArchitecture, USUAL } from './architecture.ts';
import { bundledPlan } from './bundled_image.ts';
import { type BuiltImage, type ImagePlan, isCached, realise, stepOf } from './built_image.ts';
import { dropOldScratch } from './cache.ts';
import { type Entry, entryName, isFor, readCatalog } from './catalog.ts';
import { natsPlan, postgresPlan } from './dev_images.ts';
import { withEmulation } from './emulation.ts';
import { ImageError } from './image_error.ts';
import { ensurePackages } from './packages.ts';
import { productPlan } from './product_image.ts';
import type { ImageTool } from '../src/media/tools/table.ts';
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
  arch?: Architecture;
  /** Skips `laterTools`. */
  withoutLater?: boolean;
}

/**
 * Names (as in `only`) of the tools that are not in the cache and that a first probe can do without, in the groups in
 * which they are worth an installation: those that need no compiler, those that it takes a minute for, then each of the
 * others. A first probe needs one version of each of its tools: the newest that is not compiled here.
 */
export async function laterTools(): Promise<string[][]> {
  const had = await Promise.all(
    readCatalog()
      .tools.filter(canBeHad)
      .map(async (entry) => ({ entry, cached: isCached(await toolPlan(entry)) })),
  );
  const first = new Set(
    FIRST_PROBE.flatMap((tool) => {
      const versions = had.filter(({ entry }) => entry.tool === tool);
      return versions.some(({ cached }) => cached)
        ? []
        : (versions.find(({ entry }) => !isCompiled(entry))?.entry ?? []);
    }),
  );
  const later = had.filter(({ entry, cached }) => !cached && !first.has(entry)).map(({ entry }) => entry);
  const together = [later.filter((entry) => !isCompiled(entry)), later.filter(isTranslated)];
  const alone = later.filter((entry) => isCompiled(entry) && !isTranslated(entry)).map((entry) => [entry]);
  return [...together, ...alone].filter(({ length }) => length > 0).map((group) => group.map(entryName));
}

/** The images that are not in the cache, as steps to come. */
export async function missingImages({ withoutLater = false }: BuildOptions = {}): Promise<Expected[]> {
  const later = new Set(withoutLater ? (await laterTools()).flat() : []);
  const servers: [ImagePlan, number][] = [
    [await productPlan(), 115],
    [await natsPlan(), 18],
    [await postgresPlan(), 22],
  ];
  const tools = await Promise.all(
    readCatalog()
      .tools.filter((entry) => canBeHad(entry) && !later.has(entryName(entry)))
      .map(async (entry): Promise<[ImagePlan, number]> => [await toolPlan(entry), secondsOf(entry)]),
  );
  return [...servers, ...tools]
    .filter(([plan]) => !isCached(plan))
    .map(([plan, seconds]): Expected => [stepOf(plan), seconds]);
}

/** What a request for a file runs unless it says otherwise. */
const FIRST_PROBE: readonly ImageTool[] = ['ffprobe', 'mediainfo'];

const isTranslated = ({ source }: Entry): boolean => source.kind === 'wasm';

/** Takes a minute or more. */
const isCompiled = (entry: Entry): boolean =>
  isTranslated(entry) || entry.source.kind === 'cargo' || entry.source.kind === 'upstream-source';

/** Of a build from nothing on two cores. */
function secondsOf(entry: Entry): number {
  if (isTranslated(entry)) return 75;
  if (isCompiled(entry)) return 480;
  return entry.source.kind === 'npm' ? 3 : 7;
}

/** Sources without a tarball, or with one in a Debian suite. The others fail within seconds and cause no delay. */
const canBeHad = ({ source }: Entry): boolean =>
  source.kind !== 'upstream-source' || source.tarballs.some(({ debian }) => debian !== undefined);

/** Builds what is missing, in an order that shows errors early. Prints what it skips, with the reason. */
export function buildAll(options: BuildOptions = {}): Promise<BuiltImage[]> {
  return withEmulation(options.arch ?? USUAL, () => build(options));
}

async function build(options: BuildOptions): Promise<BuiltImage[]> {
  const { arch = USUAL } = options;
  const only = new Set(options.only ?? []);
  const wanted = (...names: string[]) => only.size === 0 || names.some((name) => only.has(name));
  await ensurePackages();
  await dropOldScratch();
  const built: BuiltImage[] = [];
  const servers: [string, (arch: Architecture) => Promise<ImagePlan>][] = [
    ['product', productPlan],
    ['nats', natsPlan],
    ['postgres', postgresPlan],
  ];
  for (const [name, plan] of servers) if (wanted(name)) built.push(await realise(await plan(arch)));
  const later = new Set(options.withoutLater === true ? (await laterTools()).flat() : []);
  const entries = readCatalog().tools.filter((entry) => isFor(entry, arch) && !later.has(entryName(entry)));
  const tools: { entry: Entry; image: BuiltImage }[] = [];
  for (const entry of entries) {
    if (!wanted('tools', 'bundled', entryName(entry)) && options.bundled !== true) continue;
    const image = await buildTool(entry, arch);
    if (image) tools.push({ entry, image });
  }
  built.push(...tools.map(({ image }) => image));
  if (only.has('bundled') || options.bundled === true)
    built.push(await realise(await bundledPlan(await realise(await productPlan(arch)), tools)));
  return built;
}

/** A version whose files are unavailable on this machine is skipped. Any other failure is an error. */
async function buildTool(entry: Entry, arch: Architecture): Promise<BuiltImage | undefined> {
  try {
    return await realise(await toolPlan(entry, arch));
  } catch (error) {
    if (!(error instanceof ImageError) || (error.code !== 'SOURCE_UNAVAILABLE' && error.code !== 'CHECKSUM_UNKNOWN'))
      throw error;
    say(`left out ${entry.tool} ${entry.version}: ${error.message.split('\n')[0]}`);
    return undefined;
  }
}

if (import.meta.main) {
  try {
    const { values, positionals } = parseArgs({
      options: { arch: { type: 'string', default: USUAL } },
      allowPositionals: true,
    });
    const { arch } = values;
    if (!isArchitecture(arch)) throw new ImageError('SOURCE_UNAVAILABLE', `there are no images for ${arch}`);
    const images = await buildAll({ only: positionals, arch });
    for (const { ref, digest, archive } of images) say(`${ref}  ${digest.slice(0, 19)}  ${archive}`);
  } catch (error) {
    console.error(error instanceof ImageError ? `${error.code}: ${error.message}` : error);
    process.exit(1);
  }
}
