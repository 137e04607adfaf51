/** What is inside a backup: the description, the keys, the rows of each table in pieces, and a last member. */
import type { DumpContent } from '../../platform/store/dump.ts';
import { type Member, MOST_MEMBER } from './archive.ts';
import { type Bytes, pieces } from './bytes.ts';
import { BackupError } from './errors.ts';
import type { Keys } from './keys.ts';

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
  try {
    return JSON.parse(member.body.toString('utf8')) as T;
  } catch {
    throw incomplete(`${name} is not valid JSON`);
  }
}

export interface Opened {
  manifest: Manifest;
  keys: Keys;
  /** The rows of one table after the other; each is read to its end. Throws at the end if anything is missing. */
  tables(take: (table: DumpContent['tables'][number], rows: Bytes) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export async function openMembers(members: AsyncGenerator<Member>): Promise<Opened> {
  const next = async (): Promise<Member | undefined> => {
    const { value, done } = await members.next();
    return done === true ? undefined : value;
  };
  const close = async (): Promise<void> => {
    await members.return(undefined);
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
    async tables(take) {
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
    close,
  };
}
