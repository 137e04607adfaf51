/**
 * The time that a warm runner adds to a tool, from the leader's go order to the collected result, minus the run time of
 * the tool: `npm exec -- node bench/runner/latency.ts [jobs]`. Uses an empty tool, and the real ones on a near origin
 * if installed.
 */
import { spawnSync } from 'node:child_process';
import { type AssignedTool, SUBJECT } from '../../src/platform/bus/messages.ts';
import { sampleWav } from '../../src/service/runner/verify_sample.ts';
import { Rig } from '../../test/runner/agent_rig.ts';

const jobs = Number(process.argv[2] ?? 200);
const rig = new Rig();
await rig.start();
const wav = sampleWav(80_000);
rig.serve = (request, response) => {
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const [from, to] = [Number(range?.[1] ?? 0), Math.min(Number(range?.[2] || wav.length - 1), wav.length - 1)];
  response
    .writeHead(range ? 206 : 200, {
      'accept-ranges': 'bytes',
      'content-length': to - from + 1,
      ...(range ? { 'content-range': `bytes ${from}-${to}/${wav.length}` } : {}),
    })
    .end(wav.subarray(from, to + 1));
};
await rig.newAgent();

const at = (times: number[], share: number): string =>
  (times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(1);

async function measure(label: string, tools: AssignedTool[]): Promise<void> {
  const answered: number[] = [];
  const added: number[] = [];
  const own: number[] = [];
  for (let index = 0; index < jobs; index++) {
    const order = rig.go(tools);
    await rig.phase('idle');
    const begun = performance.now();
    const collected = rig.next(order.job);
    await rig.say(SUBJECT.go, order);
    answered.push(performance.now() - begun);
    const { body } = await collected;
    const total = performance.now() - begun;
    const slowest = Math.max(...body.tools.map(({ durationMs }) => durationMs));
    own.push(slowest);
    added.push(total - slowest);
  }
  for (const times of [answered, added, own]) times.sort((a, b) => a - b);
  console.log(
    `${label.padEnd(24)} go answered p50 ${at(answered, 0.5)} p99 ${at(answered, 0.99)} ms, added p50 ` +
      `${at(added, 0.5)} p90 ${at(added, 0.9)} p99 ${at(added, 0.99)} ms, the tools themselves p50 ` +
      `${at(own, 0.5)} ms`,
  );
}

const which = (tool: string): string => spawnSync('which', [tool], { encoding: 'utf8' }).stdout.trim();
const real = (['ffprobe', 'mediainfo'] as const).filter((name) => which(name) !== '');
await measure('warming up', [rig.script('echo "{}"')]);
await measure('a script', [rig.script('echo "{}"')]);
if (real.length > 0)
  await measure(
    real.join(' and '),
    real.map((name) => ({ name, version: '1', timeoutMs: 20_000, options: {}, command: [which(name)] })),
  );
await rig.stop();
process.exit(0);
