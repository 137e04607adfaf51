/**
 * Reads answers and drops them, in a thread of its own: several answers of 50 MB a second would delay the probes that
 * are timed in the same process.
 */
import { once } from 'node:events';
import { request } from 'node:http';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

interface Order {
  id: number;
  /** Absent: the answer of this id is broken off. */
  read?: { url: string; token: string };
}

export interface Reader {
  read(url: string, token: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export async function startReader(): Promise<Reader> {
  const worker = new Worker(new URL(import.meta.url));
  const open = new Map<number, () => void>();
  worker.on('message', (id: number) => {
    open.get(id)?.();
    open.delete(id);
  });
  await once(worker, 'online');
  let last = 0;
  return {
    read: (url, token, signal) =>
      new Promise((resolve) => {
        const id = ++last;
        open.set(id, resolve);
        signal.addEventListener('abort', () => worker.postMessage({ id } satisfies Order), { once: true });
        worker.postMessage({ id, read: { url, token } } satisfies Order);
      }),
    close: async () => void (await worker.terminate()),
  };
}

function readInThread(port: NonNullable<typeof parentPort>): void {
  const open = new Map<number, () => void>();
  port.on('message', ({ id, read }: Order) => {
    if (!read) return open.get(id)?.();
    const asking = request(read.url, { headers: { authorization: `Bearer ${read.token}` } }, (response) =>
      response.on('error', () => {}).resume(),
    );
    open.set(id, () => asking.destroy());
    asking
      .on('error', () => {})
      .on('close', () => {
        open.delete(id);
        port.postMessage(id);
      })
      .end();
  });
}

if (!isMainThread && parentPort) readInThread(parentPort);
