import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { type Heartbeat, SUBJECT } from '../../src/platform/bus/messages.ts';
import { until } from '../until.ts';
import { Rig } from './agent_rig.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');
const rssMb = (pid: number, what = 'VmRSS'): number =>
  Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

describe('agent as a process', function () {
  this.timeout(60_000);
  const rig = new Rig();
  let child: ChildProcess;
  let output = '';
  before(async () => {
    await rig.start();
    rig.launcher.close(); // the process connects in its place
    rig.uid = 'uid-process';
    writeFileSync(join(rig.directory, 'token'), 'any');
  });
  after(async () => {
    child?.kill('SIGKILL');
    await rig.stop();
  });

  const start = () => {
    output = '';
    child = spawn(process.execPath, [MAIN, 'agent'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: '/usr/bin:/bin',
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        ...rig.environment(),
      },
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (text: Buffer) => {
        output += text;
      });
  };

  it('serves, runs a job, and exits with 0 on SIGTERM when the job is done', async () => {
    const begun = performance.now();
    start();
    await until(`the first heartbeat: ${output}`, () => rig.beats.length > 0, 20_000);
    const startMs = performance.now() - begun;
    const pid = child.pid ?? 0;
    const idle = rssMb(pid);
    const order = rig.go([rig.script('sleep 0.4; echo "{}"')]);
    assert.deepEqual(await rig.say(SUBJECT.go, order), { ok: true });
    // Before its result is there: it may end before that is seen.
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    assert.equal((await rig.taken(order.job)).body.tools[0]?.success, true);
    assert.deepEqual(await closed, [0, null], output);
    console.log(
      `      ready after ${startMs.toFixed(0)} ms, RSS ${idle.toFixed(0)} MB ` +
        `idle, launcher ${rssMb(rig.launcherProcess.pid).toFixed(1)} MB`,
    );
    assert.ok(!output.includes(rig.originUrl), 'no source in the log');
  });

  it('exits at once on SIGTERM before it serves', async () => {
    const waiting = spawn(process.execPath, [MAIN, 'agent'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...rig.environment({ launcherSocket: '/nonexistent/launcher.sock' }), PY_POD_UID: 'uid-waiting' },
    });
    await once(waiting.stdout, 'data'); // the line that NATS is connected
    waiting.kill('SIGTERM');
    assert.deepEqual(await once(waiting, 'exit'), [0, null]);
  });

  it('names invalid settings', async () => {
    const wrong = spawn(process.execPath, [MAIN, 'agent'], { stdio: ['ignore', 'pipe', 'pipe'], env: {} });
    let text = '';
    for (const stream of [wrong.stdout, wrong.stderr])
      stream?.on('data', (bytes: Buffer) => {
        text += bytes;
      });
    const [code] = (await once(wrong, 'close')) as [number];
    assert.equal(code, 1);
    assert.match(text, /PY_RUNNER/);
  });

  it('answers the probes of the kubelet', async () => {
    const { serveHealth } = await import('../../src/base/health.ts');
    const server = await serveHealth({ host: '127.0.0.1', port: 0 }, {});
    const { port } = server.address() as { port: number };
    const status = await new Promise((resolve) => {
      get(`http://127.0.0.1:${port}/healthz`, (response) => resolve(response.resume().statusCode));
    });
    assert.equal(status, 200);
    server.close();
  });

  it('sends no heartbeats after it has exited', async () => {
    const seen: Heartbeat[] = rig.beats.splice(0);
    assert.equal(seen.at(-1)?.phase, 'draining');
  });
});
