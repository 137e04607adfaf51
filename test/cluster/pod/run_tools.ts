/** Runs in a pod in place of the launcher. Starts each tool as ordered and prints one line of JSON for each. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

interface Task {
  tool: string;
  version: string;
  ask: string[];
  probe: string[];
}
const tasks = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Task[];

const start = ([program = '', ...args]: string[]) => {
  const { stdout, stderr, status, signal, error } = spawnSync(program, args, {
    encoding: 'utf8',
    timeout: 30_000,
    env: { HOME: '/tmp', LC_ALL: 'C.UTF-8', no_proxy: '127.0.0.1' },
    maxBuffer: 16 * 1024 * 1024,
  });
  return { stdout, stderr: stderr?.slice(0, 2_000), status, signal, error: error?.message };
};

// The other container serves the source, and may start later than this one.
for (const end = performance.now() + 30_000; ;) {
  try {
    await (await fetch('http://127.0.0.1:8000/')).arrayBuffer();
    break;
  } catch (error) {
    if (performance.now() > end) throw error;
  }
}
for (const { tool, version, ask, probe } of tasks)
  console.log(JSON.stringify({ tool, version, told: start(ask), json: start(probe) }));
await fetch('http://127.0.0.1:8000/done');
