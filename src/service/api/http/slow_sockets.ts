/**
 * Closes connections of callers that read too slowly: a response is held until its socket has taken it, so a caller who
 * reads a byte a second would hold its memory for hours. A connection with nothing to send is never slow.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

const LEAST_BYTES_PER_S = 64_000;
const OVER_MS = 30_000;
/** The kernel takes data for a slow caller in bursts, so the whole period counts, sampled in steps. */
const STEPS = 6;

/** Bytes that the caller has taken at a point in time. */
export interface Progress {
  at: number;
  taken: number;
}

/** Pure. `history`: one entry per sample with unsent data, oldest first. */
export function isSlow(
  history: readonly Progress[],
  { overMs = OVER_MS, leastBytesPerS = LEAST_BYTES_PER_S } = {},
): boolean {
  const last = history.at(-1);
  const first = history.findLast(({ at }) => last !== undefined && last.at - at >= overMs);
  return (
    first !== undefined &&
    last !== undefined &&
    last.taken - first.taken < (leastBytesPerS * (last.at - first.at)) / 1_000
  );
}

export interface SlowSocketOptions {
  overMs?: number;
  leastBytesPerS?: number;
  onClosed?: () => void;
}

export function closeSlowSockets(
  server: Server,
  { overMs = OVER_MS, leastBytesPerS = LEAST_BYTES_PER_S, onClosed = () => {} }: SlowSocketOptions = {},
): void {
  const histories = new Map<Socket, Progress[]>();
  server.on('connection', (socket: Socket) => {
    histories.set(socket, []);
    socket.once('close', () => histories.delete(socket));
  });
  const look = (): void => {
    const at = performance.now();
    for (const [socket, history] of histories) {
      // Data written but not yet taken by the kernel.
      if (socket.writableLength === 0) {
        history.length = 0;
        continue;
      }
      history.push({ at, taken: socket.bytesWritten - socket.writableLength });
      if (history.length > 2 * STEPS) history.shift();
      if (!isSlow(history, { overMs, leastBytesPerS })) continue;
      onClosed();
      socket.destroy();
    }
  };
  const timer = setInterval(look, overMs / STEPS);
  timer.unref();
  server.once('close', () => clearInterval(timer));
}
