/**
 * Encrypts the addresses of a batch with a key of its own, each bound to its batch and place. The key is kept in the
 * box, because the keys of sealed sources rotate faster than a batch may wait.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { SealError } from '../../../platform/seal/seal.ts';
import type { NewItem } from '../../../platform/store/batches.ts';
import type { ReadItem, Slices } from './batch_request.ts';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

export const newBatchKey = (): Buffer => randomBytes(KEY_BYTES);

/** The item that an address is of. */
export interface ItemPlace {
  batch: string;
  n: number;
}

const bound = ({ batch, n }: ItemPlace): Buffer => Buffer.from(`${batch}:${n}`);

/** The nonce, the text, the tag. */
export function sealItem(address: string, place: ItemPlace, key: Buffer): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(bound(place));
  return Buffer.concat([iv, cipher.update(address, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** `first`: the place of the first of them. */
export async function sealItems(
  items: readonly ReadItem[],
  first: ItemPlace,
  key: Buffer,
  slices: Slices,
): Promise<NewItem[]> {
  const rows: NewItem[] = [];
  for (const { address, ...item } of items) {
    const n = first.n + rows.length;
    rows.push({ n, ...item, sealed: sealItem(address, { ...first, n }, key) });
    await slices.next();
  }
  await slices.pay();
  return rows;
}

export function unsealItem(sealed: Buffer, place: ItemPlace, key: Buffer): string {
  try {
    const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, IV_BYTES))
      .setAAD(bound(place))
      .setAuthTag(sealed.subarray(-TAG_BYTES));
    const text = decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch (cause) {
    throw new SealError('seal-unreadable', 'an address of a batch cannot be opened', { cause });
  }
}
