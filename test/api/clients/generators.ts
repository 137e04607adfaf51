/** Generators of clients, pinned, each in a folder of its own in the cache. The product depends on none of them. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { cacheDir } from '../../../images/cache.ts';

/** With the TypeScript that openapi-typescript supports, and the small client for its types. */
const PACKAGES = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3'];
const PYTHON_CLIENT = '0.29.1';
const INSTALL_MS = 240_000;

function run(command: string, args: readonly string[], cwd: string): string | undefined {
  const { status, error, stderr, stdout } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    timeout: INSTALL_MS,
    env: { ...process.env, PATH: `${join(cwd, 'bin')}${delimiter}${process.env['PATH']}` },
  });
  return status === 0 ? undefined : `${command}: ${error?.message ?? (stderr || stdout).trim().split('\n').at(-1)}`;
}

/** The folder; null if the generator is unavailable, with the reason printed. */
function installed(name: string, proof: readonly string[], steps: readonly (readonly string[])[]): string | null {
  const folder = join(cacheDir, 'clients', name);
  const [program = '', ...args] = proof;
  if (existsSync(folder) && run(program, args, folder) === undefined) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  for (const [command = '', ...rest] of [...steps, proof]) {
    const failed = run(command, rest, folder);
    if (failed === undefined) continue;
    console.log(`        ${name} cannot be had: ${failed}`);
    return null;
  }
  return folder;
}

export const openapiTypescript = (): string | null =>
  installed(
    PACKAGES[0]!,
    [process.execPath, 'node_modules/openapi-typescript/bin/cli.js', '--version'],
    [['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent', '--save-exact', ...PACKAGES]],
  );

export const openapiPythonClient = (): string | null =>
  installed(
    `openapi-python-client@${PYTHON_CLIENT}`,
    ['openapi-python-client', '--version'],
    [
      ['python3', '-m', 'venv', '.'],
      ['pip', 'install', '--quiet', '--disable-pip-version-check', `openapi-python-client==${PYTHON_CLIENT}`],
    ],
  );
