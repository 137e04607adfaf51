/**
 * The role `backup-key`, run by the operator outside the cluster: `new` makes a key pair, `unlock FILE < backup` prints
 * the key of that one backup. It reads the backup's header alone.
 */
import { readFileSync } from 'node:fs';
import { fileKeyFor, fileKeyText, newKeyPair, readOpener } from './age.ts';
import type { Bytes } from './bytes.ts';

const USAGE = 'usage: main.ts backup-key new | main.ts backup-key unlock IDENTITY_FILE < BACKUP';

export async function answer(args: readonly string[], input: Bytes): Promise<string> {
  const [command, file, ...more] = args;
  if (command === 'new' && file === undefined) {
    const { identity, recipient } = await newKeyPair();
    return `# Keep this file outside the cluster: it opens every backup.\n# public key: ${recipient}\n${identity}\n`;
  }
  if (command === 'unlock' && file !== undefined && more.length === 0)
    return `${fileKeyText(await fileKeyFor(input, readOpener(readFileSync(file, 'utf8'))))}\n`;
  throw new Error(USAGE);
}

export async function run(): Promise<void> {
  process.stdout.write(await answer(process.argv.slice(3), process.stdin));
}
