/** The program that an agent is started with: its connections have a small send buffer, and its signals arrive. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { until } from '../until.ts';
import { buildListener } from './built_launcher.ts';

const LISTENER = await buildListener();

/** Sends until the kernel takes no more, and prints how much it took. */
const SENDER = `
const turn = require('node:timers/promises').setImmediate;
const piece = Buffer.alloc(65536);
const server = require('node:net').createServer(async (socket) => {
  socket.on('error', () => {});
  for (let taken = 0; ; taken += piece.length) {
    let isTaken = false;
    socket.write(piece, () => (isTaken = true));
    for (let turns = 0; turns < 10; turns++) await turn();
    if (!isTaken || taken > 64 << 20) return console.log(taken);
  }
});
const fd = Number(process.env.PY_SOURCE_FD);
server.listen(process.argv[1] === 'inherited' ? { fd } : { host: '127.0.0.1', port: 0 }, () =>
  console.log(JSON.stringify(server.address())));`;

async function takenBy(socket: 'inherited' | 'own'): Promise<{ taken: number; address: string }> {
  const child = spawn(LISTENER, ['65536', process.execPath, '-e', SENDER, socket], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const { address, port } = JSON.parse((await lines.next()).value!) as { address: string; port: number };
    const client = connect(port, address).pause();
    await once(client, 'connect');
    const taken = Number((await lines.next()).value);
    client.destroy();
    return { taken, address };
  } finally {
    const exited = once(child, 'exit');
    child.kill();
    await exited;
  }
}

const run = (...args: string[]) => {
  const { status, stderr } = spawnSync(LISTENER, args, { encoding: 'utf8' });
  return { status, stderr };
};

describe('listener', function () {
  this.timeout(60_000);

  it('gives the process a socket whose connections hold little that the client does not read', async () => {
    const { taken, address } = await takenBy('inherited');
    assert.equal(address, '127.0.0.1');
    assert.ok(taken > 0 && taken < 1 << 20, `the kernel took ${taken} bytes`);
  });
  it('has a reason: a socket of the process itself holds megabytes', async () => {
    const { taken } = await takenBy('own');
    assert.ok(taken > 1 << 20, `the kernel took ${taken} bytes`);
  });
  it('passes on no other descriptor, and says how it was started', () => {
    const script = 'ls -l /proc/self/fd | wc -l; echo "$PY_LISTENER $PY_SOURCE_BYTES $PY_SOURCE_FD"';
    // The shell inherits descriptors 3 to 5 of this process.
    const { stdout } = spawnSync(LISTENER, ['65536', '/bin/sh', '-c', script], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 2, 2, 2, 2],
    });
    // Three and the socket, the folder that is listed, and the total.
    assert.equal(stdout, `6\n${LISTENER} 65536 3\n`);
  });
  it('says what it wants', () => {
    for (const args of [
      [],
      ['65536'],
      ['0', '/bin/true'],
      ['65536x', '/bin/true'],
      ['99999999999999999999', '/bin/true'],
    ])
      assert.deepEqual(
        run(...args),
        { status: 2, stderr: 'usage: listener <bytes, 4096 to 16777216> <program> [<argument>...]\n' },
        args.join(' '),
      );
  });
  it('says why it cannot start the program', () => {
    assert.deepEqual(run('65536', '/none'), { status: 1, stderr: 'listener: /none: No such file or directory\n' });
  });

  describe('as process 1', () => {
    const ALONE = ['--pid', '--fork', '--kill-child', '--mount-proc'];
    const startOf = (script: string) => [...ALONE, LISTENER, '65536', '/bin/sh', '-c', script];

    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      it(`${signal} ends a program that has no handler yet`, async () => {
        const child = spawn('unshare', startOf('echo started; exec sleep 600'), {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        const exited = once(child, 'exit');
        try {
          await once(child.stdout, 'data');
          const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
          process.kill(Number(children), signal);
          await until('it has ended', () => child.exitCode !== null, 5_000);
          assert.deepEqual(await exited, [signal === 'SIGTERM' ? 143 : 130, null]);
        } finally {
          child.kill('SIGKILL');
          await exited;
        }
      });
    it('the program is a child, and its exit code that of the container', () => {
      const { status, stdout } = spawnSync('unshare', startOf('echo $$ $PPID; exit 7'), { encoding: 'utf8' });
      assert.deepEqual({ status, stdout }, { status: 7, stdout: '2 1\n' });
    });
    it('what the program leaves behind is reaped, and ends nothing', () => {
      // The inner shell leaves a process, which ends as a child of process 1.
      const script =
        'left=$(sh -c "sleep 0.01 >&2 & echo \\$!"); i=0; ' +
        'while [ -e /proc/$left ] && [ $i -lt 500 ]; do i=$((i + 1)); sleep 0.01; done; ' +
        '[ -e /proc/$left ] && echo still there || echo gone';
      const { status, stdout } = spawnSync('unshare', startOf(script), { encoding: 'utf8' });
      assert.deepEqual({ status, stdout }, { status: 0, stdout: 'gone\n' });
    });
    it('says why it cannot start the program', () => {
      const { status, stderr } = spawnSync('unshare', [...ALONE, LISTENER, '65536', '/none'], {
        encoding: 'utf8',
      });
      assert.deepEqual({ status, stderr }, { status: 1, stderr: 'listener: /none: No such file or directory\n' });
    });
  });
});
