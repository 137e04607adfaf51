/**
 * What was erased or revoked, kept beside the backups and written more often than they are: a restored backup erases it
 * again. It names numbers alone. A box key of the installation signs it, so that nobody else makes a restore erase.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { erasedSince, type Erased } from '../../platform/store/backups.ts';
import type { ConnectionSettings } from '../../platform/store/connection.ts';
import { ByteReader, type Bytes } from './bytes.ts';
import type { Destination } from './destination.ts';
import { BackupError, isBackupError } from './errors.ts';

export const ERASURES = 'probeyard-erasures.jsonl';
const FORMAT = 'probeyard-erasures/1';
const MOST_LINE = 1_000;

interface Head {
  format: string;
  installId: string;
  at: string;
}

const macOf = (boxKey: Buffer) =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', boxKey, '', 'probeyard erasures', 32)));

async function* erasureList(
  head: { installId: string; at: string },
  erased: AsyncIterable<Erased>,
  boxKey: Buffer,
): AsyncGenerator<Buffer> {
  const mac = macOf(boxKey);
  const line = (value: object): Buffer => {
    const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
    mac.update(bytes);
    return bytes;
  };
  yield line({ format: FORMAT, ...head } satisfies Head);
  for await (const { kind, id } of erased) yield line([kind, id]);
  yield Buffer.from(`${JSON.stringify({ mac: mac.digest('hex') })}\n`);
}

const damaged = (): BackupError => new BackupError('damaged', `the list of erasures (${ERASURES}) is damaged`);
const ID = { user: /^\d{1,15}$/, token: /^\d{1,15}$/, request: /^[0-9a-f-]{36}$/ };

function erasedOf(line: string): Erased | undefined {
  const value = JSON.parse(line) as unknown;
  if (!Array.isArray(value)) return undefined;
  const [kind, id] = value as [Erased['kind'], string];
  if (!Object.hasOwn(ID, kind) || !ID[kind].test(String(id))) throw damaged();
  return { kind, id };
}

/** What the list names, in batches. Throws at its end if no box key has signed it: use nothing of it before. */
export async function* readErasures(bytes: Bytes, boxKeys: Buffer[], installId: string): AsyncGenerator<Erased[]> {
  await using reader = new ByteReader(bytes);
  const macs = boxKeys.map(macOf);
  const next = async (): Promise<string> => {
    const line = await reader.line(MOST_LINE);
    if (line === undefined) throw damaged();
    return line;
  };
  const signed = (line: string): void => macs.forEach((mac) => mac.update(`${line}\n`));
  try {
    const first = await next();
    const head = JSON.parse(first) as Head;
    if (head?.format !== FORMAT) throw damaged();
    signed(first);
    if (head.installId !== installId)
      throw new BackupError('keys-differ', `the list of erasures (${ERASURES}) belongs to another installation`);
    let batch: Erased[] = [];
    for (;;) {
      const line = await next();
      const erased = erasedOf(line);
      if (!erased) {
        const mac = Buffer.from(String((JSON.parse(line) as { mac?: string }).mac), 'hex');
        if (!macs.map((one) => one.digest()).some((one) => one.length === mac.length && timingSafeEqual(one, mac)))
          throw damaged();
        if (batch.length > 0) yield batch;
        return;
      }
      signed(line);
      batch.push(erased);
      if (batch.length === 1_000) {
        yield batch;
        batch = [];
      }
    }
  } catch (error) {
    if (isBackupError(error)) throw error;
    throw error instanceof SyntaxError ? damaged() : error;
  }
}

export interface WriteErasures {
  database: ConnectionSettings;
  destination: Destination;
  boxKey: Buffer;
}

/** Everything that was erased since then; undefined: ever. */
export async function writeErasures({ database, destination, boxKey }: WriteErasures, since?: Date): Promise<void> {
  await using record = await erasedSince(database, since);
  const { installId, at, erased } = record;
  await destination.write(ERASURES, erasureList({ installId, at }, erased, boxKey));
}
