/**
 * How long a replica takes to lead while jobs wait. Nothing is drained, so the same jobs are taken over again and
 * again: by this source tree, or by several in turn. Run: node bench/scale/takeover.ts [jobs] [turns] [tree...]
 */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { startCluster, stopServers } from '../../test/controller/cluster_parts.ts';
import { stopApiServers } from '../../test/kube/apiserver.ts';
import { fill } from './jobs.ts';
import { costOf, filledCompileCache, lead, startProcess } from './process.ts';

const [jobs = '2500', turns = '3', ...given] = process.argv.slice(2);
const trees = given.length > 0 ? given : ['.'];
const compiled = await filledCompileCache();
try {
  const cluster = await startCluster({ pools: { short: { minReady: 0, maxPods: 1 } } });
  const takeOver = async (tree: string): Promise<void> => {
    const child = startProcess(compiled, resolve(tree, 'bench/scale/controller.ts'));
    const started = performance.now();
    const ofTermMs = await lead(child, cluster);
    const ms = performance.now() - started;
    const { cpuMs, rssMb, waiting, lateMs } = await costOf(child);
    console.log(
      `${tree}: leading after ${(ms / 1000).toFixed(2)} s, of them ${(ofTermMs / 1000).toFixed(2)} s of its term, ` +
        `CPU ${(cpuMs / 1000).toFixed(2)} s, ${Math.round(rssMb)} MB, ${waiting} wait, ` +
        `event loop late by ${Math.round(lateMs.most)} ms at most`,
    );
    const ended = once(child, 'exit');
    // It exits, so that it writes the profile that CONTROLLER_FLAGS may ask for.
    child.disconnect();
    await ended;
  };
  for (const tree of trees) await takeOver(tree);
  const tokens: number[] = [];
  for (let made = 0; made < 100; made++) tokens.push(await cluster.newToken(10));
  await fill(cluster, tokens, Number(jobs));
  for (let turn = 0; turn < Number(turns); turn++) for (const tree of trees) await takeOver(tree);
  await cluster.stop();
} finally {
  await rm(compiled, { recursive: true });
  await stopServers();
  await stopApiServers();
}
process.exit();
