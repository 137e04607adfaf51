/**
 * The disk of the machine: the programs of this one, a clone of the repository at HEAD with its packages, and of the
 * cache what was built. Nothing is built or fetched in the machine.
 */
import { chmod, copyFile, cp, mkdir, readdir, readlink, symlink, writeFile } from 'node:fs/promises';
import { existsSync, lstatSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cacheDir } from '../../images/cache.ts';
import { run } from '../../images/command.ts';
import { fetchProgram } from '../debian_program.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const LINKS = ['bin', 'sbin', 'lib', 'lib64', 'lib32', 'libx32'];
/** Large, and used by nothing that runs here. */
const LEFT_OUT = ['share/doc', 'share/man', 'share/locale', 'lib/google-cloud-sdk', 'lib/llvm-14', 'lib/jvm'];
const CACHED = ['images', 'bin', 'base', 'programs', 'compiled', 'node', 'packages', 'sources', 'samples'];
const FOR_DISK = ['virtio_pci', 'virtio_blk', 'crc32c_generic', 'ext4'];
const SIZE = '24G';

export interface Machine {
  kernel: string;
  initramfs: string;
  disk: string;
}

/** Debian's kernel for clouds: its package is named by its version. */
async function kernelIn(folder: string): Promise<{ release: string; root: string }> {
  const depends = await run('apt-cache', ['depends', 'linux-image-cloud-amd64']);
  const name = /Depends: (linux-image-(\S+))/.exec(depends);
  if (!name?.[1] || !name[2]) throw new Error('apt knows no linux-image-cloud-amd64: apt-get update');
  const [, image, release] = name;
  const root = await fetchProgram({ name: image, program: `boot/vmlinuz-${release}`, isAlone: true });
  await run('cp', ['-al', join(root, 'lib', 'modules', release), join(folder, 'usr', 'lib', 'modules')]);
  await run('depmod', ['-b', folder, release]);
  return { release, root };
}

async function programsIn(folder: string): Promise<void> {
  for (const name of ['proc', 'sys', 'dev', 'run', 'tmp', 'root', 'var/lib', 'var/log', 'var/tmp', 'work', 'vm/path'])
    await mkdir(join(folder, name), { recursive: true });
  for (const name of LINKS) {
    const from = `/${name}`;
    if (existsSync(from) && lstatSync(from).isSymbolicLink()) await symlink(await readlink(from), join(folder, name));
  }
  await cp('/etc', join(folder, 'etc'), { recursive: true, verbatimSymlinks: true });
  // Links to the same files: a copy would take minutes.
  await run('cp', ['-al', '/usr', folder]);
  await run('rm', ['-rf', ...LEFT_OUT.map((name) => join(folder, 'usr', name))]);
  await mkdir(join(folder, 'usr', 'lib', 'modules'), { recursive: true });
}

async function checkoutIn(folder: string): Promise<void> {
  const checkout = join(folder, 'work', 'main');
  await run('git', ['clone', '-q', ROOT, checkout]);
  await run('cp', ['-al', join(ROOT, 'node_modules'), checkout]);
  const cache = join(folder, 'root', '.cache', 'probeyard');
  await mkdir(cache, { recursive: true });
  for (const name of CACHED)
    if (existsSync(join(cacheDir, name))) await run('cp', ['-al', join(cacheDir, name), cache]);
  const node = await run(process.execPath, ['-p', 'process.execPath']);
  await copyFile(node.trim(), join(folder, 'vm', 'path', 'node'));
}

/** The modules in the order in which they are loaded, with a shell. */
async function initramfsOf(folder: string, release: string, scratch: string): Promise<string> {
  const tree = join(scratch, 'initramfs');
  for (const name of ['bin', 'dev', 'proc', 'root', 'modules']) await mkdir(join(tree, name), { recursive: true });
  const busybox = await fetchProgram({ name: 'busybox-static', program: 'bin/busybox', isAlone: true });
  await copyFile(join(busybox, 'bin', 'busybox'), join(tree, 'bin', 'busybox'));
  const order: string[] = [];
  for (const module of FOR_DISK) {
    const shown = await run('modprobe', ['-d', folder, '-S', release, '--show-depends', module]);
    for (const [, path] of shown.matchAll(/^insmod (\S+)/gm)) {
      if (!path || order.includes(basename(path))) continue;
      await copyFile(path, join(tree, 'modules', basename(path)));
      order.push(basename(path));
    }
  }
  await writeFile(join(tree, 'modules', 'order'), `${order.join('\n')}\n`);
  await copyFile(join(import.meta.dirname, 'initramfs.sh'), join(tree, 'init'));
  await chmod(join(tree, 'init'), 0o755);
  const packed = join(scratch, 'initramfs.gz');
  await run('sh', ['-c', `cd '${tree}' && find . | cpio -o -H newc --quiet | gzip -1 > '${packed}'`]);
  return packed;
}

/** `work`: the script that the machine runs. */
export async function makeMachine(scratch: string, work: string): Promise<Machine> {
  const folder = join(scratch, 'root');
  await mkdir(folder, { recursive: true });
  await programsIn(folder);
  await checkoutIn(folder);
  const { release, root } = await kernelIn(folder);
  await copyFile(join(import.meta.dirname, 'init.sh'), join(folder, 'vm', 'init'));
  await chmod(join(folder, 'vm', 'init'), 0o755);
  await writeFile(join(folder, 'vm', 'work'), work);
  const initramfs = await initramfsOf(folder, release, scratch);
  const disk = join(scratch, 'disk');
  await run('truncate', ['-s', SIZE, disk]);
  await run('mke2fs', ['-q', '-t', 'ext4', '-O', '^has_journal', disk]);
  // mke2fs can fill it itself, in ten times as long.
  const mounted = join(scratch, 'mounted');
  await mkdir(mounted);
  await run('mount', ['-o', 'loop', disk, mounted]);
  try {
    await run('cp', ['-a', `${folder}/.`, mounted]);
  } finally {
    await run('umount', [mounted]);
  }
  const [kernel] = (await readdir(join(root, 'boot'))).filter((name) => name.startsWith('vmlinuz-'));
  return { kernel: join(root, 'boot', kernel!), initramfs, disk };
}
