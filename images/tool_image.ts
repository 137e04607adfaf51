/** The image of one catalog entry. */
import { join } from 'node:path';
import { baseRoot } from './base.ts';
import { buildImage } from './buildah.ts';
import type { ImagePlan } from './built_image.ts';
import { contentKey, contents, withScratch } from './cache.ts';
import type { Entry, SourceOf } from './catalog.ts';
import { buildFromSource } from './source_build.ts';
import { layOut } from './tool_tree.ts';

const toolsDir = join(import.meta.dirname, 'tools');

export async function toolPlan(entry: Entry): Promise<ImagePlan> {
  const { tool, version, source } = entry;
  const { key: base } = await baseRoot();
  const recipe = await contents(join(toolsDir, recipeOf(entry)), join(import.meta.dirname, 'tool_tree.ts'));
  return {
    name: `tool-${tool}`,
    tag: version,
    kind: 'tool',
    tool,
    version,
    // `built`, `note` and the rest of an entry say something about the image; only these go into it.
    key: contentKey(JSON.stringify({ tool, source }), recipe, base),
    make: async (ref) => {
      if (source.kind === 'upstream-source') await buildFromSource(source, ref);
      else await buildPrebuilt(entry, ref);
    },
  };
}

async function buildPrebuilt(entry: Entry, ref: string): Promise<void> {
  await withScratch(async (tree) => {
    await layOut(entry, tree);
    await buildImage({ ref, context: tree, dockerfile: join(toolsDir, 'prebuilt', 'Dockerfile') });
  });
}

function recipeOf({ source, command }: Entry): string {
  if (source.kind === 'upstream-source') return `${(source as SourceOf<'upstream-source'>).recipe}-source`;
  return command[0] === '{node}' ? 'mediainfo-wasm' : 'prebuilt';
}
