import type { OriginAnswer } from './answer.ts';
import type { Pace } from '../file/pace.ts';
import { brokenConnection, sourceClosed, stoppedSending } from '../failures.ts';

export interface Transfer {
  idleMs: number;
  pace: Pick<Pace, 'whole'>;
  signal: AbortSignal;
}

/**
 * Reads a body into memory: `space` is where the next bytes belong, and empty if no more are wanted. Rejects if the
 * connection breaks or is silent for too long. Leaving a body early closes its connection.
 */
export function fillBody(
  response: OriginAnswer,
  { idleMs, pace, signal }: Transfer,
  space: () => Buffer,
  filled: (count: number) => void,
): Promise<void> {
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
    response.into({
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
