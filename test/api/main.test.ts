/** The role as a process: from its settings to its end by a signal. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from '../until.ts';
import { MAIN, startRoleServers } from './role_process.ts';

describe('role api', function () {
  this.timeout(60_000);

  it('starts while Postgres is away, is ready when it is back, exposes metrics and drains on SIGTERM', async () => {
    const servers = await startRoleServers();
    const { stored } = servers;
    const { env, url, metricsUrl, livenessUrl } = await servers.settings();
    await stored.server.down();
    const child = spawn(process.execPath, [MAIN, 'api'], { stdio: ['ignore', 'pipe', 'inherit'], env });
    let log = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    const ask = async (path: string) => {
      const response = await fetch(`${url}${path}`, { headers: { Authorization: 'Bearer none' } });
      return [response.status, response.headers.get('retry-after'), (await response.json()) as unknown];
    };
    try {
      assert.deepEqual(
        await until('/healthz answers while Postgres cannot be reached', () => ask('/healthz'), 30_000),
        [200, null, { ok: true }],
      );
      const alive = await fetch(`${livenessUrl}/healthz`);
      assert.deepEqual([alive.status, await alive.json()], [200, { ok: true }]);
      assert.deepEqual(await ask('/readyz'), [
        503,
        null,
        { ready: false, reasons: { start: 'this replica is starting' } },
      ]);
      const error = 'the service is not available; try again later';
      assert.deepEqual(await ask('/v1/probe/file?url=x'), [503, '5', { error }]);
      assert.deepEqual(await ask('/frontend/api/v1/user/current'), [
        503,
        '5',
        { code: 50300, context: {}, error, status: 'Service Unavailable' },
      ]);
      await until('it has tried to reach Postgres', () => log.includes('"msg":"postgres"'), 30_000);
      await stored.server.restart();
      const ready = await until(
        'it is ready',
        async () => {
          assert.equal(child.exitCode, null, log);
          const response = await fetch(`${url}/readyz`);
          return response.ok ? response.json() : undefined;
        },
        30_000,
      );
      assert.deepEqual(ready, { ready: true });
      assert.equal((await fetch(`${url}/v1/probe/file?url=x`)).status, 401);
      const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
      assert.ok(
        metrics.includes('probeyard_api_requests_total{route="/v1/probe/file",status="4xx"} 1'),
        metrics.slice(0, 2_000),
      );
      assert.ok(metrics.includes('probeyard_api_waiting 0') && metrics.includes('process_resident_memory_bytes'));
      assert.equal((await fetch(`${url}/metrics`)).status, 404, 'metrics are no matter of callers');

      const closed = once(child, 'close');
      child.kill('SIGTERM');
      await until('it is not ready any more', async () => (await fetch(`${url}/readyz`)).status === 503);
      const [code] = (await closed) as [number | null];
      assert.equal(code, 0, log);
      assert.ok(log.includes('"msg":"drained"') && !log.includes('A'.repeat(64)));
    } finally {
      child.kill('SIGKILL');
      await servers.stop();
    }
  });
});
