/** Tools that begin before the admission of their job, in the real launcher. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EARLY_MS, EARLY_OVER_MS } from '../../src/platform/bus/messages.ts';
import {
  type Launcher,
  LauncherError,
  type Limits,
  openLauncher,
  type Running,
} from '../../src/service/runner/launcher.ts';
import {
  encodeConfirm,
  encodeNumber,
  encodeStart,
  frameReader,
  TYPE,
} from '../../src/service/runner/launcher_frames.ts';
import { PATIENCE } from '../patience.ts';
import { until } from '../until.ts';
import { type LauncherProcess, LIMITS as USUAL, startLauncher } from './built_launcher.ts';
import { odd, processesWith, sleeps } from './found.ts';

/** None of them is to end a tool here before its time is up. */
const LIMITS: Limits = { ...USUAL, wallMs: 60_000 };
const ENVIRONMENT = { PATH: '/usr/bin:/bin' };
/** BEGIN_WITHIN_MS in launcher.c. */
const BEGIN_WITHIN_MS = 500;

const root = process.getuid?.() === 0;
const isUnconfirmed = (error: unknown): boolean => error instanceof LauncherError && error.code === 'unconfirmed';
const isLost = (error: unknown): boolean => error instanceof LauncherError && error.code === 'lost';

for (const init of [false, true]) {
  describe(`early start by a launcher ${init ? 'as PID 1 of its namespace' : 'as an ordinary process'}`, function () {
    this.timeout(30_000);
    let server: LauncherProcess;
    let launcher: Launcher;
    /** Not emptied by the launcher, so that a file in it proves that a tool ran. */
    const outside = mkdtempSync(join(tmpdir(), 'probeyard-outside-'));

    const connectAgain = async () => {
      launcher?.close();
      launcher = openLauncher(server.socket);
      await launcher.whenConnected(5_000);
    };
    before(async function () {
      if (init && !root) {
        console.log('      skipped: a PID namespace needs root');
        this.skip();
      }
      chmodSync(outside, 0o777);
      server = await startLauncher({ init });
    });
    after(async () => {
      launcher?.close();
      await server?.stop();
      rmSync(outside, { recursive: true, force: true });
    });
    beforeEach(async () => {
      await connectAgain();
      for (const name of readdirSync(outside)) rmSync(join(outside, name));
    });

    /** The connected launcher, once it has said that it can arm. */
    const armed = async (): Promise<bigint> => {
      await launcher.killAll();
      return again();
    };
    const again = async (): Promise<bigint> => {
      const number = await launcher.arm();
      assert.ok(number !== undefined, 'the launcher gives a number');
      return number;
    };
    const sh = (script: string, number?: bigint, limits: Partial<Limits> = {}): Running =>
      launcher.start(
        { argv: ['/bin/sh', '-c', script], env: ENVIRONMENT, limits: { ...LIMITS, ...limits } },
        undefined,
        number,
      );
    const marks = (name: string, number?: bigint): Running => sh(`touch ${join(outside, name)}`, number);

    /** The tool was refused and not run. The same tool without a number, started after it, does run. */
    const refused = async (tool: Running) => {
      await assert.rejects(tool.started, isUnconfirmed);
      await assert.rejects(tool.finished, isUnconfirmed);
      await marks('control').finished;
      assert.deepEqual(readdirSync(outside), ['control']);
    };

    const launcherPid = () => {
      const [pid] = processesWith(`${server.socket}\0`).filter(
        (id) => !readFileSync(`/proc/${id}/cmdline`, 'latin1').startsWith('unshare'),
      );
      assert.ok(pid !== undefined);
      return pid;
    };
    /** Stops the launcher itself, for as long as the function takes. Its tools go on. */
    const whileStopped = async (action: () => Promise<void>) => {
      const pid = launcherPid();
      process.kill(pid, 'SIGSTOP');
      try {
        await until('the launcher is stopped', () => readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') T '));
        await action();
      } finally {
        process.kill(pid, 'SIGCONT');
      }
    };

    it('no number before the launcher has said that it can', async () => {
      assert.equal(await launcher.arm(), undefined);
      await launcher.killAll();
      assert.equal(typeof (await launcher.arm()), 'bigint');
    });

    it('no number from the next launcher before it has said that it can', async () => {
      await armed();
      const pid = launcherPid();
      process.kill(pid, 'SIGSTOP');
      const asked = launcher.arm();
      await server.restart();
      assert.equal(await asked, undefined, 'the question that was lost with the last launcher');
      await launcher.whenConnected(5_000);
      assert.equal(await launcher.arm(), undefined);
      await armed();
    });

    it('every number is another', async () => {
      const numbers = [await armed()];
      for (let index = 0; index < 50; index++) numbers.push(await again());
      assert.equal(new Set(numbers).size, numbers.length);
      assert.ok(numbers.every((number) => number > 0n));
    });

    it('a confirmed tool runs on, and ends by itself with its output', async () => {
      const number = await armed();
      const tool = sh('echo begun; sleep 2; echo done; exit 3', number);
      await tool.started;
      launcher.confirm(number);
      const { exit, stdout } = await tool.finished;
      assert.equal(stdout.toString(), 'begun\ndone\n');
      assert.deepEqual([exit.code, exit.killed, exit.unconfirmed], [3, false, false]);
      assert.ok(exit.wallUs > EARLY_MS * 1_000, 'the test must last longer than an early start may');
    });

    it('a tool that ends before its confirmation returns its output', async () => {
      const number = await armed();
      const { exit, stdout } = await sh('echo short', number).finished;
      assert.deepEqual([exit.code, exit.unconfirmed, stdout.toString()], [0, false, 'short\n']);
      launcher.confirm(number);
      await launcher.ping();
    });

    it('an unconfirmed tool is ended in time with all it left', async () => {
      const number = await armed();
      const since = performance.now();
      const tool = sh(
        `mkdir d; echo x > d/file; setsid sh -c "setsid sleep ${odd(601)} & sleep ${odd(602)}" & sleep ${odd(603)}`,
        number,
      );
      await tool.started;
      const all = [601, 602, 603];
      await until('three sleepers and a file', () => all.every(sleeps) && existsSync(join(server.tmp, 'd/file')), 400);
      await assert.rejects(tool.finished, isUnconfirmed);
      const ms = performance.now() - since;
      assert.deepEqual(all.filter(sleeps), []);
      assert.deepEqual(readdirSync(server.tmp), []);
      assert.ok(ms > EARLY_MS - 100, `ended after ${ms} ms: too early`);
      assert.ok(ms < PATIENCE * EARLY_OVER_MS, `ended after ${ms} ms: too late`);
    });

    it('a background process of a tool that has exited is ended, too', async () => {
      const number = await armed();
      const since = performance.now();
      const { stdout, exit } = await sh(
        `setsid sh -c "touch up; exec sleep ${odd(604)}" & until [ -e up ]; do sleep 0.01; done; echo told`,
        number,
      ).finished;
      assert.deepEqual([stdout.toString(), exit.code], ['told\n', 0]);
      await until('the process it left', () => sleeps(604), 400);
      await until('nothing is left', () => !sleeps(604), EARLY_OVER_MS);
      assert.ok(performance.now() - since > EARLY_MS - 100, 'not with its tool');
    });

    it('a tool without a number is ended neither by time nor by a new number', async () => {
      await armed();
      const tool = sh('sleep 2; echo done');
      await tool.started;
      await again();
      assert.equal((await tool.finished).stdout.toString(), 'done\n');
    });

    it('a wrong number is refused', async () => refused(marks('run', (await armed()) ^ 1n)));

    it('number 0 is refused, also where there is none', async () => {
      await armed();
      await launcher.killAll();
      await refused(marks('run', 0n));
    });

    it('the number before the last is refused', async () => {
      const first = await armed();
      await again();
      await refused(marks('run', first));
    });

    it('a number from before a clean-up is refused', async () => {
      const number = await armed();
      await launcher.killAll();
      await refused(marks('run', number));
    });

    it('a number of the last connection is refused', async () => {
      const number = await armed();
      await connectAgain();
      await refused(marks('run', number));
    });

    it('an old number is refused', async () => {
      const number = await armed();
      await delay(BEGIN_WITHIN_MS + 10);
      await refused(marks('run', number));
    });

    it('a confirmation makes no number valid again', async () => {
      const number = await armed();
      launcher.confirm(number);
      await delay(BEGIN_WITHIN_MS + 10);
      await refused(marks('run', number));
    });

    it('two tools begin with one number, and run on when it is confirmed', async () => {
      const number = await armed();
      const tools = ['one', 'two'].map((word) => sh(`sleep 1.8; echo ${word}`, number));
      await Promise.all(tools.map(({ started }) => started));
      launcher.confirm(number);
      const ended = await Promise.all(tools.map(({ finished }) => finished));
      assert.deepEqual(
        ended.map(({ stdout, exit }) => [stdout.toString(), exit.code]),
        [
          ['one\n', 0],
          ['two\n', 0],
        ],
      );
    });

    it('two tools with one number are ended together; another number confirms neither', async () => {
      const number = await armed();
      const tools = [sh('sleep 300', number), sh('sleep 300', number)];
      await Promise.all(tools.map(({ started }) => started));
      launcher.confirm(number ^ 1n);
      for (const { finished } of tools) await assert.rejects(finished, isUnconfirmed);
    });

    it('a tool that begins after the confirmation runs on', async () => {
      const number = await armed();
      launcher.confirm(number);
      assert.equal((await sh('sleep 1.8; echo done', number).finished).stdout.toString(), 'done\n');
    });

    it('a new number ends what was begun with the last', async () => {
      const number = await armed();
      const since = performance.now();
      const tool = sh(`setsid sleep ${odd(605)} & sleep 300`, number);
      await tool.started;
      await until('the process it left', () => sleeps(605), 400);
      let error: unknown;
      tool.finished.catch((reason: unknown) => {
        error = reason;
      });
      const next = await again();
      assert.ok(isUnconfirmed(error), 'it ends before the new number comes');
      assert.equal(sleeps(605), false);
      assert.ok(performance.now() - since < EARLY_MS, 'inconclusive: its time was over');
      assert.equal((await sh('echo next', next).finished).stdout.toString(), 'next\n');
    });

    it('a new number does not end what was confirmed', async () => {
      const number = await armed();
      const tool = sh('sleep 1.8; echo done', number);
      await tool.started;
      launcher.confirm(number);
      await again();
      assert.equal((await tool.finished).stdout.toString(), 'done\n');
    });

    it('a launcher stopped before BEGIN refuses a number that became old meanwhile', async () => {
      const number = await armed();
      let tool!: Running;
      await whileStopped(async () => {
        tool = marks('run', number);
        await delay(600);
      });
      await refused(tool);
    });

    it('a launcher stopped after BEGIN ends the tool before it reads the late confirmation', async () => {
      const number = await armed();
      const tool = sh(`setsid sleep ${odd(606)} & sleep 300`, number);
      await tool.started;
      await until('the process it left', () => sleeps(606), 400);
      await whileStopped(async () => {
        launcher.confirm(number);
        await delay(EARLY_MS + 100);
      });
      await assert.rejects(tool.finished, isUnconfirmed);
      assert.equal(sleeps(606), false);
    });

    it('a confirmation that waits for a stopped launcher is in time within 1,500 ms', async () => {
      const number = await armed();
      const tool = sh('sleep 1.8; echo done', number);
      await tool.started;
      await whileStopped(async () => launcher.confirm(number));
      assert.equal((await tool.finished).stdout.toString(), 'done\n');
    });

    it('wall time, output cap and kill hold for a begun tool', async () => {
      const number = await armed();
      const slow = sh('sleep 300', number, { wallMs: 150 });
      const loud = sh('yes', number, { stdoutBytes: 100_001 });
      const killed = sh('sleep 300', number);
      await killed.started;
      killed.kill();
      assert.equal((await slow.finished).exit.timedOut, true);
      const { exit, stdout } = await loud.finished;
      assert.deepEqual([exit.capped, stdout.length], [true, 100_001]);
      assert.deepEqual([(await killed.finished).exit.killed, (await killed.finished).exit.signal], [true, 9]);
    });

    it('wall time holds after the confirmation, too', async () => {
      const number = await armed();
      const tool = sh('sleep 300', number, { wallMs: 1_700 });
      await tool.started;
      launcher.confirm(number);
      const { exit } = await tool.finished;
      assert.deepEqual([exit.timedOut, exit.unconfirmed], [true, false]);
    });

    it('a begun tool that cannot be started is reported as such', async () => {
      const number = await armed();
      const tool = launcher.start({ argv: ['/nonexistent/tool'], env: {}, limits: LIMITS }, undefined, number);
      await assert.rejects(tool.finished, (error) => (error as LauncherError).code === 'exec-missing');
    });

    it('a begun tool is lost with its launcher', async () => {
      const number = await armed();
      const tool = sh('exec sleep 300', number);
      await tool.started;
      await server.restart();
      await assert.rejects(tool.finished, isLost);
    });

    const start = (number: bigint) => encodeStart(1, { argv: ['/bin/true'], env: {}, limits: LIMITS }, number);
    const ofLength = (type: number, bytes: number): Buffer => {
      const frame = Buffer.alloc(5 + bytes);
      frame.writeUInt32BE(1 + bytes);
      frame[4] = type;
      return frame;
    };
    const changed = (frame: Buffer, { at, to }: { at: number; to: number }): Buffer => Buffer.from(frame.with(at, to));
    const malformed: [string, (number: bigint) => Buffer][] = [
      ['ARM with a payload', () => encodeNumber(TYPE.arm, 1)],
      ['BEGIN without a number', () => ofLength(TYPE.begin, 0)],
      ['BEGIN with a number alone', (number) => changed(encodeConfirm(number), { at: 4, to: TYPE.begin })],
      ['BEGIN that is too short by a byte', () => ofLength(TYPE.begin, 71)],
      ['BEGIN without arguments', (number) => changed(start(number), { at: 72, to: 0 })],
      ['BEGIN whose last argument has no end', (number) => changed(start(number), { at: -1, to: 1 })],
      ['BEGIN with bytes after the last argument', (number) => changed(start(number), { at: -3, to: 0 })],
      ['CONFIRM without a number', () => ofLength(TYPE.confirm, 0)],
      ['CONFIRM with half a number', () => encodeNumber(TYPE.confirm, 1)],
      ['CONFIRM with more than a number', () => encodeNumber(TYPE.confirm, 1, 2, 3)],
    ];
    /** What the launcher does with these bytes after a number, on a connection of their own. */
    const reactionTo = async (bytes: (number: bigint) => Buffer): Promise<string> => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const socket = connect(server.socket, () => socket.write(encodeNumber(TYPE.arm)));
      const read = frameReader((event) => {
        if (event.type === 'armed') socket.write(Buffer.concat([bytes(event.number), encodeNumber(TYPE.ping, 7)]));
        else if (event.type === 'pong') resolve('answered');
      });
      socket
        .on('data', read)
        .on('close', () => resolve('disconnected'))
        .on('error', reject);
      try {
        return await promise;
      } finally {
        socket.destroy();
      }
    };
    for (const [what, bytes] of malformed) {
      it(`disconnects an agent that sends ${what}`, async () => {
        launcher.close();
        assert.equal(await reactionTo(bytes), 'disconnected');
      });
    }
    it('serves an agent that sends the same frames in the right form', async () => {
      launcher.close();
      assert.equal(await reactionTo((number) => Buffer.concat([start(number), encodeConfirm(number)])), 'answered');
    });
  });
}
