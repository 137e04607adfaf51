/**
 * Real media of others, in the folder that PROBEYARD_CORPUS names. It is no part of the repository; tests that read it
 * say so where it is missing.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The path of a file or folder of the corpus; skips the test where there is no corpus. */
export function corpus(context: Mocha.Context, path: string): string {
  const folder = process.env['PROBEYARD_CORPUS'];
  if (folder === undefined) {
    console.log('      skipped: PROBEYARD_CORPUS names no folder with real media');
    context.skip();
  }
  const found = join(folder, path);
  if (!existsSync(found)) throw new Error(`PROBEYARD_CORPUS: there is no ${path} in ${folder}`);
  return found;
}
