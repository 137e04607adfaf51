/**
 * Uploaded files on the disk of an API replica, from their first byte to the end of their request. The room is counted
 * while a file arrives: in all, and by account.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { chunkCipher, CHUNK_BYTES, cutter, readTokenOf, storedBytes } from './chunks.ts';

export type UploadRefusal = 'too-large' | 'spool-full' | 'account-full' | 'empty';

export class UploadRefused extends Error {
  readonly why: UploadRefusal;
  constructor(why: UploadRefusal, cause?: unknown) {
    super(`upload refused: ${why}`, cause === undefined ? undefined : { cause });
    this.why = why;
  }
}

/** A file that is on the disk as a whole. */
export interface SpooledFile {
  id: string;
  key: string;
  size: number;
  sha256: string | undefined;
  /** Nobody reads it any more. May be called again. */
  remove(): Promise<void>;
}

export interface Reception {
  maxBytes: number;
  /** Whether the digest of the content is wanted, too. */
  hashed: boolean;
}

/** Of all accounts. A file of a few bytes takes a block and an entry, too. */
const MOST_FILES = 256;

const NO_SPACE = new Set(['ENOSPC', 'EDQUOT']);

/** Files of an earlier process are useless: their keys are gone. */
async function emptied(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true });
}

interface Kept {
  token: Buffer;
  stored: number;
}

/** Bytes and files, in all and by account. */
function makeRoom(maxBytes: number) {
  const held = new Map<number, { files: number; bytes: number }>();
  const all = { files: 0, bytes: 0 };
  return {
    all,
    begin(account: number): void {
      const own = held.get(account) ?? { files: 0, bytes: 0 };
      const free = MOST_FILES - all.files;
      if (free === 0) throw new UploadRefused('spool-full');
      // At most a third of what is free: a quarter of all places for one account, and a quarter of the rest for the
      // next. Four that take all they can get leave 81 to others.
      if (3 * own.files >= free) throw new UploadRefused('account-full');
      held.set(account, own);
      own.files++;
      all.files++;
    },
    take(account: number, bytes: number): void {
      const own = held.get(account)!;
      if (all.bytes + bytes > maxBytes) throw new UploadRefused('spool-full');
      if (own.bytes + bytes > maxBytes / 2) throw new UploadRefused('account-full');
      own.bytes += bytes;
      all.bytes += bytes;
    },
    end(account: number, bytes: number): void {
      const own = held.get(account)!;
      own.files--;
      own.bytes -= bytes;
      all.files--;
      all.bytes -= bytes;
      if (own.files === 0) held.delete(account);
    },
  };
}

const sameText = (kept: Buffer, given: string): boolean => {
  const bytes = Buffer.from(given);
  return bytes.length === kept.length && timingSafeEqual(bytes, kept);
};

/** Writes the pieces as they come, encrypted; nothing is held but a chunk. */
async function write(handle: FileHandle, pieces: AsyncIterable<Buffer>, key: string): Promise<void> {
  const cipher = chunkCipher(key);
  const chunks = cutter(CHUNK_BYTES);
  let index = 0;
  for await (const piece of pieces)
    for (const chunk of chunks.cut(piece)) await handle.appendFile(cipher.seal(chunk, index++));
  const rest = chunks.rest();
  if (rest.length > 0) await handle.appendFile(cipher.seal(rest, index));
}

export type Spool = Awaited<ReturnType<typeof openSpool>>;
/**
 * Room for one file, taken before its first byte is read. `receive`: at most once; the place is then the file's, and
 * becomes free with it. `release`: without effect once a file was received; it may be called again.
 */
export type SpoolPlace = ReturnType<Spool['reserve']>;

/** `maxBytes`: for all files of this replica. One account has half of it. */
export async function openSpool({ folder, maxBytes }: { folder: string; maxBytes: number }) {
  await emptied(folder);
  const room = makeRoom(maxBytes);
  const files = new Map<string, Kept>();

  async function receive(
    account: number,
    pieces: AsyncIterable<Buffer>,
    { maxBytes: most, hashed }: Reception,
  ): Promise<SpooledFile> {
    const id = randomBytes(16).toString('hex');
    const key = randomBytes(32).toString('base64url');
    const path = join(folder, id);
    const hash = hashed ? createHash('sha256') : undefined;
    let size = 0;
    let taken = 0;
    let removing: Promise<void> | undefined;
    const remove = (): Promise<void> =>
      (removing ??= (async () => {
        files.delete(id);
        await rm(path, { force: true }).finally(() => room.end(account, taken));
      })());
    async function* counted(): AsyncGenerator<Buffer> {
      for await (const piece of pieces) {
        size += piece.length;
        if (size > most) throw new UploadRefused('too-large');
        const more = storedBytes(size) - taken;
        room.take(account, more);
        taken += more;
        hash?.update(piece);
        yield piece;
      }
    }
    try {
      const handle = await open(path, 'wx', 0o600);
      try {
        await write(handle, counted(), key);
      } finally {
        await handle.close();
      }
      if (size === 0) throw new UploadRefused('empty');
    } catch (error) {
      await remove().catch(() => {});
      throw NO_SPACE.has((error as NodeJS.ErrnoException).code ?? '') ? new UploadRefused('spool-full', error) : error;
    }
    files.set(id, { token: Buffer.from(readTokenOf(key)), stored: storedBytes(size) });
    return { id, key, size, sha256: hash?.digest('hex'), remove };
  }

  return {
    reserve(account: number) {
      room.begin(account);
      let held = true;
      return {
        receive(pieces: AsyncIterable<Buffer>, reception: Reception): Promise<SpooledFile> {
          held = false;
          return receive(account, pieces, reception);
        },
        release(): void {
          if (held) room.end(account, 0);
          held = false;
        },
      };
    },
    /** Undefined: no such file, or not the right to read it. */
    read(id: string, token: string, range?: { start: number; end: number }) {
      const kept = files.get(id);
      if (kept === undefined || !sameText(kept.token, token)) return undefined;
      return {
        size: kept.stored,
        open: () => createReadStream(join(folder, id), { ...range, highWaterMark: 1 << 18 }),
      };
    },
    figures: () => ({ ...room.all }),
    async close(): Promise<void> {
      files.clear();
      await emptied(folder);
    },
  };
}
