/** Older versions of Node. */
import { join } from 'node:path';
import { fetched, npmInstall } from './fetched.ts';

/** Its path; null if it cannot be had, with the reason printed. */
export function nodeOf(version: string): string | null {
  const name = `node-linux-${process.arch}`;
  const proof = join('node_modules', name, 'bin/node');
  const folder = fetched({ name: join('node', version), steps: [npmInstall(`${name}@${version}`)], proof });
  return folder === null ? null : join(folder, proof);
}
