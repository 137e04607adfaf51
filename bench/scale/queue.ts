/**
 * A long queue: this many jobs of 100 tokens (limit 10) wait before there is a leader, and are then drained by
 * simulated runners. Shows whether the time is linear in the number of jobs, whether the cost of a job is independent
 * of the length of the queue, and the memory of the leader. The controller is a separate process; Postgres, NATS, API
 * server and runners share the machine with it. Run: npm exec -- node bench/scale/queue.ts [jobs...]
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROBE_JOBS } from '../../src/kube/client.ts';
import { LABEL } from '../../src/kube/resource.ts';
import { sealSource } from '../../src/seal/seal.ts';
import { uuidv7 } from '../../src/store/uuid.ts';
import { startCluster, stopServers, type Cluster } from '../../test/controller/cluster_parts.ts';
import { stopApiServers } from '../../test/kube/apiserver.ts';
import type { Cost, Given } from './controller.ts';

const sizes = process.argv.slice(2).map(Number);
if (sizes.length === 0) sizes.push(2_500, 5_000, 10_000);
/** For the controller's process. As the chart starts it, if nothing is given. */
const flags = (process.env['CONTROLLER_FLAGS'] ?? '--max-semi-space-size=2').split(' ').filter(Boolean);
const CONTROLLER = new URL('controller.ts', import.meta.url).pathname;
const TOKENS = 100;
const LIMIT = 10;
const RUNNERS = Number(process.env['RUNNERS'] ?? 20);
const JOB_MS = 5;
const AT_ONCE = 24;
/** The queue takes longer than the queue timeout, so the submission times are in the future to avoid timeouts. */
const AHEAD_MS = 3_600_000;

async function fill(cluster: Cluster, tokens: number[], count: number): Promise<void> {
  const {
    servers: {
      stored: { store, admin },
      keys,
    },
    kube,
    namespace,
  } = cluster;
  const start = Math.floor(store.clock.now()) + AHEAD_MS;
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) {
      const submittedAt = new Date(start + index);
      const id = uuidv7(submittedAt.getTime());
      const token = tokens[index % tokens.length]!;
      const tools = [{ name: 'ffprobe' as const, version: '7.0' }];
      await store.openRequest({
        id,
        submittedAt,
        tokenId: token,
        userId: admin.userId,
        kind: 'file',
        display: 'https://media.example.org/a.mp4',
        scheme: 'https',
        request: {},
        tools,
        queueTimeoutMs: 60_000,
        timeoutMs: 65_000,
        waiter: null,
        webhookUrl: null,
        idempotency: null,
        requestsPerMinute: 0,
      });
      const sealed = await sealSource(
        `https://media.example.org/${id}.mp4`,
        { requestId: id, tokenId: token },
        keys.public,
      );
      await kube.create(PROBE_JOBS, {
        metadata: { name: id, namespace, labels: { [LABEL.token]: String(token) } },
        spec: {
          kind: 'file',
          source: { display: 'https://media.example.org/a.mp4', sealed },
          token: { id: token, user: admin.userId },
          submittedAt: submittedAt.toISOString(),
          queueTimeoutMs: 60_000,
          timeoutMs: 65_000,
          tools,
        },
      });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/**
 * CPU time in ms by command, of all processes that this one started. Shows what shares the machine with the controller.
 */
function cpuByCommand(): Map<string, number> {
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

async function costOf(child: ChildProcess): Promise<Cost> {
  child.send('cost');
  const [cost] = (await once(child, 'message')) as [Cost];
  return cost;
}

/** The image holds compiled modules: without them a process keeps the compiler of TypeScript, some 20 MB. */
async function filledCompileCache(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'queue-compiled-'));
  const child = fork(CONTROLLER, { execArgv: flags, env: { ...process.env, NODE_COMPILE_CACHE: folder } });
  await once(child, 'spawn');
  child.disconnect();
  await once(child, 'exit');
  return folder;
}

async function drain(count: number, compiled: string): Promise<void> {
  const cluster = await startCluster({
    pools: { short: { minReady: RUNNERS, maxPods: RUNNERS } },
    runners: { go: () => ({ ms: JOB_MS }), heartbeatMs: 2_000 },
  });
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled };
  const child = fork(CONTROLLER, { stdio: 'inherit', execArgv: flags, env });
  try {
    const tokens: number[] = [];
    for (let made = 0; made < TOKENS; made++) tokens.push(await cluster.newToken(LIMIT));
    await fill(cluster, tokens, count);
    const {
      servers: { api, nats, stored, keys },
      namespace,
      runnerNamespace,
    } = cluster;
    const started = performance.now();
    child.send({
      kubeconfig: api.kubeconfig,
      namespace,
      runnerNamespace,
      natsUrl: nats.url,
      postgresUrl: stored.server.url,
      keys: keys.private,
      env: { PY_MAX_QUEUED: '1000000' },
    } satisfies Given);
    await once(child, 'message');
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
  await stopServers();
  await stopApiServers();
}
