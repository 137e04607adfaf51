/**
 * CPU of an item of a chunk: one warm agent, a process of its own, gets a go order after each result:
 * `npm exec -- node bench/runner/items.ts [items]`. Two versions are compared by their checkouts, in turns.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { Rig } from '../../test/runner/agent_rig.ts';
import { cpuOfProcess } from '../cluster/cpu.ts';
import { serveFiles } from '../source/near_files.ts';
import { startAgentProcess, unpackNewest } from './agent_process.ts';
import { cpuOf, endedCpuOf } from './process.ts';

const WARM_UP = 200;
/** Until the leader knows of the result: the agent says meanwhile that it is idle. */
const BETWEEN_MS = 2;

const items = Number(process.argv[2] ?? 2_000);
const rig = new Rig();
await rig.start();
const tool = await unpackNewest(rig, 'ffprobe');
rig.serve = serveFiles([{ name: 'tiny.mp4', path: join(import.meta.dirname, '../../test/fixtures/tiny.mp4') }]);
const agent = await startAgentProcess(rig);

const used = () => ({
  agent: cpuOfProcess(agent.pid) / 1e6,
  tools: endedCpuOf(rig.launcherProcess.pid),
  launcher: cpuOfProcess(rig.launcherProcess.pid) / 1e6,
  'leader, collector and origin': cpuOf(process.pid),
});
let before = used();
for (let item = -WARM_UP; item < items; item++) {
  if (item === 0) before = used();
  const order = rig.go([tool], { source: `${rig.originUrl}/tiny.mp4`, remainingMs: 60_000 });
  const collected = rig.next(order.job);
  const answer = await rig.say(SUBJECT.go, order);
  if (!answer.ok) throw new Error(`refused: ${answer.why}`);
  const [ran] = (await collected).body.tools;
  if (!ran?.success) throw new Error(`failed: ${ran?.error}`);
  rig.results = [];
  await delay(BETWEEN_MS);
}
const after = used();
for (const [part, ms] of Object.entries(after))
  console.log(`${part}: ${((ms - before[part as keyof typeof before]) / items).toFixed(2)} ms of CPU an item`);
await agent.stop();
await rig.stop();
process.exit(0);
