import { readFile } from 'node:fs/promises';
import type { Static, TSchema } from 'typebox';
import Value from 'typebox/value';
import { ClusterError, codeOf } from './cluster_error.ts';

/** A JSON file of ours, undefined where there is none. Whatever else is in it is said, not guessed around. */
export async function readState<T extends TSchema>(schema: T, file: string): Promise<Static<T> | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    if (Value.Check(schema, value)) return value;
  } catch {
    // Told below.
  }
  throw new ClusterError(
    'STATE_UNREADABLE',
    `${file} is not what this version of make up writes: remove that file, make down, then make up`,
  );
}
