/**
 * Ports for servers that tests start. The range is below the one from which the system takes ports for outgoing
 * connections and for listeners at port 0: such a port could be in use before the server listens.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { RUN_FOLDER } from './once_per_run.ts';

const [FROM, TO] = [13_000, 30_000];

const given = new Set<number>();

/** False if another test process of the same run has it. */
function reserve(port: number, run: string | undefined): boolean {
  if (given.has(port)) return false;
  given.add(port);
  if (run === undefined) return true;
  const folder = join(run, 'ports');
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(join(folder, String(port)), '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const free = new Promise<boolean>((resolve) => {
    server.once('listening', () => resolve(true)).once('error', () => resolve(false));
  });
  server.listen(port, '0.0.0.0');
  if (!(await free)) return false;
  server.close();
  await once(server, 'close');
  return true;
}

export async function freePort(run = process.env[RUN_FOLDER]): Promise<number> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const port = randomInt(FROM, TO);
    if (reserve(port, run) && (await isFree(port))) return port;
  }
  throw new Error(`no free port from ${FROM} to ${TO}`);
}
