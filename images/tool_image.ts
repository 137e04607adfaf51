/** The image of one catalog entry. */
import { join } from 'node:path';
import { type Architecture, USUAL } from './architecture.ts';
import { baseKeyOf } from './base.ts';
import { buildImage } from './buildah.ts';
import type { ImagePlan } from './built_image.ts';
import { contentKey, contents, withScratch } from './cache.ts';
import { imageSources } from './cargo_build.ts';
import { type Entry, type Source, sourceFor } from './catalog.ts';
import { buildFromSource } from './source_build.ts';
import { layOut } from './tool_tree.ts';
import { buildFromWasm, wasmRecipe } from './wasm_build.ts';

const toolsDir = join(import.meta.dirname, 'tools');

export async function toolPlan(entry: Entry, arch: Architecture = USUAL): Promise<ImagePlan> {
  const { tool, version } = entry;
  const source = sourceFor(entry, arch);
  return {
    name: `tool-${tool}`,
    tag: version,
    kind: 'tool',
    arch,
    tool,
    version,
    key: contentKey(tool, JSON.stringify(identity(source)), await contents(...recipeOf(entry)), baseKeyOf(arch)),
    make: async (ref) => {
      if (source.kind === 'upstream-source') await buildFromSource(source, ref, arch);
      else if (source.kind === 'wasm') await buildFromWasm(source, entry, ref, arch);
      else await buildPrebuilt(entry, ref, arch);
    },
  };
}

async function buildPrebuilt(entry: Entry, ref: string, arch: Architecture): Promise<void> {
  await withScratch(async (tree) => {
    await layOut(entry, tree, arch);
    await buildImage({ ref, arch, context: tree, dockerfile: join(toolsDir, 'prebuilt', 'Dockerfile') });
  });
}

/** The inputs of an image, without alternative origins of its files and descriptions in the catalog. */
function identity(source: Source): unknown {
  if (source.kind !== 'upstream-source') return source;
  return source.tarballs.map(({ name, url, sha256 }) => (sha256 === 'unknown' ? url : `${name} ${sha256}`));
}

function recipeOf({ source }: Entry): string[] {
  if (source.kind === 'cargo')
    return [...imageSources, join(toolsDir, 'prebuilt'), join(import.meta.dirname, 'tool_tree.ts')];
  if (source.kind === 'c')
    return [join(toolsDir, source.recipe), join(toolsDir, 'prebuilt'), join(import.meta.dirname, 'tool_tree.ts')];
  if (source.kind === 'upstream-source') return [join(toolsDir, `${source.recipe}-source`)];
  if (source.kind === 'wasm') return [wasmRecipe];
  return [join(toolsDir, 'prebuilt'), join(import.meta.dirname, 'tool_tree.ts')];
}
