/**
 * An uploaded file is kept encrypted, in chunks that can be read by themselves: neither the disk of the node nor the
 * network between two pods carries its content. The key is in the sealed source alone.
 */
import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';

/** Plain bytes of a chunk; the last one may be shorter. */
export const CHUNK_BYTES = 64 * 1024;
const TAG_BYTES = 16;
export const STORED_CHUNK_BYTES = CHUNK_BYTES + TAG_BYTES;
const ALGORITHM = 'aes-256-gcm';

const derived = (key: string, purpose: string): Buffer =>
  createHmac('sha256', Buffer.from(key, 'base64url')).update(purpose).digest();

/** What a reader of the stored file presents: the server of the file needs no key to check it. */
export const readTokenOf = (key: string): string => derived(key, 'probeyard upload: read').toString('base64url');

/** The index is the nonce, so that chunks cannot change places. A key is used for one file. */
function nonceOf(index: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(index, 8);
  return nonce;
}

export function chunkCipher(key: string) {
  const secret = derived(key, 'probeyard upload: content');
  return {
    seal(plain: Buffer, index: number): Buffer {
      const cipher = createCipheriv(ALGORITHM, secret, nonceOf(index));
      return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    /** Throws if the chunk is not the one that was sealed. */
    open(stored: Buffer, index: number): Buffer {
      const decipher = createDecipheriv(ALGORITHM, secret, nonceOf(index), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(stored.subarray(stored.length - TAG_BYTES));
      return Buffer.concat([decipher.update(stored.subarray(0, stored.length - TAG_BYTES)), decipher.final()]);
    },
  };
}

export const storedBytes = (size: number): number => size + Math.ceil(size / CHUNK_BYTES) * TAG_BYTES;

/** Cuts pieces of any length into pieces of one length; the rest stays for `rest`. */
export function cutter(length: number): { cut(piece: Buffer): Buffer[]; rest(): Buffer } {
  let held: Buffer[] = [];
  let bytes = 0;
  const take = (): Buffer => {
    const all = held.length === 1 ? held[0]! : Buffer.concat(held);
    held = [];
    bytes = 0;
    return all;
  };
  return {
    cut(piece) {
      held.push(piece);
      bytes += piece.length;
      if (bytes < length) return [];
      const all = take();
      const whole = all.length - (all.length % length);
      if (whole < all.length) {
        // A copy, so that the rest does not hold the memory of what is done.
        held.push(Buffer.from(all.subarray(whole)));
        bytes = all.length - whole;
      }
      return Array.from({ length: whole / length }, (_, at) => all.subarray(at * length, (at + 1) * length));
    },
    rest: take,
  };
}
