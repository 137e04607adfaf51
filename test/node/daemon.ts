import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ClusterError } from './cluster_error.ts';
import { until } from './deadline.ts';
import type { Layout } from './layout.ts';
import { readRunning, startProcess, stopProcess } from './processes.ts';

/** One program of the cluster with everything that decides how it runs. */
export interface Daemon {
  name: string;
  program: string;
  args: readonly string[];
  /** Its configuration files, by absolute path. */
  files?: Readonly<Record<string, string>>;
  env?: Record<string, string>;
  ready: () => Promise<boolean>;
  readyWithinMs: number;
}

export type Outcome = 'kept' | 'started' | 'restarted';

/** Starts the daemon, unless it is running with the same configuration and responds. */
export async function ensureDaemon(layout: Layout, daemon: Daemon, cgroups: readonly string[] = []): Promise<Outcome> {
  const record = recordOf(layout, daemon.name);
  const hash = hashOf(daemon);
  const before = readRunning(record);
  if (before?.hash === hash && (await daemon.ready().catch(() => false))) return 'kept';
  if (before !== undefined) await stopProcess(record, 10_000);
  for (const [path, text] of Object.entries(daemon.files ?? {})) await writeWhole(path, text);
  const log = logOf(layout, daemon.name);
  if (existsSync(log)) await rename(log, `${log}.1`);
  startProcess({
    program: daemon.program,
    args: daemon.args,
    hash,
    record,
    log,
    ...(daemon.env && { env: daemon.env }),
    cgroups,
  });
  await waitReady(layout, daemon, record);
  return before === undefined ? 'started' : 'restarted';
}

async function waitReady(layout: Layout, daemon: Daemon, record: string): Promise<void> {
  let seen = false;
  await until({ what: `${daemon.name} is ready`, timeoutMs: daemon.readyWithinMs, everyMs: 50 }, async () => {
    const alive = readRunning(record) !== undefined;
    if (seen && !alive) throw new ClusterError('DAEMON_ENDED', `${daemon.name} ended right after its start`);
    seen ||= alive;
    return alive && (await daemon.ready());
  }).catch(async (error: unknown) => {
    const log = logOf(layout, daemon.name);
    const text = error instanceof Error ? error.message : String(error);
    throw new ClusterError('DAEMON_NOT_READY', `${text}; the end of ${log}:\n${await tail(log, 15)}`, { cause: error });
  });
}

export function recordOf(layout: Layout, name: string): string {
  return join(layout.runDir, 'processes', name);
}

export function logOf(layout: Layout, name: string): string {
  return join(layout.logDir, `${name}.log`);
}

/** Atomic, so that a kill in between leaves no partial configuration. */
export async function writeWhole(path: string, text: string | Uint8Array, mode = 0o600): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const half = `${path}.${process.pid}.half`;
  try {
    await writeFile(half, text, { mode });
    await rename(half, path);
  } finally {
    await rm(half, { force: true });
  }
}

async function tail(file: string, lines: number): Promise<string> {
  const handle = await open(file).catch(() => undefined);
  if (handle === undefined) return '(no log)';
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, 16_384);
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('utf8').trim().split('\n').slice(-lines).join('\n');
  } finally {
    await handle.close();
  }
}

function hashOf(daemon: Daemon): string {
  const { program, args, files = {}, env = {} } = daemon;
  return createHash('sha256').update(JSON.stringify({ program, args, files, env })).digest('hex').slice(0, 16);
}
