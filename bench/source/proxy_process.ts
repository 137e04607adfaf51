import { readFileSync } from 'node:fs';
import { parseSource } from '../../src/source/address/parse.ts';
import { startProxy, type JobSource, type SourceProxy } from '../../src/source/proxy.ts';

/**
 * Runs as a child process, because an agent is separate from the tools and from their starter. `open` creates a new
 * proxy (without open connections or a cache) and a job in it. `close` ends both and returns the tools' outputs as
 * callers see them. Argument: the certificate file to trust.
 */

export type Order = { open: string; port: number; tools: number } | { close: string[] };
export type Answer =
  | { addresses: string[]; environments: Record<string, string>[] }
  | { outputs: string[]; prepared: boolean; rss: number };

const ca = readFileSync(process.argv[2]!, 'utf8');
let open: { proxy: SourceProxy; job: JobSource; prepared: Promise<{ ok: boolean }> } | undefined;

async function obey(order: Order): Promise<Answer> {
  if ('open' in order) {
    const proxy = await startProxy({ allow: [{ cidr: '127.0.0.1/32', port: order.port }], ca });
    const job = proxy.open({ source: parseSource(order.open), limits: { maxBytes: 1e10 } });
    open = { proxy, job, prepared: job.prepare() };
    const names = Array.from({ length: order.tools }, (_value, i) => `t${i}`);
    return {
      addresses: names.map((name) => job.address(name)),
      environments: names.map((name) => job.environment(name)),
    };
  }
  const { proxy, job, prepared } = open!;
  const outputs = order.close.map((output) => job.redact(output));
  const { ok } = await prepared;
  job.close();
  await proxy.close();
  return { outputs, prepared: ok, rss: process.memoryUsage().rss };
}
process.on('message', (order: Order) => void obey(order).then((answer) => process.send?.(answer)));
process.on('disconnect', () => process.exit(0));
