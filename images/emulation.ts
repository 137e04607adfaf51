/** Runs programs of another architecture while images are made for it, by QEMU, without installing anything. */
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchProgram } from '../test/debian_program.ts';
import { type Architecture, USUAL } from './architecture.ts';
import { run } from './command.ts';

const PLACE = '/proc/sys/fs/binfmt_misc';
/** Of each process its own, so that one that ends takes nothing from another. */
const PREFIX = 'probeyard-arm64-';
/** The head of a 64-bit little-endian ELF program (or shared object) for AArch64, and which of its bits count. */
const MAGIC = '\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00';
const MASK = '\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff';

const isRegistered = async (name: string): Promise<boolean> =>
  existsSync(join(PLACE, name)) && (await readFile(join(PLACE, name), 'utf8')).startsWith('enabled');

/** What a killed process left. */
async function dropAbandoned(): Promise<void> {
  for (const name of await readdir(PLACE))
    if (name.startsWith(PREFIX) && !existsSync(join('/proc', name.slice(PREFIX.length))))
      await writeFile(join(PLACE, name), '-1');
}

/**
 * The kernel starts such programs by QEMU while `work` runs, in containers, too, because it opens QEMU when told of it.
 * What the machine had registered itself is used, and left.
 */
export async function withEmulation<T>(arch: Architecture, work: () => Promise<T>): Promise<T> {
  if (arch === USUAL) return work();
  const mounts = !existsSync(join(PLACE, 'register'));
  if (mounts) await run('mount', ['-t', 'binfmt_misc', 'binfmt_misc', PLACE]);
  try {
    if (await isRegistered('qemu-aarch64')) return await work();
    const root = await fetchProgram({
      name: 'qemu-user-static',
      program: 'usr/bin/qemu-aarch64-static',
      isAlone: true,
    });
    await dropAbandoned();
    const name = `${PREFIX}${process.pid}`;
    const program = join(root, 'usr/bin/qemu-aarch64-static');
    await writeFile(join(PLACE, 'register'), `:${name}:M::${MAGIC}:${MASK}:${program}:F`);
    try {
      return await work();
    } finally {
      await writeFile(join(PLACE, name), '-1');
    }
  } finally {
    if (mounts && !(await readdir(PLACE)).some((name) => name.startsWith(PREFIX))) await run('umount', [PLACE]);
  }
}
