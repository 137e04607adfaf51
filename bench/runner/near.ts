/**
 * Files of a near origin, read by one warm agent that is a process of its own: the time from the leader's go order to
 * the collected result beside the bare tools, in turns; the agent's CPU time; and how much of the file was read.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type AssignedTool, SUBJECT } from '../../src/platform/bus/messages.ts';
import { commandOf } from '../../src/service/runner/job.ts';
import { TOOL_TABLE } from '../../src/media/tools/table.ts';
import { Rig } from '../../test/runner/agent_rig.ts';
import { until } from '../../test/until.ts';
import type { Measurement, Row } from '../measurement.ts';
import { nearFiles, serveFiles } from '../source/near_files.ts';
import { summary } from '../statistics.ts';
import { startAgentProcess, unpackNewest } from './agent_process.ts';
import { cpuOf } from './process.ts';

const ROUNDS = Number(process.env['BENCH_COUNT'] ?? 60);
const WARM_UP = 5;
const LIMITS = { wallMs: 60_000, beside: false };

async function bare(tools: readonly AssignedTool[], toolsDir: string, url: string): Promise<number> {
  const begun = performance.now();
  await Promise.all(
    tools.map(async (tool) => {
      const [program = '', ...args] = [
        ...commandOf(tool, { toolsDir, nodePath: process.execPath }),
        ...TOOL_TABLE[tool.name]!.args({}, url, LIMITS),
      ];
      const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
      child.stdout.resume();
      await once(child, 'close');
    }),
  );
  return performance.now() - begun;
}

export const near: Measurement = {
  name: 'near',
  title: 'files of a near origin; one warm agent, from the go order to the collected result',
  async measure(report) {
    const rig = new Rig();
    await rig.start();
    const tools = [await unpackNewest(rig, 'ffprobe'), await unpackNewest(rig, 'mediainfo')];
    const files = nearFiles(join(rig.directory, 'media'));
    rig.serve = serveFiles(files);
    const agent = await startAgentProcess(rig);
    const { pid } = agent;
    const rows: Row[] = [];
    try {
      for (const { name } of files) {
        const url = `${rig.originUrl}/${name}`;
        for (const [label, asked] of [
          ['ffprobe', tools.slice(0, 1)],
          ['both tools', tools],
        ] as const) {
          const [took, alone, cpu, bytes]: [number[], number[], number[], number[]] = [[], [], [], []];
          for (let round = -WARM_UP; round < ROUNDS; round++) {
            await until('an idle agent', () => rig.beats.at(-1)?.phase === 'idle', 30_000);
            const order = rig.go([...asked], { source: url, remainingMs: 60_000 });
            const before = cpuOf(pid);
            const begun = performance.now();
            const collected = rig.next(order.job);
            await rig.say(SUBJECT.go, order);
            const { body } = await collected;
            const ms = performance.now() - begun;
            const failed = body.tools.find(({ success }) => !success);
            if (failed) throw new Error(`${name}: ${failed.name}: ${failed.error}`);
            const bareMs = await bare(asked, rig.directory, url);
            if (round < 0) continue;
            took.push(ms);
            alone.push(bareMs);
            // The clean-up after the result belongs to the job.
            cpu.push(cpuOf(pid) - before);
            bytes.push(body.ioUsage / 1e6);
          }
          const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
          report(
            `${name}, ${label}: ${summary(took).p50.toFixed(1)} beside ${summary(alone).p50.toFixed(1)} ms, ` +
              `agent's CPU ${mean(cpu).toFixed(1)} ms, ${mean(bytes).toFixed(2)} MB read`,
          );
          rows.push(
            {
              name: 'near-whole',
              what: `${name}, ${label}`,
              unit: 'ms',
              values: summary(took),
              against: { what: 'bare, same binaries', values: summary(alone) },
            },
            {
              name: 'near-read',
              what: `— read from the origin, ${name}, ${label}`,
              unit: 'MB',
              values: summary(bytes),
            },
          );
        }
      }
      return rows;
    } finally {
      await agent.stop();
      await rig.stop();
    }
  },
};
