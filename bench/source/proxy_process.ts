import { readFileSync } from 'node:fs';
import { parseSource } from '../../src/source/address/parse.ts';
import { startProxy, type JobSource, type SourceProxy } from '../../src/source/proxy.ts';

/**
 * Run as a child, as an agent is a process apart from the tools and whoever starts them: `open` makes a new proxy (no
 * connection open, nothing cached) and a job in it, `close` ends both and gives the tools' outputs back as callers see
 * them. Argument: the file of the certificate to trust.
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
