/** The measured process (controller.ts), and what shares the machine with it. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from '../../test/controller/cluster_parts.ts';
import type { Cost, Given } from './controller.ts';

/** For the controller's process. As the chart starts it, if nothing is given. */
const flags = (process.env['CONTROLLER_FLAGS'] ?? '--max-semi-space-size=2').split(' ').filter(Boolean);
const CONTROLLER = new URL('controller.ts', import.meta.url).pathname;

/**
 * CPU time in ms by command, of all processes that this one started. Shows what shares the machine with the controller.
 */
export function cpuByCommand(): Map<string, number> {
  const parents = new Map<number, { parent: number; command: string; ms: number }>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
      parents.set(Number(pid), {
        parent: Number(fields[1]),
        command: text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')),
        ms: (Number(fields[11]) + Number(fields[12])) * 10,
      });
    } catch {
      // It has exited meanwhile.
    }
  }
  const ours = (pid: number): boolean => pid === process.pid || (pid > 1 && ours(parents.get(pid)?.parent ?? 0));
  const sums = new Map<string, number>();
  for (const [pid, { command, ms }] of parents) {
    if (ours(pid))
      sums.set(
        pid === process.pid ? 'runners' : command,
        (sums.get(pid === process.pid ? 'runners' : command) ?? 0) + ms,
      );
  }
  return sums;
}

export async function costOf(child: ChildProcess): Promise<Cost> {
  child.send('cost');
  const [cost] = (await once(child, 'message')) as [Cost];
  return cost;
}

/** The image holds compiled modules: without them a process keeps the compiler of TypeScript, some 20 MB. */
export async function filledCompileCache(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'queue-compiled-'));
  const child = fork(CONTROLLER, { execArgv: flags, env: { ...process.env, NODE_COMPILE_CACHE: folder } });
  await once(child, 'spawn');
  child.disconnect();
  await once(child, 'exit');
  return folder;
}

/** Not leading yet: `lead` tells it to. */
export const startProcess = (compiled: string, program = CONTROLLER): ChildProcess =>
  fork(program, {
    stdio: 'inherit',
    execArgv: flags,
    env: { ...process.env, NODE_COMPILE_CACHE: compiled },
  });

export const givenOf = ({ servers: { api, nats, stored, keys }, namespace, runnerNamespace }: Cluster): Given => ({
  kubeconfig: api.kubeconfig,
  namespace,
  runnerNamespace,
  natsUrl: nats.url,
  postgresUrl: stored.server.url,
  keys: keys.private,
  env: { PY_MAX_QUEUED: '1000000' },
});

/** Resolves when it leads, with the ms of that of its term: before it, the process fills its caches. */
export async function lead(child: ChildProcess, cluster: Cluster): Promise<number> {
  child.send(givenOf(cluster));
  const [ms] = (await once(child, 'message')) as [number];
  return ms;
}
