/**
 * Reads and drops responses in a separate process, because several responses of 50 MB a second would delay the probes
 * that this one measures.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';

interface Order {
  id: number;
  /** If absent, the response of this id is aborted. */
  read?: { url: string; token: string };
}

export interface Reader {
  read(url: string, token: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export async function startReader(): Promise<Reader> {
  const child = fork(fileURLToPath(import.meta.url));
  const open = new Map<number, () => void>();
  child.on('message', (id: number) => {
    open.get(id)?.();
    open.delete(id);
  });
  await once(child, 'spawn');
  const order = (one: Order): void => void child.send(one);
  let last = 0;
  return {
    read: (url, token, signal) =>
      new Promise((resolve) => {
        const id = ++last;
        open.set(id, resolve);
        signal.addEventListener('abort', () => order({ id }), { once: true });
        order({ id, read: { url, token } });
      }),
    async close() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

function carryOutOrders(): void {
  const open = new Map<number, () => void>();
  process.on('message', ({ id, read }: Order) => {
    if (!read) return open.get(id)?.();
    const asking = request(read.url, { headers: { authorization: `Bearer ${read.token}` } }, (response) =>
      response.on('error', () => {}).resume(),
    );
    open.set(id, () => asking.destroy());
    asking
      .on('error', () => {})
      .on('close', () => {
        open.delete(id);
        process.send?.(id);
      })
      .end();
  });
  process.once('disconnect', () => process.exit());
}

if (import.meta.main) carryOutOrders();
