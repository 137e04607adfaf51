/**
 * What is inside a backup: the description, the keys, the rows of each table in pieces, and a last member. They are a
 * tar archive (ustar) as a stream of small files, so that `tar` reads a decrypted backup without Probeyard.
 */
import type { DumpContent } from '../../platform/store/dump.ts';
import { jsonIn } from '../../base/json_in.ts';
import { BLOCK, END_OF_ARCHIVE, headerOf, padding, sumOf } from '../../base/tar.ts';
import { type Bytes, pieces, ByteReader } from './bytes.ts';
import { BackupError } from './errors.ts';
import type { Keys } from './keys.ts';

export interface Member {
  name: string;
  body: Buffer;
}

const NAME = 100;
/** Members are pieces of this size at most, so an archive is written and read in bounded memory. */
const MOST_MEMBER = 1_048_576;

export async function* archived(members: AsyncIterable<Member>, now = new Date()): AsyncGenerator<Buffer> {
  const seconds = Math.floor(now.getTime() / 1000);
  for await (const { name, body } of members) {
    if (Buffer.byteLength(name) >= NAME || body.length > MOST_MEMBER)
      throw new BackupError('damaged', `a member of the backup is too large: ${name}`);
    yield headerOf(name, body.length, seconds);
    yield body;
    yield padding(body.length);
  }
  yield END_OF_ARCHIVE;
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
  await using reader = new ByteReader(bytes);
  for (;;) {
    const header = await reader.upTo(BLOCK);
    if (header.length < BLOCK) throw new BackupError('cut-short', 'the archive of the backup is cut short');
    if (header.every((byte) => byte === 0)) return;
    const size = sizeOf(header);
    const body = await reader.upTo(size + padding(size).length);
    if (body.length < size) throw new BackupError('cut-short', 'the archive of the backup is cut short');
    yield { name: textOf(header.subarray(0, NAME)), body: body.subarray(0, size) };
  }
}

const FORMAT = 1;

export interface Manifest extends DumpContent {
  format: number;
}

const MANIFEST = 'manifest.json';
const KEYS = 'keys.json';
const END = 'end.json';
const json = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value, null, 2)}\n`);

export interface Source {
  content: DumpContent;
  rows(table: DumpContent['tables'][number]): Bytes;
}

export async function* membersOf({ content, rows }: Source, keys: Keys): AsyncGenerator<Member> {
  yield { name: MANIFEST, body: json({ format: FORMAT, ...content } satisfies Manifest) };
  yield { name: KEYS, body: json(keys) };
  const sizes: Record<string, number> = {};
  for (const table of content.tables) {
    let number = 0;
    let size = 0;
    for await (const body of pieces(rows(table), MOST_MEMBER)) {
      yield { name: `rows/${table.name}/${String(++number).padStart(8, '0')}`, body };
      size += body.length;
    }
    sizes[table.name] = size;
  }
  yield { name: END, body: json({ sizes }) };
}

const incomplete = (text: string): BackupError => new BackupError('damaged', `the backup is incomplete: ${text}`);

function parsed<T>(member: Member | undefined, name: string): T {
  if (member?.name !== name) throw incomplete(`${name} is missing`);
  const value = jsonIn(member.body.toString('utf8'));
  if (value === undefined) throw incomplete(`${name} is not valid JSON`);
  return value as T;
}

type TakeTable = (table: DumpContent['tables'][number], rows: Bytes) => Promise<void>;

export async function openMembers(members: AsyncGenerator<Member>) {
  const next = async (): Promise<Member | undefined> => {
    const { value, done } = await members.next();
    return done === true ? undefined : value;
  };
  const manifest = parsed<Manifest>(await next(), MANIFEST);
  if (manifest.format !== FORMAT)
    throw new BackupError(
      'other-version',
      `the backup has the format ${manifest.format}; this version reads ${FORMAT}`,
    );
  const keys = parsed<Keys>(await next(), KEYS);
  return {
    manifest,
    keys,
    /** The rows of one table after the other; each is read to its end. Throws at the end if anything is missing. */
    async tables(take: TakeTable): Promise<void> {
      const sizes = new Map<string, number>();
      let member = await next();
      const tableOfMember = (): string | undefined => /^rows\/([^/]+)\/\d+$/.exec(member?.name ?? '')?.[1];
      async function* rowsOf(name: string): AsyncGenerator<Buffer> {
        while (member && tableOfMember() === name) {
          sizes.set(name, (sizes.get(name) ?? 0) + member.body.length);
          yield member.body;
          member = await next();
        }
      }
      for (let name = tableOfMember(); name !== undefined; name = tableOfMember()) {
        const table = manifest.tables.find((one) => one.name === name);
        if (!table) throw incomplete(`rows of the unknown table ${name}`);
        await take(table, rowsOf(name));
      }
      const end = parsed<{ sizes: Record<string, number> }>(member, END);
      for (const { name } of manifest.tables)
        if ((sizes.get(name) ?? 0) !== end.sizes[name]) throw incomplete(`rows of the table ${name} are missing`);
      if (await next()) throw incomplete('something follows its end');
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await members.return(undefined).catch(() => {});
    },
  };
}
