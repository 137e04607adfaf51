/** A command under the name of a program, in a folder of its own, for `PATH`. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns its path. */
export function standIn(folder: string, name: string, command: readonly string[]): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\nexec ${command.map((part) => `'${part}'`).join(' ')} "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}
