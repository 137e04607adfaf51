/** A tar archive (ustar) as a stream of small files, so that `tar` reads a decrypted backup without Probeyard. */
import { ByteReader, type Bytes } from './bytes.ts';
import { BackupError } from './errors.ts';

export interface Member {
  name: string;
  body: Buffer;
}

const BLOCK = 512;
const NAME = 100;
/** Members are pieces of this size at most, so an archive is written and read in bounded memory. */
export const MOST_MEMBER = 1_048_576;

const padding = (length: number): Buffer => Buffer.alloc((BLOCK - (length % BLOCK)) % BLOCK);
const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`;

function headerOf(name: string, size: number, seconds: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0, 'latin1');
  header.write(octal(0o600, 8), 100, 'latin1');
  header.write(octal(0, 8), 108, 'latin1');
  header.write(octal(0, 8), 116, 'latin1');
  header.write(octal(size, 12), 124, 'latin1');
  header.write(octal(seconds, 12), 136, 'latin1');
  header.write(' '.repeat(8), 148, 'latin1');
  header.write('0', 156, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  header.write(`${octal(sumOf(header), 7)} `, 148, 'latin1');
  return header;
}

const sumOf = (header: Buffer): number => header.reduce((sum, byte) => sum + byte, 0);

export async function* archived(members: AsyncIterable<Member>, now = new Date()): AsyncGenerator<Buffer> {
  const seconds = Math.floor(now.getTime() / 1000);
  for await (const { name, body } of members) {
    if (Buffer.byteLength(name) >= NAME || body.length > MOST_MEMBER)
      throw new BackupError('damaged', `a member of the backup is too large: ${name}`);
    yield headerOf(name, body.length, seconds);
    yield body;
    yield padding(body.length);
  }
  yield Buffer.alloc(2 * BLOCK);
}

const textOf = (field: Buffer): string => field.toString('latin1').split('\0', 1)[0]!;

function sizeOf(header: Buffer): number {
  const expected = Number.parseInt(textOf(header.subarray(148, 156)).trim(), 8);
  const blank = Buffer.from(header);
  blank.write(' '.repeat(8), 148, 'latin1');
  const size = Number.parseInt(textOf(header.subarray(124, 136)), 8);
  if (sumOf(blank) !== expected || !(size >= 0 && size <= MOST_MEMBER))
    throw new BackupError('not-a-backup', 'the content is not an archive of a backup');
  return size;
}

export async function* unarchived(bytes: Bytes): AsyncGenerator<Member> {
  const reader = new ByteReader(bytes);
  try {
    for (;;) {
      const header = await reader.upTo(BLOCK);
      if (header.length < BLOCK) throw new BackupError('cut-short', 'the archive of the backup is cut short');
      if (header.every((byte) => byte === 0)) return;
      const size = sizeOf(header);
      const body = await reader.upTo(size + padding(size).length);
      if (body.length < size) throw new BackupError('cut-short', 'the archive of the backup is cut short');
      yield { name: textOf(header.subarray(0, NAME)), body: body.subarray(0, size) };
    }
  } finally {
    await reader.close();
  }
}
