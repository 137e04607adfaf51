import { readFile } from 'node:fs/promises';
import type { Static, TSchema } from 'typebox';
import Value from 'typebox/value';
import { ClusterError, codeOf } from './cluster_error.ts';

/** Reads a JSON file of ours. Undefined if it does not exist, and an error if its content is invalid. */
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
    // Reported below.
  }
  throw new ClusterError(
    'STATE_UNREADABLE',
    `${file} is not what this version of make up writes: remove that file, make down, then make up`,
  );
}
