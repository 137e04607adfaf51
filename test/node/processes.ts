import { spawn } from 'node:child_process';
import { mkdirSync, openSync, closeSync, readFileSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from './deadline.ts';

/**
 * A daemon's process, recognised after `make` has exited. Boot id and start time are part of its identity, because the
 * kernel reuses process ids.
 */
export interface Running {
  pid: number;
  startTicks: string;
  /** Hash of the configuration. The daemon is restarted when it changes. */
  hash: string;
}

export interface StartOptions {
  program: string;
  args: readonly string[];
  hash: string;
  record: string;
  log: string;
  env?: Record<string, string>;
  /** Process lists of the cgroups to join. */
  cgroups?: readonly string[];
}

// The process writes its own record before it becomes the daemon, so that no kill can leave a daemon without a record.
const WRAPPER = `
read -r boot < /proc/sys/kernel/random/boot_id
read -r stat < /proc/$$/stat
echo "$boot $PROBEYARD_HASH $stat" > "$PROBEYARD_RECORD"
for list in $PROBEYARD_CGROUPS; do echo $$ > "$list" || exit 1; done
unset PROBEYARD_HASH PROBEYARD_RECORD PROBEYARD_CGROUPS boot stat list
exec "$@"`;

export function startProcess(options: StartOptions): void {
  mkdirSync(join(options.record, '..'), { recursive: true });
  mkdirSync(join(options.log, '..'), { recursive: true });
  rmSync(options.record, { force: true });
  const log = openSync(options.log, 'a');
  const child = spawn('/bin/sh', ['-c', WRAPPER, 'sh', options.program, ...options.args], {
    cwd: '/',
    detached: true,
    stdio: ['ignore', log, log],
    env: {
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: '/root',
      ...options.env,
      PROBEYARD_HASH: options.hash,
      PROBEYARD_RECORD: options.record,
      PROBEYARD_CGROUPS: (options.cgroups ?? []).join(' '),
    },
  });
  child.unref();
  closeSync(log);
}

/** The process of a record, if it is still the same one. */
export function readRunning(record: string): Running | undefined {
  const parsed = parseRecord(readText(record));
  if (parsed === undefined || parsed.boot !== readText('/proc/sys/kernel/random/boot_id').trim()) return undefined;
  const now = parseStat(readText(`/proc/${parsed.running.pid}/stat`));
  return now !== undefined && now.startTicks === parsed.running.startTicks && now.state !== 'Z'
    ? parsed.running
    : undefined;
}

/** Sends SIGTERM, then SIGKILL. Returns when the process has exited and its ports are free. */
export async function stopProcess(record: string, graceMs: number): Promise<boolean> {
  const running = readRunning(record);
  if (running !== undefined) {
    process.kill(running.pid, 'SIGTERM');
    const gone = () => readRunning(record) === undefined;
    await until({ what: `process ${running.pid} ends`, timeoutMs: graceMs, everyMs: 20 }, gone).catch(() =>
      process.kill(running.pid, 'SIGKILL'),
    );
    await until({ what: `process ${running.pid} ends after a kill`, timeoutMs: 10_000, everyMs: 20 }, gone);
  }
  rmSync(record, { force: true });
  return running !== undefined;
}

export async function recordNames(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(() => [])).sort();
}

export interface Stat {
  pid: number;
  name: string;
  state: string;
  startTicks: string;
}

/** Parses one line of /proc/<pid>/stat. The name of the program may contain spaces and brackets. */
export function parseStat(text: string): Stat | undefined {
  const match = /^(\d+) \((.*)\) (\S) (.*)$/s.exec(text.trim());
  const startTicks = match?.[4]?.split(' ')[18];
  return match === null || startTicks === undefined
    ? undefined
    : { pid: Number(match[1]), name: match[2]!, state: match[3]!, startTicks };
}

export function parseRecord(text: string): { boot: string; running: Running } | undefined {
  const match = /^(\S+) (\S+) (.*)$/s.exec(text.trim());
  const stat = parseStat(match?.[3] ?? '');
  if (match === null || stat === undefined) return undefined;
  return { boot: match[1]!, running: { pid: stat.pid, startTicks: stat.startTicks, hash: match[2]! } };
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
