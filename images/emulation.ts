/** Runs programs of another architecture while images are made for it, by QEMU, without installing anything. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchProgram } from '../test/debian_program.ts';
import { type Architecture, USUAL } from './architecture.ts';
import { attempt, run } from './command.ts';
import { say } from './progress.ts';

const PLACE = '/proc/sys/fs/binfmt_misc';
const NAME = 'probeyard-arm64';
/** The head of a 64-bit little-endian ELF program (or shared object) for AArch64, and which of its bits count. */
const MAGIC = '\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00';
const MASK = '\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff';

const isRegistered = async (name: string): Promise<boolean> =>
  existsSync(join(PLACE, name)) && (await readFile(join(PLACE, name), 'utf8')).startsWith('enabled');

/**
 * The kernel starts such programs by QEMU while `work` runs, in containers, too, because it opens QEMU when told of it.
 * What the machine had registered itself is used, and left.
 */
export async function withEmulation<T>(arch: Architecture, work: () => Promise<T>): Promise<T> {
  if (arch === USUAL) return work();
  const mounted = !existsSync(join(PLACE, 'register'));
  if (mounted) await run('mount', ['-t', 'binfmt_misc', 'binfmt_misc', PLACE]);
  try {
    if (await isRegistered('qemu-aarch64')) return await work();
    const root = await fetchProgram({
      name: 'qemu-user-static',
      program: 'usr/bin/qemu-aarch64-static',
      isAlone: true,
    });
    if (existsSync(join(PLACE, NAME))) await writeFile(join(PLACE, NAME), '-1');
    const program = join(root, 'usr/bin/qemu-aarch64-static');
    await writeFile(join(PLACE, 'register'), `:${NAME}:M::${MAGIC}:${MASK}:${program}:F`);
    say(`programs for ${arch} run by ${program}`);
    try {
      return await work();
    } finally {
      await writeFile(join(PLACE, NAME), '-1');
    }
  } finally {
    if (mounted) await attempt('umount', [PLACE]);
  }
}
