/** A command under the name of a program, in a folder of its own, for `PATH`. */
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns its path. */
export function standIn(folder: string, name: string, command: readonly string[]): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\nexec ${command.map((part) => `'${part}'`).join(' ')} "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
const PROGRAMS = ['probeyard', 'kubectl-probeyard', 'kubectl_complete-probeyard'];

/**
 * The programs of the command line of this checkout, for `PATH`, by this Node. Each does what the name says that it is
 * called by, so a link to one of them under the name of a tool takes that tool's flags.
 */
export function standInsOfCheckout(folder: string): string {
  const links = join(folder, '.links');
  rmSync(links, { recursive: true, force: true });
  mkdirSync(links, { recursive: true });
  for (const name of [...PROGRAMS, 'ffprobe', 'mediainfo']) symlinkSync(MAIN, join(links, name));
  for (const name of PROGRAMS) {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${links}'/"$(basename "$0")" "$@"\n`);
    chmodSync(path, 0o755);
  }
  return folder;
}
