import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWhole } from './daemon.ts';
import { localDir } from './layout.ts';

export const envFile = join(localDir, 'env');

/** Writes `.local/env` for sourcing, merging the given values into it. */
export async function writeEnvironment(values: Readonly<Record<string, string>>): Promise<void> {
  const all = { ...(await readEnvironment()), ...values };
  const { PATH: path, ...rest } = all;
  const lines = Object.entries(rest).map(([name, value]) => `export ${name}=${quote(value)}`);
  if (path !== undefined) lines.push(`export PATH=${quote(path.replace(/:\$PATH$/, ''))}:"$PATH"`);
  await writeWhole(envFile, `${lines.join('\n')}\n`);
}

export async function readEnvironment(): Promise<Record<string, string>> {
  return parseEnvironment(await readFile(envFile, 'utf8').catch(() => ''));
}

export function parseEnvironment(text: string): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [, name, value] of text.matchAll(/^export (\w+)=(.*)$/gm)) {
    values[name!] = value!
      .replace(/:"\$PATH"$/, ':$PATH')
      .replace(/'((?:[^']|'\\'')*)'/, (_, inner: string) => inner.replaceAll("'\\''", "'"));
  }
  return values;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
