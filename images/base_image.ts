/** The debootstrap root as an image, which Dockerfiles here use as BASE. */
import { type Architecture, suffixOf, USUAL } from './architecture.ts';
import { baseRoot } from './base.ts';
import { hasImage, importFolder } from './buildah.ts';
import { PREFIX } from './built_image.ts';
import { timed } from './progress.ts';

export async function importBase(arch: Architecture = USUAL): Promise<string> {
  const { folder, key } = await baseRoot(arch);
  const ref = `${PREFIX}/base:bookworm-${key}`;
  if (!(await hasImage(ref))) await timed(`base image${suffixOf(arch)}`, () => importFolder(folder, ref, arch));
  return ref;
}
