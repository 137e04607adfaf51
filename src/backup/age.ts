/**
 * Encryption of backups in the format of age (age-encryption.org/v1) to X25519 recipients, so that `age -d` opens them
 * without Probeyard. Written here because the format is small, and the packages for it bring curves of their own that
 * Node has already.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { bech32, fromBech32 } from './bech32.ts';
import { ByteReader, type Bytes } from './bytes.ts';
import { BackupError } from './errors.ts';

const VERSION = 'age-encryption.org/v1';
const CHUNK = 65_536;
const TAG = 16;
const FILE_KEY = 16;
const MOST_LINE = 1_000;
const MOST_LINES = 100;
const RECIPIENT = 'age';
const IDENTITY = 'age-secret-key-';
/** The key of a single file, which opens no other backup. */
const FILE_KEY_PREFIX = 'probeyard-backup-key-';

const PKCS8 = Buffer.from('302e020100300506032b656e04220420', 'hex');
const SPKI = Buffer.from('302a300506032b656e032100', 'hex');
const publicOf = (raw: Buffer) => createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' });
const privateOf = (raw: Buffer) => createPrivateKey({ key: Buffer.concat([PKCS8, raw]), format: 'der', type: 'pkcs8' });
const publicHalf = (secret: Buffer): Buffer =>
  createPublicKey(privateOf(secret)).export({ format: 'der', type: 'spki' }).subarray(SPKI.length);

const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
const derived = (key: Buffer, salt: Buffer, info: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, info, 32));
const headerMac = (fileKey: Buffer, header: string): Buffer =>
  createHmac('sha256', derived(fileKey, Buffer.alloc(0), 'header'))
    .update(header)
    .digest();

function seal(key: Buffer, nonce: Buffer, plain: Buffer): Buffer {
  const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: TAG });
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Undefined if it was sealed with another key or nonce, or changed. */
function open(key: Buffer, nonce: Buffer, sealed: Buffer): Buffer | undefined {
  if (sealed.length < TAG) return undefined;
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: TAG });
  decipher.setAuthTag(sealed.subarray(-TAG));
  const plain = decipher.update(sealed.subarray(0, -TAG));
  try {
    return Buffer.concat([plain, decipher.final()]);
  } catch {
    return undefined;
  }
}

export interface KeyPair {
  identity: string;
  recipient: string;
}

export function newKeyPair(): KeyPair {
  const secret = randomBytes(32);
  return {
    identity: bech32(IDENTITY, secret).toUpperCase(),
    recipient: bech32(RECIPIENT, publicHalf(secret)),
  };
}

function recipientKey(text: string): Buffer {
  const key = fromBech32(RECIPIENT, text);
  if (key?.length !== 32)
    throw new BackupError('key-invalid', 'the recipient of backups is not a public key of age (age1…, see age-keygen)');
  return key;
}

/** Throws for a text that is not a recipient. */
export const checkRecipients = (recipients: readonly string[]): void => recipients.forEach(recipientKey);

const WRAP = `${VERSION}/X25519`;
const NO_NONCE = Buffer.alloc(12);

function stanza(fileKey: Buffer, recipient: string): string {
  const theirs = recipientKey(recipient);
  const secret = randomBytes(32);
  const share = publicHalf(secret);
  const shared = diffieHellman({ privateKey: privateOf(secret), publicKey: publicOf(theirs) });
  const wrapped = seal(derived(shared, Buffer.concat([share, theirs]), WRAP), NO_NONCE, fileKey);
  return `-> X25519 ${base64(share)}\n${base64(wrapped)}\n`;
}

/** The counter of the chunk, and whether it is the last one. */
function nonceOf(counter: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(counter, 5, 6);
  nonce[11] = last ? 1 : 0;
  return nonce;
}

export async function* encrypted(plain: Bytes, recipients: readonly string[]): AsyncGenerator<Buffer> {
  if (recipients.length === 0) throw new BackupError('key-invalid', 'a backup needs at least one recipient');
  const fileKey = randomBytes(FILE_KEY);
  const header = `${VERSION}\n${recipients.map((one) => stanza(fileKey, one)).join('')}---`;
  const salt = randomBytes(16);
  yield Buffer.concat([Buffer.from(`${header} ${base64(headerMac(fileKey, header))}\n`), salt]);
  const key = derived(fileKey, salt, 'payload');
  const reader = new ByteReader(plain);
  for (let counter = 0; ; counter++) {
    const chunk = await reader.upTo(CHUNK);
    const last = await reader.ended();
    yield seal(key, nonceOf(counter, last), chunk);
    if (last) return;
  }
}

/** An identity of age (AGE-SECRET-KEY-1…), or the key of a single file, as `fileKeyText` spells it. */
export type Opener = { identity: Buffer } | { fileKey: Buffer };

/** Reads a key file: blank lines and lines with # are comments, as age-keygen writes them. */
export function readOpener(text: string): Opener {
  const [line = '', ...more] = text.split('\n').filter((one) => one.trim() !== '' && !one.startsWith('#'));
  const key = line.trim();
  if (more.length === 0 && key.startsWith(FILE_KEY_PREFIX)) {
    const fileKey = Buffer.from(key.slice(FILE_KEY_PREFIX.length), 'base64url');
    if (fileKey.length === FILE_KEY) return { fileKey };
  }
  const identity = more.length === 0 ? fromBech32(IDENTITY, key) : undefined;
  if (identity?.length === 32) return { identity };
  throw new BackupError(
    'key-invalid',
    `the key is neither an identity of age (AGE-SECRET-KEY-1…) nor the key of one backup (${FILE_KEY_PREFIX}…)`,
  );
}

export const fileKeyText = (fileKey: Buffer): string => `${FILE_KEY_PREFIX}${fileKey.toString('base64url')}`;

interface Header {
  stanzas: { args: string[]; body: Buffer }[];
  text: string;
  mac: Buffer;
}

const notAge = () =>
  new BackupError('not-a-backup', 'the file is not a backup: it does not begin with the header of age');

async function readHeader(reader: ByteReader): Promise<Header> {
  const line = async (): Promise<string> => {
    const text = await reader.line(MOST_LINE);
    if (text === undefined) throw notAge();
    return text;
  };
  if ((await line()) !== VERSION) throw notAge();
  const header: Header = { stanzas: [], text: `${VERSION}\n`, mac: Buffer.alloc(0) };
  for (let lines = 0; lines < MOST_LINES; lines++) {
    const text = await line();
    if (text.startsWith('--- ')) {
      header.text += '---';
      header.mac = Buffer.from(text.slice(4), 'base64');
      return header;
    }
    if (text.startsWith('-> ')) header.stanzas.push({ args: text.slice(3).split(' '), body: Buffer.alloc(0) });
    else {
      const stanzaRead = header.stanzas.at(-1);
      if (!stanzaRead) throw notAge();
      stanzaRead.body = Buffer.concat([stanzaRead.body, Buffer.from(text, 'base64')]);
    }
    header.text += `${text}\n`;
  }
  throw notAge();
}

function unwrapped(header: Header, identity: Buffer): Buffer | undefined {
  const ours = publicHalf(identity);
  for (const { args, body } of header.stanzas) {
    const share = Buffer.from(args[1] ?? '', 'base64');
    if (args[0] !== 'X25519' || share.length !== 32 || body.length !== FILE_KEY + TAG) continue;
    const shared = diffieHellman({ privateKey: privateOf(identity), publicKey: publicOf(share) });
    const fileKey = open(derived(shared, Buffer.concat([share, ours]), WRAP), NO_NONCE, body);
    if (fileKey) return fileKey;
  }
  return undefined;
}

function fileKeyOf(header: Header, opener: Opener): Buffer {
  const fileKey = 'fileKey' in opener ? opener.fileKey : unwrapped(header, opener.identity);
  if (!fileKey) throw new BackupError('key-wrong', 'the backup is encrypted to another key');
  const mac = headerMac(fileKey, header.text);
  if (mac.length !== header.mac.length || !timingSafeEqual(mac, header.mac)) {
    throw 'fileKey' in opener
      ? new BackupError('key-wrong', 'the key belongs to another backup, or the header of the backup was changed')
      : new BackupError('damaged', 'the header of the backup was changed');
  }
  return fileKey;
}

/** The key of this file alone: whoever restores it need not be given the identity. Reads no more than the header. */
export async function fileKeyFor(cipher: Bytes, identity: Opener): Promise<Buffer> {
  const reader = new ByteReader(cipher);
  try {
    return fileKeyOf(await readHeader(reader), identity);
  } finally {
    await reader.close();
  }
}

export async function* decrypted(cipher: Bytes, opener: Opener): AsyncGenerator<Buffer> {
  const reader = new ByteReader(cipher);
  try {
    const fileKey = fileKeyOf(await readHeader(reader), opener);
    const salt = await reader.upTo(16);
    if (salt.length < 16) throw cutShort();
    const key = derived(fileKey, salt, 'payload');
    for (let counter = 0; ; counter++) {
      const sealed = await reader.upTo(CHUNK + TAG);
      const last = await reader.ended();
      const plain = open(key, nonceOf(counter, last), sealed);
      if (!plain) {
        if (last && (sealed.length < TAG || open(key, nonceOf(counter, false), sealed))) throw cutShort();
        throw new BackupError('damaged', 'the backup is damaged: its content was changed, or it is cut short');
      }
      // A file of no bytes is the only one whose last chunk is empty.
      if (plain.length === 0 && counter > 0) throw new BackupError('damaged', 'the backup is damaged: an empty chunk');
      yield plain;
      if (last) return;
    }
  } finally {
    await reader.close();
  }
}

const cutShort = () => new BackupError('cut-short', 'the backup is cut short');
