/** A copy of the tree in which guards are taken out: what git tracks, as it stands in the working tree; packages stay where they are. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Mutation } from './mutation.ts';

export const ROOT = join(import.meta.dirname, '../..');

export interface Copy { root: string; tmp: string; remove(): void }

class MutationError extends Error {
  readonly code = 'mutation-does-not-apply';
}

/** With these files alone; empty: all. */
export function copyTree(only: readonly string[] = []): Copy {
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-mutations-'));
  const [root, tmp] = [join(folder, 'tree'), join(folder, 'tmp')];
  for (const path of [root, tmp]) mkdirSync(path);
  // Servers of the tests run as other users.
  chmodSync(folder, 0o755);
  chmodSync(tmp, 0o1777);
  const files = execFileSync('git', ['ls-files', '-z', '--', ...only], { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 << 20 }).split('\0').filter((file) => file !== '');
  for (const file of files) {
    // Deleted, and not committed yet.
    if (!existsSync(join(ROOT, file))) continue;
    mkdirSync(dirname(join(root, file)), { recursive: true });
    cpSync(join(ROOT, file), join(root, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  return { root, tmp, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The text of the file with the guard taken out. Throws where the guard does not stand there exactly once. */
export function mutated(text: string, { file, from, to }: Pick<Mutation, 'file' | 'from' | 'to'>): string {
  const places = text.split(from).length - 1;
  if (places !== 1) throw new MutationError(`${file}: ${JSON.stringify(from)} stands there ${places} times, and not once`);
  return text.split(from).join(to);
}

/** Takes the guard out; the answer puts it back. */
export function apply({ root }: Pick<Copy, 'root'>, mutation: Mutation): () => void {
  const path = join(root, mutation.file);
  const before = readFileSync(path, 'utf8');
  writeFileSync(path, mutated(before, mutation));
  return () => writeFileSync(path, before);
}
