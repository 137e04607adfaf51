/** An agent in a process of its own, started as in a pod, and the newest tools that it runs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unpack } from '../../images/archive.ts';
import { cachedTools } from '../../images/cached.ts';
import type { AssignedTool } from '../../src/platform/bus/messages.ts';
import { AGENT_NODE_OPTIONS, SOURCE_SEND_BYTES } from '../../src/service/controller/pools/pod.ts';
import { buildAgent } from '../../test/runner/built_agent.ts';
import { buildListener } from '../../test/runner/built_launcher.ts';
import type { Rig } from '../../test/runner/agent_rig.ts';
import { until } from '../../test/until.ts';

/** Unpacks the newest version that has an image here, where the rig's agents find it. */
export async function unpackNewest(rig: Rig, name: 'ffprobe' | 'mediainfo'): Promise<AssignedTool> {
  const { entry, image } =
    (await cachedTools()).find((one) => one.entry.tool === name && one.image !== undefined) ?? {};
  if (!entry || !image) throw new Error(`no image of ${name} is built here`);
  const place = join(rig.directory, name, entry.version);
  mkdirSync(place, { recursive: true });
  await unpack(image.archive, place);
  return { name, version: entry.version, timeoutMs: 60_000, options: {}, command: [...entry.command] };
}

export interface AgentProcess {
  pid: number;
  stop(): Promise<void>;
}

/** In place of the agent of the rig. */
export async function startAgentProcess(rig: Rig): Promise<AgentProcess> {
  rig.launcher.close();
  writeFileSync(join(rig.directory, 'token'), 'any');
  const { program } = await buildAgent();
  const agent = spawn(await buildListener(), [String(SOURCE_SEND_BYTES), process.execPath, program], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: '/usr/bin:/bin', NODE_OPTIONS: AGENT_NODE_OPTIONS, ...rig.environment() },
  });
  const exited = once(agent, 'exit');
  const stop = async (): Promise<void> => {
    agent.kill();
    await exited;
  };
  try {
    await until('the first heartbeat', () => rig.beats.length > 0, 60_000);
  } catch (error) {
    await stop();
    throw error;
  }
  return { pid: agent.pid!, stop };
}
