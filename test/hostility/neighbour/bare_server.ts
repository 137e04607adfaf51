/** A server that drops what it is sent, in a process of its own: what an attack's sender alone takes of the machine. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

export interface BareServer {
  url: string;
  close(): Promise<void>;
}

export async function startBareServer(): Promise<BareServer> {
  const child = fork(fileURLToPath(import.meta.url));
  const [url] = (await once(child, 'message', { signal: AbortSignal.timeout(20_000) })) as [string];
  return {
    url,
    async close() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

function serve(): void {
  const server = createServer((request, response) => {
    request.on('error', () => {}).resume();
    request.once('end', () => response.writeHead(400).end());
  });
  server.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  process.once('disconnect', () => process.exit());
}

if (import.meta.main) serve();
