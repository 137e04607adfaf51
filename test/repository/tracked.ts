import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const ROOT = new URL('../../', import.meta.url);

/** Every file of the repository, by its path from the root. */
export const tracked = (): string[] =>
  execFileSync('git', ['ls-files', '-z'], { cwd: fileURLToPath(ROOT), encoding: 'utf8' })
    .split('\0')
    .slice(0, -1);
