/**
 * Sends a response made from a stored result: its place in the memory budget, its way to the socket, and the error if
 * there is no room.
 */
import { Readable } from 'node:stream';
import { UnreadableResult, type Packed } from '../../result/inflate.ts';
import type { OpenResult, StoredResult } from '../../result/open_result.ts';
import { bytesOf, lengthOf, type Piece } from '../../result/pieces.ts';
import type { Context } from '../http/context.ts';
import type { Deps } from '../deps.ts';
import { inside } from '../errors.ts';
import { openWithin, untilClosed } from './stored_result.ts';

/**
 * The place is released when the socket has taken the whole response, or is closed. Null: the result is no longer
 * stored.
 */
export async function resultFor(
  deps: Pick<Deps, 'store' | 'memory'>,
  ctx: Context,
  stored: StoredResult,
  account: number,
): Promise<OpenResult | null> {
  const result = await openWithin(deps, stored, account, {
    signal: untilClosed(ctx),
    hint: `read this one later at /v1/probe/${stored.id}`,
  });
  if (!result) return null;
  if (ctx.res.closed) result.place.release();
  else ctx.res.once('close', () => result.place.release());
  return result;
}

/** Converts the error of reading an invalid stored result. */
export const unreadable = (error: unknown): unknown =>
  error instanceof UnreadableResult ? inside(`a stored result cannot be read: ${error.message}`, error) : error;

/** Shorter texts are written at once. */
const ONE_WRITE = 64 * 1024;

/** Sends pieces as fast as the socket takes them, so that the progress can be measured. */
export function sendPieces(ctx: Context, body: string | readonly Piece[], packed: Packed, contentType: string): void {
  if (typeof body === 'string' && body.length <= ONE_WRITE) {
    ctx.type = contentType;
    ctx.body = body;
    return;
  }
  const pieces = typeof body === 'string' ? [body] : body;
  ctx.body = Readable.from(bytesOf(pieces, packed), { objectMode: false });
  // Setting a stream clears type and length.
  ctx.type = contentType;
  ctx.length = lengthOf(pieces);
}
