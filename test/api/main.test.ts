/** The role as a process: from its settings to its end by a signal. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { createUser } from 'nkeys.js';
import { freePort } from '../free_port.ts';
import { testApiServer } from '../kube/apiserver.ts';
import { startNats } from '../servers.ts';
import { startStore } from '../store/fixture.ts';
import { until } from '../until.ts';

const main = new URL('../../src/main.ts', import.meta.url).pathname;

describe('role api', function () {
  this.timeout(60_000);

  it('starts while Postgres is away, is ready when it is back, exposes metrics and drains on SIGTERM', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'probeyard-role-api-'));
    const user = createUser();
    const apiServer = await testApiServer({ own: true });
    const [stored, nats] = await Promise.all([
      startStore(),
      startNats({ conf: `authorization { users: [ { nkey: "${user.getPublicKey()}" } ] }` }),
    ]);
    const { publicKey } = await generateKeyPair('ECDH-ES', { crv: 'P-256', extractable: true });
    writeFileSync(join(folder, 'api.nk'), user.getSeed());
    writeFileSync(
      join(folder, 'public.jwks'),
      JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] }),
    );
    writeFileSync(
      join(folder, 'box.jwks'),
      JSON.stringify({ keys: [{ kty: 'oct', kid: 'box', k: Buffer.alloc(32, 1).toString('base64url') }] }),
    );
    const [port, metricsPort] = [await freePort(), await freePort()];
    await stored.server.down();
    const child = spawn(process.execPath, [main, 'api'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        KUBECONFIG: apiServer.kubeconfig,
        PY_NAMESPACE: await apiServer.namespace('role'),
        PY_POSTGRES_URL: stored.server.url,
        PY_NATS_URL: nats.url,
        PY_NATS_NKEY_FILE: join(folder, 'api.nk'),
        PY_SEAL_PUBLIC_FILE: join(folder, 'public.jwks'),
        PY_BOX_FILE: join(folder, 'box.jwks'),
        PY_LISTEN: `127.0.0.1:${port}`,
        PY_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
        PY_DRAIN_MS: '1000',
      },
    });
    let log = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    const ask = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { Authorization: 'Bearer none' } });
      return [response.status, response.headers.get('retry-after'), (await response.json()) as unknown];
    };
    try {
      assert.deepEqual(
        await until('/healthz answers while Postgres cannot be reached', () => ask('/healthz'), 30_000),
        [200, null, { ok: true }],
      );
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
          const response = await fetch(`http://127.0.0.1:${port}/readyz`);
          return response.ok ? response.json() : undefined;
        },
        30_000,
      );
      assert.deepEqual(ready, { ready: true });
      assert.equal((await fetch(`http://127.0.0.1:${port}/v1/probe/file?url=x`)).status, 401);
      const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      assert.ok(
        metrics.includes('probeyard_api_requests_total{route="/v1/probe/file",status="4xx"} 1'),
        metrics.slice(0, 2_000),
      );
      assert.ok(metrics.includes('probeyard_api_waiting 0') && metrics.includes('process_resident_memory_bytes'));
      assert.equal((await fetch(`http://127.0.0.1:${port}/metrics`)).status, 404, 'metrics are no matter of callers');

      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await until(
        'it is not ready any more',
        async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 503,
      );
      const [code] = (await exited) as [number | null];
      assert.equal(code, 0, log);
      assert.ok(log.includes('"msg":"drained"') && !log.includes('A'.repeat(64)));
    } finally {
      child.kill('SIGKILL');
      await stored.close();
      await nats.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
