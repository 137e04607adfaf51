/** The debootstrap root as an image, which Dockerfiles here use as BASE. */
import { baseRoot } from './base.ts';
import { hasImage, importFolder } from './buildah.ts';
import { PREFIX } from './built_image.ts';
import { timed } from './progress.ts';

export async function importBase(): Promise<string> {
  const { folder, key } = await baseRoot();
  const ref = `${PREFIX}/base:bookworm-${key}`;
  if (!(await hasImage(ref))) await timed('base image', () => importFolder(folder, ref));
  return ref;
}
