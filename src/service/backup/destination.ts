/** Where backups are kept: a folder (a volume claim), or S3-compatible storage (s3.ts). */
import { createReadStream } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bytes } from './bytes.ts';
import { BackupError } from './errors.ts';

export interface Destination extends Disposable {
  /** Nothing has this name until all of it is stored. Returns its size. */
  write(name: string, bytes: Bytes): Promise<number>;
  read(name: string): Bytes;
  /** The names, in order. */
  list(): Promise<string[]>;
  remove(name: string): Promise<void>;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;

/** A name that stays inside its folder. */
export function checkName(name: string): string {
  if (!NAME.test(name))
    throw new BackupError('not-found', 'the name of a backup has letters, digits, ".", "_" and "-" only');
  return name;
}

const HALF = '.half';

/** The message of a system error carries its path, which is the operator's own. */
const failed = (what: string, error: unknown): BackupError => {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  return new BackupError(code === 'ENOENT' ? 'not-found' : 'destination', `${what} (${code})`, { cause: error });
};

export function folder(path: string): Destination {
  return {
    async write(name, bytes) {
      const half = join(path, `${checkName(name)}${HALF}`);
      let size = 0;
      try {
        {
          await using file = await open(half, 'w', 0o600);
          for await (const chunk of bytes) {
            for (let from = 0; from < chunk.length;) from += (await file.write(chunk, from)).bytesWritten;
            size += chunk.length;
          }
          await file.sync();
        }
        await rename(half, join(path, name));
        return size;
      } catch (error) {
        await rm(half, { force: true }).catch(() => {});
        if (error instanceof Error && 'syscall' in error) throw failed(`cannot write ${name} to the claim`, error);
        throw error;
      }
    },
    async *read(name) {
      const file = join(path, checkName(name));
      try {
        for await (const chunk of createReadStream(file)) yield chunk as Buffer;
      } catch (error) {
        throw failed(`cannot read ${name}`, error);
      }
    },
    async list() {
      try {
        return (await readdir(path)).filter((name) => NAME.test(name) && !name.endsWith(HALF)).sort();
      } catch (error) {
        throw failed('cannot list the claim', error);
      }
    },
    async remove(name) {
      await rm(join(path, checkName(name)), { force: true });
    },
    [Symbol.dispose]() {},
  };
}
