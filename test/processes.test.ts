import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpuSecondsOfTree } from './processes.ts';

/** Uses this much CPU in a child of its own, says so, and stays. */
const BURN = `
  const spin = 'while (process.cpuUsage().user < 300_000); console.log("done"); setInterval(() => {}, 1000)';
  const child = require('node:child_process').spawn(process.execPath, ['-e', spin], { stdio: 'inherit' });
  process.on('SIGTERM', () => child.kill());
  child.on('exit', () => process.exit());`;

describe('CPU of a process tree', function () {
  this.timeout(30_000);

  it('counts what runs below this process, and keeps counting it after its end', async () => {
    const before = cpuSecondsOfTree();
    const child = spawn(process.execPath, ['-e', BURN], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(child.stdout, 'data');
      assert.ok(cpuSecondsOfTree() - before >= 0.29, 'while it runs');
    } finally {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    assert.ok(cpuSecondsOfTree() - before >= 0.29, 'after its end');
  });
});
