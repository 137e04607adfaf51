/**
 * Encryption of backups in the format of age (age-encryption.org/v1): `age -d` opens them without Probeyard. The key of
 * a single file opens no other backup.
 */
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient, type Identity } from 'age-encryption';
import { ByteReader, of, type Bytes } from './bytes.ts';
import { BackupError } from './errors.ts';

const VERSION = 'age-encryption.org/v1';
const FILE_KEY = 16;
const MOST_LINE = 1_000;
const MOST_LINES = 100;
const FILE_KEY_PREFIX = 'probeyard-backup-key-';

export async function newKeyPair() {
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
}

function encrypterTo(recipients: readonly string[]): Encrypter {
  const encrypter = new Encrypter();
  try {
    for (const recipient of recipients) encrypter.addRecipient(recipient);
  } catch {
    throw new BackupError('key-invalid', 'the recipient of backups is not a public key of age (age1…, see age-keygen)');
  }
  return encrypter;
}

/** Throws for a text that is not a recipient. */
export const checkRecipients = (recipients: readonly string[]): void => void encrypterTo(recipients);

export async function* encrypted(plain: Bytes, recipients: readonly string[]): AsyncGenerator<Buffer> {
  if (recipients.length === 0) throw new BackupError('key-invalid', 'a backup needs at least one recipient');
  for await (const chunk of await encrypterTo(recipients).encrypt(ReadableStream.from(plain))) yield Buffer.from(chunk);
}

/** An identity of age (AGE-SECRET-KEY-1…), or the key of a single file, as `fileKeyText` spells it. */
export type Opener = { identity: string } | { fileKey: Uint8Array };

/** Reads a key file: blank lines and lines with # are comments, as age-keygen writes them. */
export function readOpener(text: string): Opener {
  const [line = '', ...more] = text.split('\n').filter((one) => one.trim() !== '' && !one.startsWith('#'));
  const key = line.trim();
  if (more.length === 0 && key.startsWith(FILE_KEY_PREFIX)) {
    const fileKey = Buffer.from(key.slice(FILE_KEY_PREFIX.length), 'base64url');
    if (fileKey.length === FILE_KEY) return { fileKey };
  }
  try {
    if (more.length > 0) throw new Error('more than one key');
    new Decrypter().addIdentity(key);
    return { identity: key };
  } catch {
    throw new BackupError(
      'key-invalid',
      `the key is neither an identity of age (AGE-SECRET-KEY-1…) nor the key of one backup (${FILE_KEY_PREFIX}…)`,
    );
  }
}

export const fileKeyText = (fileKey: Uint8Array): string =>
  `${FILE_KEY_PREFIX}${Buffer.from(fileKey).toString('base64url')}`;

const notAge = () =>
  new BackupError('not-a-backup', 'the file is not a backup: it does not begin with the header of age');

async function readHeader(reader: ByteReader): Promise<string> {
  const lines: string[] = [];
  while (lines.length < MOST_LINES) {
    const line = await reader.line(MOST_LINE);
    if (line === undefined || (lines.length === 0 && line !== VERSION)) throw notAge();
    lines.push(line);
    if (line.startsWith('--- ')) return `${lines.join('\n')}\n`;
  }
  throw notAge();
}

const identityOf = (fileKey: Uint8Array): Identity => ({ unwrapFileKey: () => fileKey });

async function fileKeyOf(header: string, opener: Opener): Promise<Uint8Array> {
  const decrypter = new Decrypter();
  decrypter.addIdentity('fileKey' in opener ? identityOf(opener.fileKey) : opener.identity);
  try {
    return await decrypter.decryptHeader(Buffer.from(header, 'latin1'));
  } catch (cause) {
    throw new BackupError(
      'key-wrong',
      'the backup is encrypted to another key, the key belongs to another backup, or its header was changed',
      { cause },
    );
  }
}

/** The key of this file alone: whoever restores it need not be given the identity. Reads no more than the header. */
export async function fileKeyFor(cipher: Bytes, identity: Opener): Promise<Uint8Array> {
  await using reader = new ByteReader(cipher);
  return await fileKeyOf(await readHeader(reader), identity);
}

async function* joined(header: string, reader: ByteReader): AsyncGenerator<Buffer> {
  yield* of(Buffer.from(header, 'latin1'));
  yield* reader.rest();
}

export async function* decrypted(cipher: Bytes, opener: Opener): AsyncGenerator<Buffer> {
  await using reader = new ByteReader(cipher);
  const header = await readHeader(reader);
  const decrypter = new Decrypter();
  decrypter.addIdentity(identityOf(await fileKeyOf(header, opener)));
  try {
    const plain = await decrypter.decrypt(ReadableStream.from(joined(header, reader)));
    for await (const chunk of plain) yield Buffer.from(chunk);
  } catch (cause) {
    if (cause instanceof BackupError) throw cause;
    throw new BackupError('damaged', 'the backup is damaged: its content was changed, or it is cut short', { cause });
  }
}
