/** Sends a body piece by piece, as fast as the other side takes it, until it has answered. */
import type { ClientRequest } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { EXIT, Failure } from '../failure.ts';

/** How long the other side may take nothing. */
const STALLED_MS = 60_000;
const EVENTS = ['drain', 'response', 'close'] as const;

/** Until there is room for more, or nothing more is to be sent. */
function taken(sent: ClientRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (error?: Failure): void => {
      clearTimeout(late);
      for (const event of EVENTS) sent.off(event, settled);
      if (error) reject(error);
      else resolve();
    };
    const settled = (): void => end();
    const late = setTimeout(
      () => end(new Failure(`${sent.host} took nothing of the file for ${STALLED_MS / 1_000} s`, EXIT.unknown)),
      STALLED_MS,
    );
    for (const event of EVENTS) sent.once(event, settled);
  });
}

export async function feed(
  sent: ClientRequest,
  pieces: AsyncIterable<Uint8Array>,
  isOver: () => boolean,
): Promise<void> {
  for await (const piece of pieces) {
    // An answer that has come is read before more is written.
    await nextTurn();
    if (isOver()) return;
    if (!sent.write(piece)) await taken(sent);
  }
}
