/** The console's files as the image brings them, each with its packed forms (images/console_bundle.ts). */
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Beside the sources of the image. */
export const CONSOLE_FOLDER = fileURLToPath(new URL('../../../console', import.meta.url));

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export type Packing = 'br' | 'gzip' | 'identity';

export interface ConsoleFile {
  type: string;
  bodies: Record<Packing, Buffer>;
}

export interface ConsoleFiles {
  page: ConsoleFile;
  assets: ReadonlyMap<string, ConsoleFile>;
}

const fileAt = (path: string): ConsoleFile => ({
  type: TYPES[extname(path)]!,
  bodies: { identity: readFileSync(path), gzip: readFileSync(`${path}.gz`), br: readFileSync(`${path}.br`) },
});

/** All of them are held in memory: they are smaller than one result. */
export function readConsoleFiles(folder: string): ConsoleFiles {
  const names = readdirSync(join(folder, 'assets')).filter((name) => extname(name) in TYPES);
  return {
    page: fileAt(join(folder, 'index.html')),
    assets: new Map(names.map((name) => [name, fileAt(join(folder, 'assets', name))])),
  };
}
