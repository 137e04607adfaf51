import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Limits, Launcher } from '../../src/service/runner/launcher.ts';
import { until } from '../until.ts';
import { type LauncherProcess, LIMITS, startLauncher } from './built_launcher.ts';
import { commandOf, odd, processesWith } from './found.ts';

const alive = (pid: number) =>
  existsSync(`/proc/${pid}`) && !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');

const root = process.getuid?.() === 0;

for (const init of [false, true]) {
  describe(`launcher ${init ? 'as PID 1 of its namespace' : 'as an ordinary process'}`, function () {
    this.timeout(30_000);
    let server: LauncherProcess;
    let launcher: Launcher;
    const run = (
      argv: string[],
      limits: Partial<Limits> = {},
      env: Record<string, string> = { PATH: '/usr/bin:/bin' },
    ) => launcher.run({ argv, env, limits: { ...LIMITS, ...limits } });
    const sh = (script: string, limits: Partial<Limits> = {}) => run(['/bin/sh', '-c', script], limits);

    before(async function () {
      if (init && !root) {
        console.log('      skipped: a PID namespace needs root');
        this.skip();
      }
      server = await startLauncher({ init });
      launcher = new Launcher(server.socket);
      await launcher.whenConnected(5_000);
    });
    after(async () => {
      launcher?.close();
      await server?.stop();
    });

    it('returns both outputs, the exit code and the time that it took', async () => {
      const { exit, stdout, stderr } = await sh('printf out; printf err >&2; exit 3');
      assert.equal(stdout.toString(), 'out');
      assert.equal(stderr.toString(), 'err');
      const { wallUs, ...others } = exit;
      assert.deepEqual(others, { code: 3, signal: null, timedOut: false, capped: false, killed: false });
      assert.ok(wallUs > 100);
    });

    it('passes arguments unchanged, without a shell', async () => {
      const strange = ['$(id)', '; rm -rf /', '', '-x', 'a b', '"', '\u{1f3ac}', '%s\n'];
      const { stdout } = await run(['/usr/bin/printf', '%s|', ...strange]);
      assert.equal(stdout.toString(), strange.map((text) => `${text}|`).join(''));
    });

    it('gives a clean environment, an empty stdin, no other file descriptor and a new session', async () => {
      const { stdout } = await run(['/usr/bin/env'], {}, { HOME: '/tmp', LC_ALL: 'C.UTF-8' });
      assert.equal(stdout.toString(), 'HOME=/tmp\nLC_ALL=C.UTF-8\n');
      const fds = await run(['/bin/ls', '/proc/self/fd']);
      assert.equal(fds.stdout.toString(), '0\n1\n2\n3\n'); // 3 is the directory that ls reads
      assert.equal((await run(['/bin/cat'])).stdout.length, 0);
      const status = (await run(['/bin/cat', '/proc/self/status'])).stdout.toString();
      assert.match(status, /^NoNewPrivs:\t1$/m);
      assert.match(status, /^SigBlk:\t0+$/m);
      const stat = (await run(['/bin/cat', '/proc/self/stat'])).stdout.toString().split(' ');
      assert.equal(stat[5], stat[0], 'it leads a session');
    });

    it('starts tools in the directory that is emptied', async () => {
      assert.equal((await run(['/bin/pwd'])).stdout.toString().trim(), server.tmp);
    });

    const refused: [string, () => string, string][] = [
      ['a missing program', () => '/nonexistent/tool', 'ENOENT'],
      ['a path through a file', () => '/etc/hostname/tool', 'ENOTDIR'],
      ['a file that is not executable', () => file('plain', 'x', 0o644), 'EACCES'],
      ['a directory', () => server.tmp, 'EACCES'],
      ['a file of no known format', () => file('odd', 'no program', 0o755), 'ENOEXEC'],
      ['a script whose interpreter is missing', () => file('script', '#!/nonexistent/loader\n', 0o755), 'ENOENT'],
    ];
    const file = (name: string, text: string, mode: number) => {
      const path = join(server.tmp, name);
      writeFileSync(path, text);
      chmodSync(path, mode);
      return path;
    };
    for (const [what, path, name] of refused) {
      it(`reports ${what} as ${name}`, () =>
        assert.rejects(run([path()]), { code: 'exec-failed', message: `cannot execute the program: ${name}` }));
    }

    it('ends a tool at its wall time limit, and reports it', async () => {
      const { exit } = await sh('printf x; sleep 100', { wallMs: 150 });
      assert.equal(exit.timedOut, true);
      assert.equal(exit.signal, 9);
      assert.ok(exit.wallUs >= 150_000 && exit.wallUs < 5_000_000);
    });

    it('limits CPU time, data, file size and open files of a tool', async () => {
      const cpu = await sh('while :; do :; done', { cpuSeconds: 1 });
      assert.equal(cpu.exit.signal, 24, 'SIGXCPU');
      const data = await run(['/usr/bin/head', '-c', '200m', '/dev/zero'], { dataBytes: 64 << 20 });
      assert.equal(data.exit.capped, true, 'a small program is not hit');
      const hungry = await sh('x=a; while :; do x=$x$x; done', { dataBytes: 64 << 20 });
      assert.ok(hungry.exit.code !== 0, JSON.stringify(hungry.exit));
      const size = await run(['/bin/dd', 'if=/dev/zero', 'of=big', 'bs=1M', 'count=4'], { fileBytes: 1 << 20 });
      assert.equal(size.exit.signal, 25, 'SIGXFSZ');
      assert.equal((await sh('ulimit -n; ulimit -c', { files: 77 })).stdout.toString(), '77\n0\n');
    });

    it('ends a tool that prints more than its cap, and passes on exactly the cap', async () => {
      const { exit, stdout } = await run(['/usr/bin/yes'], { stdoutBytes: 300_001 });
      assert.equal(stdout.length, 300_001);
      assert.equal(exit.capped, true);
      assert.equal(exit.signal, 9);
    });

    it('lets a tool print exactly its cap', async () => {
      const { exit, stdout } = await run(['/usr/bin/head', '-c', '300001', '/dev/zero'], { stdoutBytes: 300_001 });
      assert.equal(stdout.length, 300_001);
      assert.deepEqual([exit.capped, exit.code], [false, 0]);
    });

    it('drops stderr over its cap without ending the tool', async () => {
      const { exit, stderr, stdout } = await sh('head -c 100000 /dev/zero >&2; echo done');
      assert.equal(stderr.length, 4096);
      assert.equal(stdout.toString(), 'done\n');
      assert.equal(exit.code, 0);
    });

    it('passes on 40 MB complete and in order, from two tools in parallel', async () => {
      const sum = (bytes: Buffer) => execFileSync('cksum', { input: bytes }).toString().split(' ')[0];
      const limits = { stdoutBytes: 64 << 20 };
      const script = 'i=0; while [ $i -lt 400 ]; do printf "%0100000d" $i; i=$((i+1)); done';
      const outputs = await Promise.all([sh(script, limits), sh(script, limits)]);
      const expected = sum(
        Buffer.from(Array.from({ length: 400 }, (_, index) => String(index).padStart(100_000, '0')).join('')),
      );
      for (const { stdout } of outputs) assert.equal(sum(stdout), expected);
    });

    it('reports the end of a tool even if a process outside its group holds the pipe', async () => {
      const { exit, stdout } = await sh('setsid sleep 300 & echo told');
      assert.equal(stdout.toString(), 'told\n');
      assert.equal(exit.code, 0);
      assert.equal(await launcher.killAll(), true);
    });

    it('ends one tool at its limit, and not the other', async () => {
      const [one, other] = await Promise.all([
        run(['/bin/sleep', '100'], { wallMs: 100 }),
        sh('sleep 0.3; echo alive'),
      ]);
      assert.deepEqual([one.exit.signal, one.exit.timedOut, one.exit.killed], [9, true, false]);
      assert.equal(other.stdout.toString(), 'alive\n');
    });

    it('ends daemons and their children outside the process group, and empties the directory', async () => {
      const tool = sh(
        'mkdir -p d/e; echo x > d/e/f; ln -s /etc d/link; chmod 000 d/e; touch .hidden; ' +
          `setsid sh -c "setsid sleep ${odd(301)} & setsid sleep ${odd(302)} & sleep ` +
          `${odd(303)}" & sleep ${odd(304)} & echo $$; sleep ${odd(305)}`,
      );
      const sleeping = () =>
        [301, 302, 303, 304, 305]
          .map((time) => `sleep\0${odd(time)}\0`)
          .flatMap((command) => processesWith(command).filter((pid) => commandOf(pid) === command)).length;
      await until('five sleepers', () => sleeping() === 5);
      assert.equal(await launcher.killAll(), true);
      assert.equal((await tool).exit.killed, true);
      assert.equal(sleeping(), 0);
      assert.deepEqual(readdirSync(server.tmp), []);
      assert.ok(existsSync('/etc/passwd'), 'a link is removed, not followed');
    });

    it('empties a directory that a tool made deep and unreadable', async () => {
      mkdirSync(join(server.tmp, 'a/b/c'), { recursive: true });
      symlinkSync('/', join(server.tmp, 'a/root'));
      chmodSync(join(server.tmp, 'a/b'), 0);
      assert.equal(await launcher.killAll(), true);
      assert.deepEqual(readdirSync(server.tmp), []);
    });

    it('runs sixteen tools at once and refuses the next', async () => {
      const many = Array.from({ length: 16 }, () => run(['/bin/sleep', '60']));
      await assert.rejects(run(['/bin/true']), { code: 'exec-failed', message: /^cannot create a process/ });
      await launcher.killAll();
      for (const tool of many) assert.equal((await tool).exit.killed, true);
      assert.equal((await run(['/bin/true'])).exit.code, 0);
    });

    it('ends everything when the agent disconnects, and serves the next agent', async () => {
      const lost = assert.rejects(run(['/bin/sleep', odd(400)]), { code: 'lost' });
      const pid = await until('the tool is seen', () => findByCommand(`sleep\0${odd(400)}\0`));
      launcher.close();
      await lost;
      await until('the process of the tool ended', () => !alive(pid));
      launcher = new Launcher(server.socket);
      await launcher.whenConnected(5_000);
      assert.equal((await run(['/bin/echo', 'again'])).stdout.toString(), 'again\n');
    });

    it('serves one agent at a time', async () => {
      const second = new Launcher(server.socket, { cleanMs: 150 });
      await second.whenConnected(5_000); // in the backlog of the socket, not served
      assert.equal(await second.killAll(), false);
      second.close();
      assert.equal(await launcher.killAll(), true);
    });

    it('disconnects an agent that violates the protocol', async () => {
      launcher.close();
      for (const bytes of [
        Buffer.from([0, 0, 0, 1, 99]),
        Buffer.from([0xff, 0xff, 0xff, 0xff, 1]),
        Buffer.from([0, 0, 0, 2, 1, 0]),
        Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      ]) {
        const closed = Promise.withResolvers<void>();
        const socket = connect(server.socket, () => socket.write(bytes))
          .on('close', () => closed.resolve())
          .on('error', () => {});
        await closed.promise;
      }
      launcher = new Launcher(server.socket);
      await launcher.whenConnected(5_000);
      assert.equal(await launcher.killAll(), true);
    });

    it('stops reading a tool while the agent does not read', async () => {
      launcher.close();
      const { encodeStart } = await import('../../src/service/runner/launcher_frames.ts');
      const socket = connect(server.socket);
      socket.write(
        encodeStart(1, {
          argv: ['/bin/sh', '-c', 'head -c 30000000 /dev/zero; touch through'],
          env: { PATH: '/bin:/usr/bin' },
          limits: { ...LIMITS, stdoutBytes: 1 << 26 },
        }),
      );
      let size = 0;
      const count = (bytes: Buffer) => {
        size += bytes.length;
      };
      await new Promise<void>((resolve) => {
        socket.on('data', count).once('data', () => {
          socket.pause();
          resolve();
        });
      });
      const memory = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${rssPid()}/status`, 'utf8'))?.[1]);
      try {
        await new Promise((resolve) => {
          setTimeout(resolve, 200);
        });
        assert.equal(existsSync(join(server.tmp, 'through')), false, 'the tool waits');
        assert.ok(memory() < 3_000, `${memory()} KB`);
        socket.resume();
        await until('30 MB were read', () => size > 30_000_000);
      } finally {
        socket.destroy();
        launcher = new Launcher(server.socket);
        await launcher.whenConnected(5_000);
      }
    });
    const rssPid = () => (init ? findByCommand(`${server.socket}\x00`) : server.pid) ?? server.pid;

    it('reports a running tool as lost when the container dies, and reconnects to the next launcher', async () => {
      const lost = assert.rejects(run(['/bin/sleep', odd(401)]), { code: 'lost' });
      await until('the tool is seen', () => findByCommand(`sleep\0${odd(401)}\0`));
      await server.restart();
      await lost;
      await launcher.whenConnected(5_000);
      assert.equal((await run(['/bin/echo', 'back'])).stdout.toString(), 'back\n');
      await until(
        'the process of the previous launcher ended',
        () => findByCommand(`sleep\0${odd(401)}\0`) === undefined,
      );
    });

    it('barely grows, and starts a tool in about a millisecond', async () => {
      const roundMs: number[] = [];
      for (let index = 0; index < 100; index++) {
        const begun = performance.now();
        await run(['/bin/true']);
        roundMs.push(performance.now() - begun);
      }
      const middle = (numbers: number[]) => numbers.sort((a, b) => a - b)[numbers.length >> 1] as number;
      const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${rssPid()}/status`, 'utf8'))?.[1]);
      console.log(`      from request to end p50 ${middle(roundMs).toFixed(2)} ms, RSS ${rss} KB`);
      assert.ok(rss < 3_000, `${rss} KB`);
    });
  });
}

describe('launcher that is killed', function () {
  this.timeout(60_000);

  it('leaves no tool behind, not even one that it was about to start', async () => {
    const server = await startLauncher();
    const sleeper = `sleep\0${odd(306)}\0`;
    try {
      for (let round = 0; round < 40; round++) {
        const launcher = new Launcher(server.socket);
        await launcher.whenConnected(5_000);
        for (let tool = 0; tool < 4; tool++)
          launcher.run({ argv: ['/bin/sleep', odd(306)], env: {}, limits: LIMITS }).catch(() => {});
        // The length differs, so that it is killed at different points of the four starts.
        const killAt = performance.now() + (round % 8) / 2;
        await new Promise((resolve) => setImmediate(resolve));
        while (performance.now() < killAt);
        await server.restart();
        launcher.close();
      }
      await server.stop();
      // A process that the launcher made for itself has its command line.
      const left = () => [sleeper, server.socket].flatMap(processesWith);
      await until('no process is left', () => left().length === 0, 5_000);
    } finally {
      for (const pid of [sleeper, server.socket].flatMap(processesWith)) process.kill(pid, 'SIGKILL');
      await server.stop();
    }
  });
});

describe('launcher with a process limit', function () {
  this.timeout(30_000);
  it('survives a fork bomb, and cleans up after it', async function () {
    if (!root) {
      console.log('      skipped: another user id needs root');
      this.skip();
    }
    const server = await startLauncher({ uid: 64_123 });
    let lost = 0;
    const launcher = new Launcher(server.socket, {
      onLost: () => {
        lost += 1;
      },
    });
    await launcher.whenConnected(5_000);
    // Doubles for ever, each process in a new session, up to the limit of this user id. If the launcher sets no limit,
    // the script's own saves the machine.
    writeFileSync(
      '/tmp/probeyard-bomb.sh',
      '#!/bin/sh\nulimit -p 300 2>/dev/null\nsetsid "$0" & setsid "$0" & sleep 1000\n',
      { mode: 0o755 },
    );
    chmodSync('/tmp/probeyard-bomb.sh', 0o755);
    const bomb = launcher.run({
      argv: ['/tmp/probeyard-bomb.sh'],
      env: { PATH: '/bin:/usr/bin' },
      limits: { ...LIMITS, processes: 60 },
    });
    const count = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name) && uidOf(name) === 64_123).length - 1;
    // A process that cannot fork exits, so the number varies below the limit.
    await until('20 processes run', () => count() >= 20);
    assert.ok(count() <= 61);
    assert.equal(await launcher.killAll(), true);
    await bomb;
    assert.equal(lost, 0);
    assert.equal(count(), 0);
    const { exit } = await launcher.run({ argv: ['/bin/true'], env: {}, limits: { ...LIMITS, processes: 60 } });
    assert.equal(exit.code, 0);
    launcher.close();
    await server.stop();
    execFileSync('rm', ['-f', '/tmp/probeyard-bomb.sh']);
  });

  it('ends on SIGTERM if no agent is connected, otherwise only when the draining agent disconnects', async () => {
    const server = await startLauncher();
    const launcher = new Launcher(server.socket);
    await launcher.whenConnected(5_000);
    assert.equal(await launcher.killAll(), true);
    const tool = launcher.run({
      argv: ['/bin/sh', '-c', 'echo > begun; sleep 0.3; echo finished'],
      env: { PATH: '/bin' },
      limits: LIMITS,
    });
    await until('the tool runs', () => existsSync(join(server.tmp, 'begun')));
    server.process.kill('SIGTERM');
    assert.equal((await tool).stdout.toString(), 'finished\n');
    launcher.close();
    await until('it ends', () => server.process.exitCode === 0);
    await server.stop();
  });
});

function uidOf(pid: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return /^State:\s+[ZX]/m.test(status) ? -1 : Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]);
  } catch {
    return -1;
  }
}

/** The tool, and not the program that made its namespace. */
const findByCommand = (text: string): number | undefined =>
  processesWith(text).find((pid) => !commandOf(pid).startsWith('unshare'));
