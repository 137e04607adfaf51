/** The console's files (images/console_bundle.ts). */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isStatic, readStaticFile, type StaticFile } from '../http/static_files.ts';

/** Beside the sources of the image. */
export const CONSOLE_FOLDER = fileURLToPath(new URL('../../../../console', import.meta.url));

export interface ConsoleFiles {
  page: StaticFile;
  assets: ReadonlyMap<string, StaticFile>;
}

/** All of them are held in memory: they are smaller than one result. */
export function readConsoleFiles(folder: string): ConsoleFiles {
  const names = readdirSync(join(folder, 'assets')).filter(isStatic);
  return {
    page: readStaticFile(join(folder, 'index.html')),
    assets: new Map(names.map((name) => [name, readStaticFile(join(folder, 'assets', name))])),
  };
}
