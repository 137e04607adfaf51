/**
 * A long queue: this many jobs of 100 tokens (limit 10) wait before there is a leader, and are then drained by
 * simulated runners. Shows whether the time is linear in the number of jobs, whether the cost of a job is independent
 * of the length of the queue, and the memory of the leader. The controller is a separate process; Postgres, NATS, API
 * server and runners share the machine with it. Run: npm exec -- node bench/scale/queue.ts [jobs...]
 */
import { rm } from 'node:fs/promises';
import { endAll } from '../../test/at_end.ts';
import { startCluster } from '../../test/controller/cluster_parts.ts';
import { fill } from './jobs.ts';
import { costOf, cpuByCommand, filledCompileCache, lead, startProcess } from './process.ts';

const sizes = process.argv.slice(2).map(Number);
if (sizes.length === 0) sizes.push(2_500, 5_000, 10_000);
const TOKENS = 100;
const LIMIT = 10;
const RUNNERS = Number(process.env['RUNNERS'] ?? 20);
const JOB_MS = 5;

async function drain(count: number, compiled: string): Promise<void> {
  const cluster = await startCluster({
    pools: { short: { minReady: RUNNERS, maxPods: RUNNERS } },
    runners: { go: () => ({ ms: JOB_MS }), heartbeatMs: 2_000 },
  });
  const child = startProcess(compiled);
  try {
    const tokens: number[] = [];
    for (let made = 0; made < TOKENS; made++) tokens.push(await cluster.newToken(LIMIT));
    await fill(cluster, tokens, count);
    const { stored } = cluster.servers;
    const started = performance.now();
    await lead(child, cluster);
    const leading = await costOf(child);
    const leadingMs = performance.now() - started;
    const before = cpuByCommand();
    const quarters: { left: number; at: number; cpuMs: number }[] = [];
    let cost = leading;
    let mostMb = 0;
    while (cost.waiting + cost.running > 0) {
      await new Promise((resolve) => {
        setTimeout(resolve, 100);
      });
      cost = await costOf(child);
      mostMb = Math.max(mostMb, cost.rssMb);
      const left = cost.waiting + cost.running;
      if (left <= count * (1 - (quarters.length + 1) / 4))
        quarters.push({ left, at: performance.now() - started, cpuMs: cost.cpuMs });
    }
    const ms = performance.now() - started - leadingMs;
    const [row] = await stored.sql<{ open: string; done: string }>(
      "select count(*) filter (where state = 'open') open, count(*) filter (where " +
        "state = 'success') done from requests where token_id = any($1)",
      [tokens],
    );
    const most = Math.max(...tokens.map((token) => cluster.most(token)));
    const around = [...cpuByCommand()]
      .map(([command, sum]) => [command, (sum - (before.get(command) ?? 0)) / count] as const)
      .filter(([, each]) => each > 0.05)
      .map(([command, each]) => `${command} ${each.toFixed(1)}`);
    const perQuarter = quarters.map((quarter, index) =>
      ((quarter.cpuMs - (quarters[index - 1]?.cpuMs ?? leading.cpuMs)) / (count / 4)).toFixed(2),
    );
    console.log(
      [
        `${String(count).padStart(6)} jobs`,
        `leading after ${(leadingMs / 1000).toFixed(1)} s (${(leading.cpuMs / count).toFixed(2)} ms CPU a job)`,
        `drained in ${(ms / 1000).toFixed(1)} s, ${Math.round((count / ms) * 1000)}/s`,
        `CPU ${((cost.cpuMs - leading.cpuMs) / count).toFixed(2)} ms a job (by quarter ${perQuarter.join(' ')})`,
        `RSS ${Math.round(leading.rssMb)} MB leading, ${Math.round(mostMb)} MB at most while it drains`,
        `peak ${Math.round(cost.peakMb)} MB`,
        `CPU ms a job of all: ${around.join(', ')}`,
        `ended ${row?.done}, open ${row?.open}`,
        `most of a token ${most}`,
      ].join('  '),
    );
  } finally {
    child.kill('SIGKILL');
    await cluster.stop();
  }
}

const compiled = await filledCompileCache();
try {
  for (const size of sizes) await drain(size, compiled);
} finally {
  await rm(compiled, { recursive: true });
  await endAll();
}
