import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { Counter, Registry } from 'prom-client';
import { healthOf, serveHealth, serveLiveness, shared, type Checks } from '../src/base/health.ts';
import { until } from './until.ts';

describe('health', () => {
  const failing = () => {
    throw Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:5432'), { code: 'ECONNREFUSED' });
  };
  const cases: [name: string, checks: Checks, reasons: Record<string, string> | undefined][] = [
    ['no checks', {}, undefined],
    ['checks that pass', { nats: () => null, postgres: async () => null }, undefined],
    ['a failing check', { nats: () => 'not connected', postgres: () => null }, { nats: 'not connected' }],
    ['a check that throws: its code, never its message', { postgres: failing }, { postgres: 'ECONNREFUSED' }],
    [
      'a check without an answer',
      { postgres: () => new Promise<null>(() => {}) },
      { postgres: 'no answer within 1500 ms' },
    ],
  ];
  for (const [name, checks, reasons] of cases)
    it(`${name}: ${reasons ? 503 : 200}`, async () =>
      assert.deepEqual(
        await healthOf('ready', checks),
        reasons ? { status: 503, body: { ready: false, reasons } } : { status: 200, body: { ready: true } },
      ));

  it('a dependency that does not respond is reported within 500 ms, and leaves the process ready', async () => {
    const began = performance.now();
    assert.deepEqual(
      await healthOf('ready', { tools: () => null }, { postgres: () => new Promise(() => {}), nats: () => null }),
      { status: 200, body: { ready: true, degraded: { postgres: 'no answer within 500 ms' } } },
    );
    assert.ok(performance.now() - began < 10_000, 'not when the other check has ended, which is never');
    assert.deepEqual(await healthOf('ready', { drain: () => 'shutting down' }, { postgres: failing }), {
      status: 503,
      body: { ready: false, reasons: { drain: 'shutting down' }, degraded: { postgres: 'ECONNREFUSED' } },
    });
  });

  it('callers of a shared check share one call and its result, for a while', async () => {
    let calls = 0;
    const answer = Promise.withResolvers<string | null>();
    const check = shared(() => {
      calls++;
      return answer.promise;
    }, 20);
    const asked = [check(), check()];
    answer.resolve('away');
    assert.deepEqual(await Promise.all([...asked, check()]), ['away', 'away', 'away']);
    assert.equal(calls, 1);
    await until('the result is out of date', async () => (await check()) === 'away' && calls === 2);
  });

  describe('liveness', function () {
    this.timeout(60_000);
    /** By another process: this one's loop is held. */
    const askedBy = (port: number): string =>
      execFileSync('curl', ['-s', '-m', '5', '-w', ' %{http_code}', `http://127.0.0.1:${port}/healthz`]).toString();

    it('answers while the loop is held, and fails only when it was held for too long', async () => {
      const { port, close } = await serveLiveness({ host: '127.0.0.1', port: 0 }, {}, { mostSilentMs: 2_500 });
      try {
        assert.equal(askedBy(port), '{"ok":true} 200');
        const began = performance.now();
        // Both hold the loop.
        const hold = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
        let answer = askedBy(port);
        for (; answer === '{"ok":true} 200' && performance.now() - began < 30_000; answer = askedBy(port)) hold(200);
        const heldMs = performance.now() - began;
        assert.match(answer, /^\{"ok":false,"reasons":\{"loop":"has stood still for \d+ s"\}\} 503$/);
        assert.ok(heldMs > 1_500, `after ${heldMs} ms`);
        await until('the loop turns again', () => askedBy(port) === '{"ok":true} 200');
      } finally {
        await close();
      }
    });

    it('fails with the reason of a check that fails, as long as it does', async () => {
      const live: Record<string, () => string | null> = {};
      const { port, close } = await serveLiveness({ host: '127.0.0.1', port: 0 }, live);
      try {
        live['jobs-cache'] = () => 'no event';
        await until('the check is known', () => askedBy(port).endsWith(' 503'));
        assert.equal(askedBy(port), '{"ok":false,"reasons":{"jobs-cache":"no event"}} 503');
        delete live['jobs-cache'];
        await until('it passes', () => askedBy(port) === '{"ok":true} 200');
      } finally {
        await close();
      }
    });
  });

  it('serves /healthz, /readyz and /metrics', async () => {
    const registry = new Registry();
    new Counter({ name: 'probeyard_test_total', help: 'A counter', registers: [registry] }).inc();
    const server = await serveHealth(
      { host: '127.0.0.1', port: 0 },
      { live: {}, ready: { nats: () => 'not connected' }, registry },
    );
    const { port } = server.address() as AddressInfo;
    const ask = async (path: string, method = 'GET') => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
      return [response.status, await response.text()];
    };
    try {
      assert.deepEqual(await ask('/healthz'), [200, '{"ok":true}']);
      assert.deepEqual(await ask('/readyz?verbose'), [503, '{"ready":false,"reasons":{"nats":"not connected"}}']);
      assert.match(String((await ask('/metrics'))[1]), /probeyard_test_total 1/);
      assert.deepEqual(await ask('/'), [404, '{"error":"not found"}']);
      assert.deepEqual(await ask('/healthz', 'POST'), [405, '{"error":"only GET and HEAD"}']);
      assert.deepEqual(await ask('/healthz', 'HEAD'), [200, '']);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});
