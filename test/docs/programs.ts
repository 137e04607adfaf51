/** The commands that run a block, by its language. */
import { symlink, writeFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { standInsOfCheckout } from '../cli/stand_in.ts';
import { fetchedProgram, fetchProgram } from '../debian_program.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const COMPILER = '--noEmit --strict --module nodenext --target es2024 --lib es2024,dom --types node';

export interface Command {
  program: string;
  args: readonly string[];
  env?: Record<string, string>;
}

export interface Program {
  file: string;
  /** Run one after the other: what checks the block, then what runs it. */
  commands(file: string): Command[];
  /** A block that is a page of a server, instead of a server itself. */
  serve?(file: string, port: number): Command;
  /** Why it cannot run on this machine. */
  missing?: string;
}

export const PHP = { name: 'php8.2-cli', program: 'usr/bin/php8.2' };

const has = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0;

async function php(): Promise<Program> {
  const missing = 'there is no php: node test/docs/programs.ts fetches it';
  const root = await fetchedProgram(PHP);
  const program = root === undefined ? 'php' : join(root, PHP.program);
  if (root === undefined && !has('php', '--version')) return { file: 'block.php', commands: () => [], missing };
  const libraries = root === undefined ? '' : join(root, 'usr/lib/x86_64-linux-gnu');
  const env = libraries === '' ? {} : { LD_LIBRARY_PATH: libraries };
  return {
    file: 'block.php',
    commands: (file) => [
      { program, args: ['-n', '-l', file], env },
      { program, args: ['-n', file], env },
    ],
    serve: (file, port) => ({ program, args: ['-n', '-S', `127.0.0.1:${port}`, file], env }),
  };
}

export async function programs(): Promise<Readonly<Record<string, Program>>> {
  const node = process.execPath;
  return {
    sh: { file: 'block.sh', commands: (file) => [{ program: 'bash', args: ['--norc', '-euo', 'pipefail', file] }] },
    typescript: {
      file: 'block.ts',
      commands: (file) => [
        { program: node, args: [join(ROOT, 'node_modules/typescript/bin/tsc'), ...COMPILER.split(' '), file] },
        { program: node, args: ['--disable-warning=ExperimentalWarning', file] },
      ],
    },
    python: { file: 'block.py', commands: (file) => [{ program: 'python3', args: [file] }] },
    go: {
      file: 'main.go',
      commands: (file) => [
        { program: 'go', args: ['vet', file] },
        { program: 'go', args: ['build', '-o', 'block', file] },
        { program: './block', args: [] },
      ],
      ...(has('go', 'version') ? {} : { missing: 'there is no go' }),
    },
    php: await php(),
  };
}

/** A folder where `probeyard` is this checkout's command line, and modules of the repository are found. */
export async function prepare(folder: string): Promise<Record<string, string>> {
  const bin = standInsOfCheckout(join(folder, 'commands'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n');
  return { PATH: `${bin}${delimiter}${process.env['PATH']}` };
}

if (import.meta.main) console.log(await fetchProgram(PHP));
