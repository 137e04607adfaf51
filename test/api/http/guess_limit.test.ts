import assert from 'node:assert/strict';
import { makeGuessLimit } from '../../../src/service/api/http/rate.ts';

const refused = (retryAfter: string) => ({
  status: 429,
  code: 'too-many-attempts',
  headers: { 'Retry-After': retryAfter },
});

function limitOf(options: { burst: number; everyMs: number }) {
  const world = { time: 5_000 };
  return { world, limit: makeGuessLimit(() => world.time, options) };
}

describe('limit of unknown tokens', () => {
  it('refuses an address after its burst, until one attempt is restored', () => {
    const { limit, world } = limitOf({ burst: 2, everyMs: 3_000 });
    limit.take('192.0.2.1');
    limit.take('192.0.2.1');
    assert.throws(() => limit.take('192.0.2.1'), refused('3'));
    limit.take('192.0.2.2');
    world.time += 2_999;
    assert.throws(() => limit.take('192.0.2.1'), refused('1'));
    world.time += 1;
    limit.take('192.0.2.1');
    assert.throws(() => limit.take('192.0.2.1'), refused('3'));
  });

  it('counts a /64 of IPv6 as one address', () => {
    const { limit } = limitOf({ burst: 1, everyMs: 1_000 });
    limit.take('2001:db8:0:1::1');
    assert.throws(() => limit.take('2001:db8:0:1:ffff::2'), refused('1'));
    limit.take('2001:db8:0:2::1');
  });

  it('does not count an attempt that is given back', () => {
    const { limit } = limitOf({ burst: 1, everyMs: 1_000 });
    for (let round = 0; round < 5; round++) limit.take('192.0.2.1')();
    assert.equal(limit.size(), 0);
    limit.take('192.0.2.1');
    assert.throws(() => limit.take('192.0.2.1'), refused('1'));
  });

  it('is bounded: addresses beyond the bound share one limit until others are forgotten', () => {
    const { limit, world } = limitOf({ burst: 1, everyMs: 60_000 });
    const address = (n: number): string => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
    for (let n = 0; n < 10_000; n++) limit.take(address(n));
    limit.take('192.0.2.1');
    assert.throws(() => limit.take('192.0.2.2'), refused('60'));
    assert.ok(limit.size() <= 10_001);
    world.time += 60_001;
    limit.take('192.0.2.2');
    assert.equal(limit.size(), 1);
  });
});
