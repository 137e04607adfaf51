/** The package as an installation serves it, installed into an empty folder. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { bundleCli } from '../../images/cli_bundle.ts';
import { oncePerRun } from '../once_per_run.ts';

const root = join(import.meta.dirname, '../..');
const PACK_MS = 300_000;

export interface Packed {
  /** The folder of what is served. */
  served: string;
  /** The folder that it is installed into. */
  folder: string;
  bin(name: string): string;
}

function npm(cwd: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync('npm', args, {
    cwd,
    encoding: 'utf8',
    timeout: PACK_MS,
    env: { ...process.env, PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env['PATH']}` },
  });
  if (status !== 0) throw new Error(`npm ${args.join(' ')}: ${stdout}${stderr}`);
}

let packed: Packed | undefined;

/** Once in a process. */
export async function packCli(): Promise<Packed> {
  if (packed) return packed;
  const served = await oncePerRun('client', bundleCli);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-pack-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const archive = join(served, 'cli.tgz');
  writeFileSync(join(folder, 'package.json'), '{"private": true}\n');
  npm(folder, 'install', '--offline', '--no-audit', '--no-fund', archive);
  packed = { served, folder, bin: (bin) => join(folder, 'node_modules/.bin', bin) };
  return packed;
}
