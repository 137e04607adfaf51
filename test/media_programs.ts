/**
 * Debian's ffmpeg, ffprobe and mediainfo for tests that make media or read it beside the product. `make test` fetches
 * them where the machine has none, and every process of a run has them in its PATH (test/files.ts).
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir } from '../images/cache.ts';
import { type DebianProgram, fetchProgram } from './debian_program.ts';

const PROGRAMS: readonly [DebianProgram, ...names: string[]][] = [
  [{ name: 'ffmpeg', program: 'usr/bin/ffmpeg' }, 'ffmpeg', 'ffprobe'],
  [{ name: 'mediainfo', program: 'usr/bin/mediainfo' }, 'mediainfo'],
];
const FOLDER = join(cacheDir, 'media_programs');

const isInstalled = (program: string): boolean => spawnSync(program, ['-version']).error === undefined;

/** Libraries of theirs that lie in folders of their own. */
const PLACES = ['', '/pulseaudio', '/blas', '/lapack'];

function librariesIn(root: string): string {
  const folder = join(root, 'usr/lib');
  const machines = readdirSync(folder).filter((name) => name.endsWith('-linux-gnu'));
  return machines.flatMap((name) => PLACES.map((place) => join(folder, `${name}${place}`))).join(':');
}

export async function fetchMediaPrograms(): Promise<void> {
  for (const [program, ...names] of PROGRAMS) {
    if (names.every(isInstalled)) continue;
    const root = await fetchProgram(program);
    mkdirSync(FOLDER, { recursive: true });
    for (const name of names) {
      const path = join(FOLDER, name);
      const text = `#!/bin/sh\nLD_LIBRARY_PATH='${librariesIn(root)}' exec '${join(root, 'usr/bin', name)}' "$@"\n`;
      writeFileSync(path, text);
      chmodSync(path, 0o755);
    }
  }
}

/** What the machine has comes first. */
export const withMediaPrograms = (path = ''): string => (existsSync(FOLDER) ? `${path}:${FOLDER}` : path);
