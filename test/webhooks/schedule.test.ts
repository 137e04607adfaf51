import assert from 'node:assert/strict';
import { RETRIES_MS, retryAfterMs, verdictOf } from '../../src/service/webhooks/send.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const verdict = (status: number | null, step = 0, retryAfter?: string, random = 0) =>
  verdictOf({ status, retryAfter }, step, NOW, () => random);

describe('schedule of webhooks', () => {
  for (const status of [200, 201, 202, 204, 299])
    it(`${status} is a delivery`, () => assert.deepEqual(verdict(status), { state: 'delivered' }));
  for (const status of [null, 100, 199, 300, 301, 302, 304, 307, 400, 401, 404, 409, 422, 429, 500, 502, 503]) {
    it(`${status ?? 'no response'} is retried`, () =>
      assert.deepEqual(verdict(status), { state: 'pending', afterMs: 5_000 }));
  }
  it('410 stops at once, at every step', () => {
    for (let step = 0; step <= RETRIES_MS.length; step++) assert.deepEqual(verdict(410, step), { state: 'failed' });
  });
  it('pauses 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, and then gives up', () => {
    const hours = (n: number) => n * 3_600_000;
    assert.deepEqual(
      [...RETRIES_MS],
      [5_000, 300_000, 1_800_000, hours(2), hours(5), hours(10), hours(14), hours(20), hours(24)],
    );
    RETRIES_MS.forEach((afterMs, step) => assert.deepEqual(verdict(500, step), { state: 'pending', afterMs }));
    assert.deepEqual(verdict(500, RETRIES_MS.length), { state: 'failed' });
  });
  it('is never early, and at most a fifth late', () => {
    assert.deepEqual(
      [0, 0.5, 1].map((random) => verdict(500, 1, undefined, random)),
      [300_000, 330_000, 360_000].map((afterMs) => ({ state: 'pending', afterMs })),
    );
  });

  const asked: [string | undefined, number][] = [
    [undefined, 0],
    ['', 0],
    ['0', 0],
    ['120', 120_000],
    [' 7 ', 7_000],
    ['-5', 0],
    ['1.5', 0],
    ['soon', 0],
    ['999999999', 24 * 3_600_000],
    ['99999999999999999', 0],
    ['Sun, 01 Mar 2026 12:10:00 GMT', 600_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['Sun, 99 Mar 2026', 0],
    ['Sun, 01 Mar 2037 12:00:00 GMT', 24 * 3_600_000],
  ];
  for (const [header, ms] of asked)
    it(`Retry-After ${JSON.stringify(header)} asks for ${ms} ms`, () => assert.equal(retryAfterMs(header, NOW), ms));
  it('waits for as long as the receiver asks, and never shorter than scheduled', () => {
    assert.deepEqual(verdict(503, 0, '60'), { state: 'pending', afterMs: 60_000 });
    assert.deepEqual(verdict(429, 1, '60'), { state: 'pending', afterMs: 300_000 });
    assert.deepEqual(verdict(200, 0, '60'), { state: 'delivered' });
  });
});
