/**
 * Calls that time out while the API server reads nothing. Where it goes wrong the event loop stands still, so they are
 * made by a process of their own.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { until } from '../until.ts';
import { testApiServer } from './apiserver.ts';
import { startRelay } from './relay.ts';

/** Where it goes wrong, memory grows by a gigabyte a second. */
const MOST_MB = 1_000;

function residentMb(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

describe('calls that time out before they are written', function () {
  this.timeout(180_000);

  it('neither stop the event loop nor grow the process when the API server reads again', async () => {
    const server = await testApiServer({ own: true });
    const namespace = await server.namespace('left');
    const relay = await startRelay(server.host, server.port);
    const child = spawn(
      process.execPath,
      [new URL('many_calls.ts', import.meta.url).pathname, server.kubeconfigAt(relay.port), namespace],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    const exited = once(child, 'exit');
    try {
      const lines: string[] = [];
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
      const said = async (what: string): Promise<void> => {
        await until(
          `the process says "${what}"`,
          () => {
            if (residentMb(child.pid!) > MOST_MB) child.kill('SIGKILL');
            return child.signalCode !== null || lines.some((line) => line.startsWith(what));
          },
          20_000,
        );
        assert.equal(child.signalCode, null, `the process grew beyond ${MOST_MB} MB`);
      };
      await said('connected');
      relay.stall(true);
      child.stdin.write('go\n');
      await said('timed out');
      assert.ok(!lines.includes('timed out: 0'), 'all calls were answered: nothing was shown');
      relay.stall(false);
      await said('answered');
      await exited;
      assert.equal(child.exitCode, 0);
    } finally {
      child.kill('SIGKILL');
      await exited;
      await relay.close();
    }
  });
});
