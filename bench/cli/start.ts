/**
 * What the command line adds: its start beside that of Node, and a probe beside curl. They take turns, against one
 * installation in this process. `node bench/cli/start.ts [runs]`
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { endAll } from '../../test/at_end.ts';
import { packCli } from '../../test/cli/packed.ts';
import { startInstallation } from '../../test/cli/rig.ts';
import { summary } from '../statistics.ts';

const runs = Number(process.argv[2] ?? 40);
const FIXTURES = join(import.meta.dirname, '../../test/fixtures');

async function timed([program, ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const began = performance.now();
  const child = spawn(program!, args, { env: { PATH: process.env['PATH'], ...env }, stdio: 'ignore' });
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: exit code ${code}`);
  return performance.now() - began;
}

const packed = await packCli();
const here = await startInstallation([
  { tool: 'ffprobe', version: '9.0', latest: true },
  { tool: 'mediainfo', version: '26.10', latest: true },
]);
const url = `${(await here.origin(FIXTURES)).url}/tiny.mp4`;
const probeyard = [process.execPath, packed.bin('probeyard')];
const body = JSON.stringify({ url, only: 'ffprobe' });
const curl = ['curl', '-sS', '-o', '/dev/null', '-H', `Authorization: Bearer ${here.token}`, '--json', body];
const works: Record<string, readonly string[]> = {
  'node -e 0': [process.execPath, '-e', '0'],
  'probeyard --version': [...probeyard, '--version'],
  'curl versions': [...curl.slice(0, -2), `${here.url}/v1/versions`],
  'probeyard versions': [...probeyard, 'versions'],
  'curl probe': [...curl, `${here.url}/v1/probe/file`],
  'probeyard probe': [...probeyard, 'probe', url, '--only', 'ffprobe', '-o', 'json'],
};
const taken = new Map(Object.keys(works).map((name) => [name, [] as number[]]));
for (let run = -2; run < runs; run++)
  for (const [name, command] of Object.entries(works)) {
    const ms = await timed(command, here.env);
    if (run >= 0) taken.get(name)!.push(ms);
  }
for (const [name, all] of taken) {
  const { p50, p99 } = summary(all);
  console.log(
    `${name.padEnd(22)} least ${Math.min(...all).toFixed(0)} ms, p50 ${p50.toFixed(0)}, p99 ${p99.toFixed(0)}`,
  );
}
await here.stop();
await endAll();
