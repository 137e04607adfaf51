/** The package as it is published: packed, and installed into an empty folder. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const PACK_MS = 300_000;

export interface Packed {
  archive: string;
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

/** Once in a test run. */
export function packCli(): Packed {
  if (packed) return packed;
  const place = mkdtempSync(join(tmpdir(), 'probeyard-pack-'));
  process.on('exit', () => rmSync(place, { recursive: true, force: true }));
  npm(join(root, 'src/cli'), 'pack', '--pack-destination', place);
  const name = readdirSync(place).find((file) => file.endsWith('.tgz'));
  if (name === undefined) throw new Error('npm pack made no archive');
  const archive = join(place, name);
  writeFileSync(join(place, 'package.json'), '{"private": true}\n');
  npm(place, 'install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', archive);
  packed = { archive, folder: place, bin: (bin) => join(place, 'node_modules/.bin', bin) };
  return packed;
}
