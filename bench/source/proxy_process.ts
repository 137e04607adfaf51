import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * Runs as a child process behind the listener, because an agent is separate from the tools and from their starter. It
 * starts before the clock does, as the agent of a warm runner. `open` creates a job, and `close` ends it and returns
 * the tools' outputs as callers see them. Both are lines of JSON. Arguments: the certificate file to trust, and the
 * checkout whose proxy runs.
 */

export type Order = { open: string; tools: number } | { close: string[] };
export type Answer =
  | { addresses: string[]; environments: Record<string, string>[] }
  | { outputs: string[]; prepared: boolean; rss: number; ioUsage: number; byTool: number; cpuMs: number };

const [certificate = '', checkout = join(import.meta.dirname, '../..')] = process.argv.slice(2);
const of = (path: string): string => join(checkout, 'src/source', path);
const { startProxy } = (await import(of('proxy.ts'))) as typeof import('../../src/source/proxy.ts');
const { parseSource } = (await import(of('address/parse.ts'))) as typeof import('../../src/source/address/parse.ts');

const proxy = await startProxy({
  allow: [{ cidr: '127.0.0.1/32' }],
  ca: readFileSync(certificate, 'utf8'),
  listenFd: Number(process.env['PY_SOURCE_FD']),
});
/** Names as in a pod: what a tool reads first depends on it. */
const NAMES = ['ffprobe', 'mediainfo'];
let open: { job: ReturnType<typeof proxy.open>; prepared: Promise<{ ok: boolean }>; cpu: NodeJS.CpuUsage } | undefined;

async function obey(order: Order): Promise<Answer> {
  if ('open' in order) {
    const cpu = process.cpuUsage();
    const names = NAMES.slice(0, order.tools);
    const job = proxy.open({
      source: parseSource(order.open),
      limits: { maxBytes: 1e10 },
      tls: { verify: Object.fromEntries(names.map((name) => [name, true])) },
      live: ['ffprobe'],
    });
    open = { job, prepared: job.prepare(), cpu };
    return {
      addresses: names.map((name) => job.address(name)),
      environments: names.map((name) => job.environment(name)),
    };
  }
  const { job, prepared, cpu } = open!;
  const outputs = order.close.map((output) => job.redact(output));
  const { ok } = await prepared;
  const { ioUsage, origin } = job.stats();
  job.close();
  const { user, system } = process.cpuUsage(cpu);
  return {
    outputs,
    prepared: ok,
    rss: process.memoryUsage().rss,
    ioUsage,
    byTool: Object.values(origin).reduce((sum, { bytes }) => sum + bytes, 0),
    cpuMs: (user + system) / 1000,
  };
}

const say = (answer: Answer | 'ready'): void => void process.stdout.write(`${JSON.stringify(answer)}\n`);
say('ready');
for await (const line of createInterface({ input: process.stdin })) say(await obey(JSON.parse(line) as Order));
process.exit(0);
