/**
 * Generates the files and reads them with every tool version. Results in the cache are reused. `FILES` sets their
 * number. `HELD_OUT=1`: only those that training never sees, which is enough to measure, in two fifths of the time.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { make } from './make.ts';
import { recipe } from './recipe.ts';
import { splitOf } from './rows.ts';
import { programs, reportCache, type Program } from './tools.ts';
import type { Truth } from './truth.ts';

export const FILES = Number(process.env['FILES'] ?? 900);
export const mediaFolder = join(reportCache, 'media');
const readingsFolder = join(reportCache, 'readings');

/** Outputs by `<tool> <version>`, null if the tool failed. */
export type Readings = Record<string, string | null>;
export interface Example {
  file: string;
  truth: Truth;
  readings: Readings;
}

export async function read(file: string, all: readonly Program[], folder = readingsFolder): Promise<Readings> {
  mkdirSync(folder, { recursive: true });
  const kept = join(folder, `${basename(file)}.json.zst`);
  const known = existsSync(kept) ? (JSON.parse(zstdDecompressSync(readFileSync(kept)).toString()) as Readings) : {};
  const missing = all.filter(({ tool, version }) => !(`${tool} ${version}` in known));
  for (const program of missing) {
    const { output, failed } = await program.run(file);
    known[`${program.tool} ${program.version}`] = failed ? null : output;
  }
  if (missing.length > 0) writeFileSync(kept, zstdCompressSync(JSON.stringify(known)));
  return known;
}

/** Only what is in the cache, for training after a collection. */
export function examples(): Example[] {
  return readdirSync(mediaFolder)
    .filter((name) => name.endsWith('.truth.json'))
    .sort()
    .flatMap((name) => {
      const file = join(mediaFolder, name.replace('.truth.json', ''));
      const kept = join(readingsFolder, `${basename(file)}.json.zst`);
      if (!existsSync(kept)) return [];
      return [
        {
          file,
          truth: JSON.parse(readFileSync(join(mediaFolder, name), 'utf8')) as Truth,
          readings: JSON.parse(zstdDecompressSync(readFileSync(kept)).toString()) as Readings,
        },
      ];
    });
}

export async function collect(): Promise<void> {
  mkdirSync(mediaFolder, { recursive: true });
  const all = await programs();
  const begun = performance.now();
  let made = 0;
  let refused = 0;
  for (let number = 1; number <= FILES; number++) {
    if (process.env['HELD_OUT'] === '1' && splitOf(number) === 'train') continue;
    const example = await make(recipe(number), mediaFolder);
    if (example) {
      made += 1;
      await read(example.file, all);
    } else refused += 1;
    if (number % 20 === 0)
      console.log(
        `${number} of ${FILES}: ${made} made, ${refused} combinations that the ` +
          `encoders refuse, ${Math.round((performance.now() - begun) / 1000)} s`,
      );
  }
}

if (import.meta.main) await collect();
