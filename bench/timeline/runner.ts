/**
 * The cost of a timeline of a film of ten minutes in an agent that is a process of its own, beside ffprobe itself that
 * lists the same packets; and the CPU time and memory of the agent, beside the same request without a timeline.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Timeline } from '../../src/media/timeline/schema.ts';
import { Rig } from '../../test/runner/agent_rig.ts';
import { until } from '../../test/until.ts';
import { one, type Measurement, type Row } from '../measurement.ts';
import { startAgentProcess, unpackNewest } from '../runner/agent_process.ts';
import { cpuOf, peakOf } from '../runner/process.ts';
import { summary } from '../statistics.ts';
import { filmOf } from './film.ts';

const SECONDS = 600;
const ROUNDS = Number(process.env['BENCH_COUNT'] ?? 10);
const WARM_UP = 2;
const CLIP = join(import.meta.dirname, '../../test/fixtures/tiny.mp4');
async function bare(program: string, url: string): Promise<number> {
  const begun = performance.now();
  const child = spawn(program, ['-v', 'error', '-show_packets', '-of', 'csv', url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.resume();
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`ffprobe ended with ${code}`);
  return performance.now() - begun;
}

export const timelines: Measurement = {
  name: 'timeline',
  title: `a timeline of a film of ${SECONDS / 60} minutes, beside ffprobe -show_packets; an agent, near origin`,
  async measure(report) {
    const rig = new Rig();
    await rig.start();
    const tool = await unpackNewest(rig, 'ffprobe');
    const program = join(rig.directory, tool.name, tool.version, 'bin', 'ffprobe');
    const film = filmOf(program, CLIP, SECONDS);
    rig.serve = (request, response) => {
      const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
      const part = film.subarray(Number(from), to === '' ? undefined : Number(to) + 1);
      response.writeHead(request.headers.range === undefined ? 200 : 206, {
        'content-type': 'video/x-flv',
        'accept-ranges': 'bytes',
        'content-length': part.length,
        etag: '"1"',
        'content-range': `bytes ${from}-${Number(from) + part.length - 1}/${film.length}`,
      });
      response.end(part);
    };
    const agent = await startAgentProcess(rig);
    const { pid } = agent;
    try {
      const run = async (timeline: boolean) => {
        await until('an idle agent', () => rig.beats.at(-1)?.phase === 'idle', 30_000);
        const before = cpuOf(pid);
        const order = rig.go([tool], { remainingMs: 60_000, assignment: { timeoutMs: 60_000, timeline } });
        const { body } = await rig.run(order);
        return { body, cpu: cpuOf(pid) - before };
      };
      const url = `${rig.originUrl}/film.flv`;
      const [took, alone, cpu, plainCpu]: [number[], number[], number[], number[]] = [[], [], [], []];
      for (let round = 0; round < ROUNDS; round++) plainCpu.push((await run(false)).cpu);
      const plainPeak = peakOf(pid);
      for (let round = -WARM_UP; round < ROUNDS; round++) {
        const { body, cpu: used } = await run(true);
        const ms = await bare(program, url);
        if (!body.timeline?.success) throw new Error(body.timeline?.error ?? 'there is no timeline');
        if (round < 0) continue;
        took.push(body.timeline.durationMs);
        alone.push(ms);
        cpu.push(used);
        if (round === 0) {
          const { streams } = JSON.parse(body.timeline.output!) as Timeline;
          const packets = streams.reduce((sum, { packets: count }) => sum + count, 0);
          report(`${packets} packets, ${film.length} bytes; the timeline has ${body.timeline.output!.length} bytes`);
        }
      }
      return [
        {
          name: 'timeline-run',
          what: 'the run over all packets',
          unit: 'ms',
          values: summary(took),
          against: { what: 'ffprobe -show_packets alone', values: summary(alone) },
        },
        {
          name: 'timeline-cpu',
          what: 'CPU time of the agent for the request',
          unit: 'ms',
          values: summary(cpu),
          against: { what: 'without a timeline', values: summary(plainCpu) },
        },
        {
          name: 'timeline-memory',
          what: 'peak memory of the agent',
          unit: 'MB',
          values: one(peakOf(pid)),
          against: { what: 'without a timeline', values: one(plainPeak) },
        },
      ] satisfies Row[];
    } finally {
      await agent.stop();
      await rig.stop();
    }
  },
};
