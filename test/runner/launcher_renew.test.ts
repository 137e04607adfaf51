/** Between two tenants the launcher becomes a new process: its memory held what tools printed. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, readSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Launcher } from '../../src/service/runner/launcher.ts';
import { type Event, frameReader, TYPE } from '../../src/service/runner/launcher_frames.ts';
import { until } from '../until.ts';
import { LIMITS, type LauncherProcess, startLauncher } from './built_launcher.ts';

/** Twelve bytes that are nowhere else. */
const marker = (): string => `m${Math.random().toString(36).slice(2, 13).padEnd(11, 'x')}`;

/** Whether the text is in the memory of the process. Root may read it, although the process is not dumpable. */
function holds(pid: number, text: string): boolean {
  const wanted = Buffer.from(text);
  return readFileSync(`/proc/${pid}/maps`, 'utf8')
    .split('\n')
    .some((line) => {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (from === undefined || to === undefined) return false;
      return readMemory(pid, BigInt(`0x${from}`), Number(BigInt(`0x${to}`) - BigInt(`0x${from}`))).includes(wanted);
    });
}

function readMemory(pid: number, from: bigint, length: number): Buffer {
  const fd = openSync(`/proc/${pid}/mem`, 'r');
  const bytes = Buffer.alloc(length);
  try {
    readSync(fd, bytes, 0, length, from);
  } catch {
    // A mapping that cannot be read, as that of the kernel.
  }
  closeSync(fd);
  return bytes;
}

const startedAt = (pid: number): string => {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return text.slice(text.lastIndexOf(')')).split(' ')[20] ?? '';
};

describe('launcher: a new process between two tenants', function () {
  this.timeout(60_000);
  let started: LauncherProcess;
  let launcher: Launcher;
  before(async () => {
    started = await startLauncher();
    launcher = new Launcher(started.socket, { cleanMs: 3_000 });
    await launcher.whenConnected(5_000);
    // With its answer the launcher says that it knows the order.
    assert.equal(await launcher.killAll(), true);
  });
  after(async () => {
    launcher.close();
    await started.stop();
  });

  const print = async (text: string): Promise<string> => {
    const argv = ['/bin/sh', '-c', `printf '%s-%s' "$MADE" out`];
    const { stdout } = await launcher.run({ argv, env: { MADE: text }, limits: LIMITS });
    return stdout.toString();
  };

  it('forgets what tools printed and were started with, as a clean-up alone does not', async () => {
    const text = marker();
    const pid = started.pid;
    assert.equal(await print(text), `${text}-out`);
    assert.equal(await launcher.killAll(), true);
    assert.equal(holds(pid, text), true, 'the reason for the new process');
    assert.equal(await launcher.renew(), true);
    await launcher.whenConnected(5_000);
    assert.equal(await launcher.killAll(), true);
    assert.equal(started.process.exitCode, null);
    assert.equal(holds(pid, text), false);
    assert.equal(await print('again'), 'again-out');
  });

  it('remains the same process of the container, with no descriptor more', async () => {
    const { pid } = started;
    const before = { started: startedAt(pid), descriptors: readdirSync(`/proc/${pid}/fd`).length };
    for (let life = 0; life < 5; life++) {
      assert.equal(await launcher.renew(), true);
      await launcher.whenConnected(5_000);
      assert.equal(await launcher.killAll(), true);
    }
    assert.deepEqual({ started: startedAt(pid), descriptors: readdirSync(`/proc/${pid}/fd`).length }, before);
  });

  it('ends processes and removes files before it', async () => {
    const kept = join(started.tmp, 'kept');
    const argv = ['/bin/sh', '-c', `setsid sleep 1000 & echo $$ > ${kept}; wait`];
    const tool = launcher.run({ argv, env: {}, limits: LIMITS });
    const pid = Number(await until('the tool runs', () => existsSync(kept) && readFileSync(kept, 'utf8').trim()));
    writeFileSync(join(started.tmp, 'other'), '');
    assert.equal(await launcher.renew(), true);
    assert.deepEqual(readdirSync(started.tmp), []);
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    assert.equal((await tool).exit.killed, true);
    await launcher.whenConnected(5_000);
  });

  it('keeps the wall around tools', async () => {
    assert.equal(await launcher.killAll(), true);
    const wall = launcher.wall();
    assert.equal(await launcher.renew(), true);
    await launcher.whenConnected(5_000);
    assert.equal(await launcher.killAll(), true);
    assert.equal(launcher.wall(), wall);
    assert.notEqual(wall, 'none');
  });

  it('a renewal whose answer is lost counts as none', async () => {
    await started.restart();
    await launcher.whenConnected(5_000);
    assert.equal(await launcher.killAll(), true);
    started.process.kill('SIGSTOP');
    const renewed = launcher.renew();
    started.process.kill('SIGKILL');
    assert.equal(await renewed, false);
    await started.restart();
    await launcher.whenConnected(5_000);
    assert.equal(await launcher.killAll(), true);
  });

  it('that is ordered by an agent that is gone at once serves the next one', async () => {
    const own = await startLauncher();
    const socket = connect(own.socket);
    await once(socket, 'connect');
    process.kill(own.pid, 'SIGSTOP');
    // The answer to the first cannot be sent.
    socket.end(Buffer.from([0, 0, 0, 1, TYPE.killAll, 0, 0, 0, 1, TYPE.renew]));
    socket.destroySoon();
    await once(socket, 'close');
    process.kill(own.pid, 'SIGCONT');
    const next = new Launcher(own.socket, { cleanMs: 3_000 });
    await next.whenConnected(5_000);
    assert.equal(await next.killAll(), true);
    next.close();
    await own.stop();
  });

  it('an order with a payload ends the connection', async () => {
    const own = await startLauncher();
    const socket = connect(own.socket);
    await once(socket, 'connect');
    const events: Event[] = [];
    socket.on(
      'data',
      frameReader((event) => events.push(event)),
    );
    socket.write(Buffer.from([0, 0, 0, 5, TYPE.renew, 0, 0, 0, 1]));
    await once(socket, 'close');
    assert.deepEqual(events, []);
    await own.stop();
  });
});
