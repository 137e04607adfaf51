import type { OriginAnswer } from './answer.ts';
import type { Pace } from '../file/pace.ts';
import { brokenConnection, sourceClosed, stoppedSending } from '../failures.ts';

export interface Transfer {
  idleMs: number;
  pace: Pick<Pace, 'whole'>;
  signal: AbortSignal;
}

/**
 * Passes each piece of a body to `take` until that returns false or the body ends. Rejects if the connection breaks or
 * is silent for too long. Leaving a body early closes its connection.
 */
function pipeBody(
  response: OriginAnswer,
  { idleMs, pace, signal }: Transfer,
  take: (chunk: Buffer) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (error?: Error): void => {
      clearTimeout(idle);
      signal.removeEventListener('abort', onAbort);
      response.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      if (error !== undefined || !response.complete) response.destroy();
      if (error === undefined) {
        if (response.complete) pace.whole(received);
        resolve();
      } else reject(error);
    };
    const idle = setTimeout(() => finish(stoppedSending()), idleMs);
    let received = 0;
    const left = (): number => Number(response.headers['content-length'] ?? NaN) - received;
    const onData = (chunk: Buffer): void => {
      idle.refresh();
      received += chunk.length;
      try {
        // After the last byte the end follows at once, and frees the connection for the next request.
        if (!take(chunk) && left() !== 0) finish();
      } catch (error) {
        finish(error as Error);
      }
    };
    const onAbort = (): void => finish(sourceClosed());
    signal.addEventListener('abort', onAbort, { once: true });
    const onEnd = (): void => finish();
    const onClose = (): void => {
      if (response.complete) finish();
      else finish(brokenConnection());
    };
    response.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}

/** As `pipeBody`, into memory: `space` is where the next bytes belong, and empty if no more are wanted. */
export function fillBody(
  response: OriginAnswer,
  transfer: Transfer,
  space: () => Buffer,
  filled: (count: number) => void,
): Promise<void> {
  if (response.into === undefined)
    return pipeBody(response, transfer, (chunk) => {
      for (let at = 0; at < chunk.length;) {
        const length = chunk.copy(space(), 0, at);
        if (length === 0) return false;
        at += length;
        filled(length);
      }
      return space().length > 0;
    });
  const { idleMs, pace, signal } = transfer;
  return new Promise((resolve, reject) => {
    let isOver = false;
    let received = 0;
    const length = Number(response.headers['content-length'] ?? NaN);
    const finish = (error?: Error): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(idle);
      signal.removeEventListener('abort', onAbort);
      const settle = (): void => (error === undefined ? resolve() : reject(error));
      if (response.complete) {
        if (error === undefined) pace.whole(received);
        settle();
        return;
      }
      response.destroy();
      // Until then the connection may write to the memory.
      if (response.closed) settle();
      else response.once('close', settle);
    };
    const onAbort = (): void => finish(sourceClosed());
    const idle = setTimeout(() => finish(stoppedSending()), idleMs);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) {
      onAbort();
      return;
    }
    response.into!({
      space,
      filled(bytes) {
        idle.refresh();
        received += bytes;
        try {
          filled(bytes);
          // After the last byte the end follows at once, and frees the connection for the next request.
          if (space().length === 0 && received !== length) finish();
        } catch (error) {
          finish(error as Error);
        }
      },
      ended: (error) => finish(response.complete ? undefined : (error ?? brokenConnection())),
    });
  });
}
