/** An empty root with one tool mounted as in a runner, so that a missing dependency of the tool is detected. */
import { chmod, copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unpack } from './archive.ts';
import type { BuiltImage } from './built_image.ts';
import { withScratch } from './cache.ts';
import { commandFor, type Entry } from './catalog.ts';
import { TOOL_TABLE } from '../src/media/tools/table.ts';
import { attempt, type CommandResult } from './command.ts';

export interface Sandbox {
  root: string;
  /** The command line of the tool inside the root. */
  command: string[];
  run: (args: readonly string[]) => Promise<CommandResult>;
}

export async function withSandbox<T>(
  entry: Entry,
  image: BuiltImage,
  files: readonly string[],
  work: (sandbox: Sandbox) => Promise<T>,
): Promise<T> {
  return withScratch(async (root) => {
    await chmod(root, 0o755);
    const place = `/tools/${entry.tool}/${entry.version}`;
    await mkdir(join(root, place), { recursive: true });
    await unpack(image.archive, join(root, place));
    for (const name of ['dev', 'proc', 'tmp']) await mkdir(join(root, name));
    // A plain file instead of the device, because mknod may be refused and no tool reads from it here.
    await writeFile(join(root, 'dev/null'), '');
    for (const file of files) await copyFile(file, join(root, file.split('/').at(-1) ?? ''));
    const command = commandFor(entry, image.arch).map((part) => part.replaceAll('{root}', place));
    try {
      return await work({
        root,
        command,
        run: (args) =>
          attempt('env', [...CLEAN, 'chroot', '--userspec=65533:65533', root, ...command, ...args], {
            timeoutMs: 60_000,
          }),
      });
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
}

/** Without any settings of the machine, such as library paths or options of Node. */
const CLEAN = ['-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/'];

const proofOf = (tool: Entry['tool']) => TOOL_TABLE[tool]!.proof!;

export const versionArgs = ({ tool }: Pick<Entry, 'tool'>): string[] => [proofOf(tool).ask.version];

/** The number alone, because ffprobe may report n9.0.2-static. */
export const versionIn = ({ tool }: Pick<Entry, 'tool'>, output: string): string | undefined =>
  /\d+(?:\.\d+)*/.exec(proofOf(tool).says.exec(output)?.[1] ?? '')?.[0];
