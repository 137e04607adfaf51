/** A copy of this checkout with patches applied, as a newcomer would have it. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');

export interface Checkout {
  path: string;
  /** The files that the patches touch, as counted by `git diff --stat`. */
  changed: string[];
  /** Runs a program in it. Throws its output if it fails. */
  run(program: string, ...args: string[]): Promise<string>;
  typeCheck(): Promise<unknown>;
  remove(): void;
}

// By default four threads check, and each computes what they share: 16.5 s of CPU where one takes 10.
const TYPE_CHECK = ['--noEmit', '--incremental', 'false', '--checkers', '1'];

export async function patched(...patches: string[]): Promise<Checkout> {
  const path = mkdtempSync(join(tmpdir(), 'probeyard-newcomer-'));
  const run = async (program: string, ...args: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(program, args, { cwd: path, maxBuffer: 64 << 20 }).catch(
      (error: { stdout?: string; stderr?: string; message: string }) => {
        throw new Error(`${error.message}\n${error.stdout ?? ''}${error.stderr ?? ''}`);
      },
    );
    return stdout;
  };
  const copied = spawnSync(
    'bash',
    // Files deleted without a commit are still listed.
    [
      '-c',
      'git ls-files -co --exclude-standard | while read -r f; do [ -e "$f" ' +
        '] && echo "$f"; done | tar c -T - | tar x -C "$0"',
      path,
    ],
    { cwd: ROOT, encoding: 'utf8' },
  );
  if (copied.status !== 0) throw new Error(`cannot copy the checkout: ${copied.stderr}`);
  symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'));
  await run('git', 'init', '-q');
  await run('git', 'add', '-A', '--', ':!node_modules');
  await run('git', '-c', 'user.name=newcomer', '-c', 'user.email=newcomer@example.com', 'commit', '-qm', 'Before');
  // If one no longer applies, make its few changes by hand and write it again with `git diff -U1`.
  for (const patch of patches) await run('git', 'apply', '-C1', '--recount', join(import.meta.dirname, patch));
  await run('git', 'add', '-AN', '--', ':!node_modules');
  const stat = await run('git', 'diff', '--stat=200');
  return {
    path,
    changed: stat.split('\n').flatMap((line) => (line.includes('|') ? [line.split('|')[0]!.trim()] : [])),
    run,
    typeCheck: () => run(join(path, 'node_modules/.bin/tsc'), ...TYPE_CHECK),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}
