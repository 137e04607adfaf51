import assert from 'node:assert/strict';
import type { Checksum } from '../../../src/service/accounts/token_text.ts';
import type { TokenRecord } from '../../../src/platform/store/records.ts';
import type { TokenChange } from '../../../src/platform/store/listen.ts';
import { makeGuessLimit } from '../../../src/service/api/http/rate.ts';
import { TokenCache, type TokenCacheOptions } from '../../../src/service/api/http/token_cache.ts';

const key = Buffer.from('a'.repeat(32));
const ADDRESS = '192.0.2.1';
const record = { id: 1, rootUserId: 1 } as TokenRecord;

function cacheOf(find: () => Promise<TokenRecord | null>, options: Partial<TokenCacheOptions> = {}) {
  const world = { time: 0, listening: true, lookups: 0 };
  const cache = new TokenCache({
    find: () => {
      world.lookups++;
      return find();
    },
    now: () => world.time,
    listening: () => world.listening,
    ...options,
  });
  return { cache, world };
}

describe('token cache', () => {
  it('looks up once while it listens for changes, and once for concurrent requests', async () => {
    const { cache, world } = cacheOf(async () => record);
    assert.deepEqual(await Promise.all([cache.get(key, ADDRESS), cache.get(key, ADDRESS)]), [record, record]);
    world.time = 29_000;
    await cache.get(key, ADDRESS);
    assert.equal(world.lookups, 1);
    world.time = 31_000;
    await cache.get(key, ADDRESS);
    assert.equal(world.lookups, 2);
  });

  it('caches for one second while it does not listen for changes', async () => {
    const { cache, world } = cacheOf(async () => record);
    await cache.get(key, ADDRESS);
    world.listening = false;
    world.time = 999;
    await cache.get(key, ADDRESS);
    assert.equal(world.lookups, 1);
    world.time = 1_001;
    await cache.get(key, ADDRESS);
    assert.equal(world.lookups, 2);
  });

  it('caches an unknown token for one second only', async () => {
    const { cache, world } = cacheOf(async () => null);
    await cache.get(key, ADDRESS);
    world.time = 1_001;
    assert.equal(await cache.get(key, ADDRESS), null);
    assert.equal(world.lookups, 2);
  });

  it('drops everything on a notice that says so', async () => {
    const { cache, world } = cacheOf(async () => (world.lookups === 1 ? record : null));
    assert.equal(await cache.get(key, ADDRESS), record);
    cache.changed({ all: true });
    assert.equal(await cache.get(key, ADDRESS), null);
  });

  const named = (name: string): Buffer => Buffer.from(name.repeat(32));
  const notices: [what: string, change: TokenChange, askedAgain: string[]][] = [
    ['a user: looks up the tokens of that account again, and no others', { user: 5, root: 1 }, ['a', 'b']],
    ['a user without its account: looks up all tokens again', { user: 5 }, ['a', 'b', 'c']],
    ['a token: looks up that token again, and no others', { token: 1, sha256: named('a').toString('hex') }, ['a']],
    ['a token without a hash: looks up none again', { token: 1, sha256: null }, []],
  ];
  for (const [what, change, askedAgain] of notices) {
    it(`notice of ${what}`, async () => {
      const roots = new Map([
        ['a', 1],
        ['b', 1],
        ['c', 2],
      ]);
      const asked: string[] = [];
      const cache = new TokenCache({
        async find(sha256) {
          const name = String.fromCharCode(sha256[0]!);
          asked.push(name);
          return { rootUserId: roots.get(name) } as TokenRecord;
        },
        listening: () => true,
        now: () => 0,
      });
      for (const name of roots.keys()) await cache.get(named(name), ADDRESS);
      asked.length = 0;
      cache.changed(change);
      for (const name of roots.keys()) await cache.get(named(name), ADDRESS);
      assert.deepEqual(asked, askedAgain);
    });
  }

  it('a notice of a new token drops the cached result of its text', async () => {
    let found: TokenRecord | null = null;
    const { cache } = cacheOf(async () => found);
    assert.equal(await cache.get(key, ADDRESS), null);
    found = record;
    cache.changed({ token: 1, sha256: key.toString('hex') });
    assert.equal(await cache.get(key, ADDRESS), record);
  });

  it('does not cache a look-up that was in flight when the notice came', async () => {
    const answers = [Promise.withResolvers<TokenRecord | null>(), Promise.withResolvers<TokenRecord | null>()];
    let asked = 0;
    const { cache, world } = cacheOf(() => answers[asked++]!.promise);
    const before = cache.get(key, ADDRESS);
    cache.changed({ all: true });
    const after = cache.get(key, ADDRESS);
    answers[1]!.resolve(null);
    assert.equal(await after, null);
    answers[0]!.resolve(record);
    await before;
    assert.equal(await cache.get(key, ADDRESS), null, 'the late answer is not cached');
    assert.equal(world.lookups, 2);
  });

  it('does not cache a failed look-up', async () => {
    let fail = true;
    const { cache } = cacheOf(async () => {
      if (fail) throw new Error('Postgres is away');
      return record;
    });
    await assert.rejects(cache.get(key, ADDRESS), { message: 'Postgres is away' });
    fail = false;
    assert.equal(await cache.get(key, ADDRESS), record);
  });

  it('keeps known tokens during a flood of unknown ones', async () => {
    let found: TokenRecord | null = record;
    const { cache, world } = cacheOf(async () => found, { max: 10 });
    await cache.get(key, ADDRESS);
    found = null;
    for (let guess = 0; guess < 50; guess++) await cache.get(Buffer.from(String(guess).padStart(32, 'x')), ADDRESS);
    const before = world.lookups;
    assert.equal(await cache.get(key, ADDRESS), record);
    assert.equal(world.lookups, before);
  });

  it('looks up unknown tokens of one address up to its limit, and known ones always', async () => {
    let found: TokenRecord | null = record;
    const { cache, world } = cacheOf(async () => found, {
      guesses: makeGuessLimit(() => 0, { burst: 3, everyMs: 1_000 }),
    });
    const guess = (name: string, address = ADDRESS) => cache.get(Buffer.from(name.repeat(32)), address);
    // Found, so none of these counts as a guess.
    for (const name of ['p', 'q', 'r', 's']) await guess(name);
    await cache.get(key, ADDRESS);
    found = null;
    for (const name of ['b', 'c', 'd', 'd']) assert.equal(await guess(name), null);
    const before = world.lookups;
    await assert.rejects(guess('e'), { status: 429, code: 'too-many-attempts' });
    assert.equal(await guess('b'), null, 'known to be unknown: it costs nothing');
    assert.equal(world.lookups, before, 'Postgres is not asked');
    assert.equal(await guess('e', '192.0.2.2'), null);
    found = record;
    cache.changed({ all: true });
    assert.equal(await cache.get(key, ADDRESS), record, 'a stale entry is no guess');
    world.time = 60_000;
    assert.equal(await cache.get(key, ADDRESS), record, 'nor is one that is old');
  });

  const flooded = (find: () => Promise<TokenRecord | null>) =>
    cacheOf(find, { guesses: makeGuessLimit(() => 0, { burst: 0, everyMs: 1_000 }) });
  const CHECKSUMS: [Checksum, outcome: string, lookups: number][] = [
    ['none', 'is limited', 0],
    ['wrong', 'is unknown without a look-up', 0],
    ['right', 'is looked up', 1],
  ];
  for (const [checksum, outcome, lookups] of CHECKSUMS)
    it(`a token with ${checksum} checksum from an address that is over its limit ${outcome}`, async () => {
      const { cache, world } = flooded(async () => record);
      const got = cache.get(key, ADDRESS, () => checksum);
      if (checksum === 'none') await assert.rejects(got, { status: 429, code: 'too-many-attempts' });
      else assert.equal(await got, checksum === 'right' ? record : null);
      assert.equal(world.lookups, lookups);
    });

  it('tokens with a wrong checksum are not counted against their address', async () => {
    const { cache } = cacheOf(async () => null, { guesses: makeGuessLimit(() => 0, { burst: 1, everyMs: 1_000 }) });
    for (let guess = 0; guess < 50; guess++) assert.equal(await cache.get(key, ADDRESS, () => 'wrong'), null);
    assert.equal(await cache.get(key, ADDRESS), null, 'the one look-up that the limit allows is left');
  });

  it('the checksum of a token in the cache is not computed', async () => {
    const { cache } = cacheOf(async () => record);
    await cache.get(key, ADDRESS, () => 'right');
    const found = await cache.get(key, ADDRESS, () => assert.fail('computed'));
    assert.equal(found, record);
  });

  it('looks up a token again if a notice overtook its look-up, without counting a guess', async () => {
    const answer = Promise.withResolvers<TokenRecord | null>();
    const { cache, world } = cacheOf(() => answer.promise, {
      guesses: makeGuessLimit(() => 0, { burst: 1, everyMs: 1_000 }),
    });
    const first = cache.get(key, ADDRESS);
    cache.changed({ token: 2, sha256: null });
    answer.resolve(record);
    assert.equal(await first, record);
    answer.promise = Promise.resolve(null);
    await cache.get(named('x'), ADDRESS);
    assert.equal(await cache.get(key, ADDRESS), null, 'asked for again, though its address is over its limit');
    assert.equal(world.lookups, 3);
  });

  it('does not count failed look-ups as guesses', async () => {
    const { cache } = cacheOf(
      async () => {
        throw new Error('Postgres is away');
      },
      { guesses: makeGuessLimit(() => 0, { burst: 1, everyMs: 1_000 }) },
    );
    for (let round = 0; round < 3; round++)
      await assert.rejects(cache.get(key, ADDRESS), { message: 'Postgres is away' });
  });

  it('is bounded in size', async () => {
    const { cache, world } = cacheOf(async () => record, { max: 2 });
    for (const name of ['a', 'b', 'c']) await cache.get(Buffer.from(name.repeat(32)), ADDRESS);
    await cache.get(Buffer.from('c'.repeat(32)), ADDRESS);
    assert.equal(world.lookups, 3);
    await cache.get(Buffer.from('a'.repeat(32)), ADDRESS);
    assert.equal(world.lookups, 4);
  });
});
