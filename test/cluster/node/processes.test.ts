import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterError } from '../../node/cluster_error.ts';
import { ensureDaemon, type Daemon } from '../../node/daemon.ts';
import { until } from '../../node/deadline.ts';
import type { Layout } from '../../node/layout.ts';
import { SIMULATED } from '../../node/layout.ts';
import { locked } from '../../node/lock.ts';
import { parseStat, readRunning, startProcess, stopProcess } from '../../node/processes.ts';

describe('processes of the node', function () {
  this.timeout(30_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-processes-'));
  const record = join(folder, 'record');
  const log = join(folder, 'log');
  const layout: Layout = { ...SIMULATED, runDir: folder, logDir: folder };

  after(async () => {
    await stopProcess(record, 1_000);
    await stopProcess(join(folder, 'processes', 'waiter'), 1_000);
    rmSync(folder, { recursive: true, force: true });
  });

  /** A process that has exited but is not reaped yet holds no resources. */
  const ended = (pid: number): boolean => {
    const stat = existsSync(`/proc/${pid}/stat`) ? parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8')) : undefined;
    return stat === undefined || stat.state === 'Z';
  };

  const start = (...script: string[]) =>
    startProcess({ program: '/bin/sh', args: ['-c', ...script], hash: 'h1', record, log });
  const started = () =>
    until({ what: 'the process is recorded', timeoutMs: 5_000, everyMs: 10 }, () => readRunning(record));

  it('are found again by their record', async () => {
    start('sleep 1000');
    const { pid, hash } = await started();
    assert.equal(hash, 'h1');
    process.kill(pid, 0);
  });

  it('are not confused with another process of the same id', async () => {
    const text = readFileSync(record, 'utf8');
    const { pid, startTicks } = await started();
    writeFileSync(record, text.replace(` ${startTicks} `, ' 1 '));
    assert.equal(readRunning(record), undefined);
    assert.equal(await stopProcess(record, 100), false);
    process.kill(pid, 0);
    writeFileSync(record, text.replace(/^\S+/, 'another-boot'));
    assert.equal(readRunning(record), undefined);
    writeFileSync(record, text);
  });

  it('have exited when stopping them returns', async () => {
    const { pid } = await started();
    assert.equal(await stopProcess(record, 5_000), true);
    assert.ok(ended(pid));
  });

  it('are killed if they ignore SIGTERM', async () => {
    start('trap "" TERM; echo up; while :; do sleep 1; done');
    await until({ what: 'it ignores the signal', timeoutMs: 5_000, everyMs: 10 }, () =>
      readFileSync(log, 'utf8').includes('up'),
    );
    const { pid } = await started();
    await stopProcess(record, 200);
    assert.ok(ended(pid));
  });

  const waiter = (args: string[]): Daemon => ({
    name: 'waiter',
    program: '/bin/sleep',
    args,
    files: { [join(folder, 'conf')]: 'x' },
    ready: () => Promise.resolve(true),
    readyWithinMs: 5_000,
  });

  it('are left running while their command and files are unchanged', async () => {
    assert.equal(await ensureDaemon(layout, waiter(['1000'])), 'started');
    assert.equal(await ensureDaemon(layout, waiter(['1000'])), 'kept');
    assert.equal(await ensureDaemon(layout, waiter(['1001'])), 'restarted');
    assert.equal(
      await ensureDaemon(layout, { ...waiter(['1001']), files: { [join(folder, 'conf')]: 'y' } }),
      'restarted',
    );
    assert.equal(readFileSync(join(folder, 'conf'), 'utf8'), 'y');
  });

  it('that exit at once are reported with the end of their log', async () => {
    const broken: Daemon = {
      ...waiter([]),
      name: 'broken',
      program: '/bin/sh',
      args: ['-c', 'echo the reason; exit 3'],
      ready: () => Promise.resolve(false),
    };
    await assert.rejects(
      ensureDaemon(layout, broken),
      (error: ClusterError) => error.code === 'DAEMON_NOT_READY' && error.message.includes('the reason'),
    );
  });
});

describe('lock', () => {
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-lock-'));
  const file = join(folder, 'lock');
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('admits one holder at a time', async () => {
    await locked(file, async () => {
      await assert.rejects(
        locked(file, () => Promise.resolve()),
        { code: 'LOCKED' },
      );
    });
    assert.equal(await locked(file, () => Promise.resolve('again')), 'again');
  });

  for (const left of ['', `${process.pid} 1 another-boot`, '99999999 12 x']) {
    it(`is taken over from a holder that has exited: "${left}"`, async () => {
      writeFileSync(file, left);
      assert.equal(await locked(file, () => Promise.resolve('in')), 'in');
    });
  }
});
