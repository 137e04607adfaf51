import type { OriginAnswer } from './answer.ts';
import type { Pace } from '../file/pace.ts';
import { brokenConnection, sourceClosed, stoppedSending } from '../failures.ts';

export interface Transfer {
  idleMs: number;
  count: { bytes(count: number): void };
  pace: Pick<Pace, 'whole'>;
  signal: AbortSignal;
}

/**
 * Passes each piece of a body to `take` until that returns false or the body ends. Rejects if the connection breaks or
 * is silent for too long. Leaving a body early closes its connection.
 */
export function pipeBody(
  response: OriginAnswer,
  { idleMs, count, pace, signal }: Transfer,
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
        count.bytes(chunk.length);
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
