/**
 * Start time and memory of a warm runner, for the agent as a separate process (idle, after jobs, after a large output)
 * and its launcher: `npm exec -- node bench/runner/memory.ts`. With and without a prebuilt compile cache, and with
 * flags of the runtime.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SUBJECT } from '../../src/platform/bus/messages.ts';
import { Rig } from '../../test/runner/agent_rig.ts';
import { buildAgent } from '../../test/runner/built_agent.ts';
import { until } from '../../test/until.ts';

const { program } = await buildAgent();
const cache = mkdtempSync(join(tmpdir(), 'probeyard-compile-cache-'));
const status = (pid: number, what: string): number =>
  Math.round(Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);

const rig = new Rig();
await rig.start();
rig.launcher.close();
writeFileSync(join(rig.directory, 'token'), 'any');
writeFileSync(
  join(rig.directory, 'big'),
  JSON.stringify({
    lines: Array.from(
      { length: 500_000 },
      (_, index) => `a line of a large output, number ${index}, ääö "quoted" \\ more of it here`,
    ),
  }),
);

async function measure(label: string, flags: string[], env: Record<string, string>, large: boolean): Promise<void> {
  rig.uid = `uid-${label.replaceAll(/\W+/g, '-')}`;
  rig.beats = [];
  const begun = performance.now();
  const child = spawn(process.execPath, [...flags, program], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: '/usr/bin:/bin',
      ...rig.environment(),
      ...env,
    },
  });
  const pid = child.pid ?? 0;
  await until('the first heartbeat', () => rig.beats.length > 0, 20_000);
  const ready = Math.round(performance.now() - begun);
  await new Promise((resolve) => {
    setTimeout(resolve, 2_000);
  });
  const idle = status(pid, 'VmRSS');
  const own = status(pid, 'RssAnon');
  const tool = rig.script('echo "{}"');
  for (let index = 0; index < 100; index++) {
    await rig.phase('idle');
    await rig.run(rig.go([tool]));
  }
  const after = status(pid, 'VmRSS');
  let big = '';
  if (large) {
    await rig.phase('idle');
    const order = rig.go(
      [
        rig.script(`cat ${join(rig.directory, 'big')}`),
        rig.script(`cat ${join(rig.directory, 'big')}`, { name: 'mediainfo' }),
      ],
      { remainingMs: 60_000 },
    );
    const from = performance.now();
    await rig.say(SUBJECT.go, order);
    const { body } = await rig.taken(order.job, 60_000);
    big =
      `, two outputs of ${((body.tools[0]?.output?.length ?? 0) / 1e6).toFixed(0)} MB: peak ` +
      `${status(pid, 'VmHWM')} MB, ${(performance.now() - from).toFixed(0)} ms`;
  }
  const launcher = readFileSync(`/proc/${rig.launcherProcess.pid}/status`, 'utf8');
  const launcherMb = Number(/VmRSS:\s+(\d+)/.exec(launcher)?.[1]) / 1024;
  console.log(
    `${label.padEnd(48)} ready ${String(ready).padStart(5)} ms, idle ${idle} MB (${own} not shared), ` +
      `after 100 jobs ${after} MB${big}, launcher ${launcherMb.toFixed(1)} MB`,
  );
  child.kill('SIGTERM');
  await once(child, 'exit');
}

const large = process.argv.includes('--large');
await measure('as it is', [], {}, false);
await measure('filling the compile cache', [], { NODE_COMPILE_CACHE: cache }, false);
for (const flags of [[], ['--max-semi-space-size=1']]) {
  await measure(`compile cache ${flags.join(' ')}`, flags, { NODE_COMPILE_CACHE: cache }, large);
}
await measure(
  'compile cache, MALLOC_ARENA_MAX=1, UV_THREADPOOL_SIZE=2',
  [],
  { NODE_COMPILE_CACHE: cache, MALLOC_ARENA_MAX: '1', UV_THREADPOOL_SIZE: '2' },
  large,
);
await rig.stop();
rmSync(cache, { recursive: true, force: true });
process.exit(0);
