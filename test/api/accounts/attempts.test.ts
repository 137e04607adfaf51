/** Limits of attempts: they slow down guessing, and guessing must not lock an owner out. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { ATTEMPT_LIMITS, makeAttempts } from '../../../src/service/accounts/attempts.ts';
import { startStore, type StoreFixture } from '../../store/fixture.ts';
import { NO_LIMITS, PASSWORD, startManagement, type Management, type Person } from './fixture.ts';

const HOUR_MS = 3_600_000;

describe('attempts', function () {
  this.timeout(60_000);
  let stored: StoreFixture;
  before(async () => {
    stored = await startStore();
  });
  after(() => stored.close());

  it('two addresses of one /64 share a limit in every scope keyed by address', async () => {
    const once = { burst: 1, everyMs: HOUR_MS };
    const limits = {
      ...ATTEMPT_LIMITS,
      'password:address': once,
      'sign-up:address': once,
      'reset:address': once,
      'code:address': once,
      'password:network': once,
    };
    const attempts = makeAttempts(stored.store, limits, 0);
    for (const scope of ['password:address', 'sign-up:address', 'reset:address', 'code:address'] as const) {
      await attempts.take(scope, { address: '2001:db8:0:1::1' });
      for (const address of ['2001:db8:0:1::1', '2001:db8::1:ffff:0:0:2', '[2001:db8:0:1::3]:443']) {
        await assert.rejects(attempts.take(scope, { address }), { code: 'too-many-attempts' }, `${scope} ${address}`);
      }
      await attempts.take(scope, { address: '2001:db8:0:2::1' });
    }
    await attempts.take('password:network', { account: 1, network: '192.0.2.1' });
    await assert.rejects(attempts.take('password:network', { account: 1, network: '192.0.2.254' }), {
      code: 'too-many-attempts',
    });
    await attempts.take('password:network', { account: 1, network: '192.0.3.1' });
    await attempts.take('password:network', { account: 2, network: '192.0.2.1' });
  });

  it('an attempt that is given back does not count', async () => {
    const limits = { ...ATTEMPT_LIMITS, 'password:account': { burst: 2, everyMs: HOUR_MS } };
    const attempts = makeAttempts(stored.store, limits, 0);
    for (let round = 0; round < 5; round++) {
      await attempts.take('password:account', { account: 7 });
      await attempts.giveBack('password:account', { account: 7 });
    }
    for (let round = 0; round < 2; round++) await attempts.take('password:account', { account: 7 });
    await assert.rejects(attempts.take('password:account', { account: 7 }), { code: 'too-many-attempts' });
  });
});

describe('limits of attempts by address', function () {
  this.timeout(60_000);
  let stored: StoreFixture;
  before(async () => {
    stored = await startStore();
  });
  after(() => stored.close());

  const taken = async (address: string, trustedHops: number): Promise<number> => {
    const limits = { ...ATTEMPT_LIMITS, 'sign-up:address': { burst: 2, everyMs: HOUR_MS } };
    const attempts = makeAttempts(stored.store, limits, trustedHops);
    for (let count = 0; ; count++)
      try {
        await attempts.take('sign-up:address', { address });
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'too-many-attempts');
        return count;
      }
  };
  for (const [what, address, trustedHops, expected] of [
    ['a public address', '192.0.2.1', 0, 2],
    ['a private address without a proxy, which is shared (SNAT)', '10.1.2.3', 0, 20],
    ['a unique local address of IPv6 without a proxy', 'fd00::1', 0, 20],
    ['an address of carrier-grade NAT without a proxy', '100.64.0.1', 0, 20],
    ['a private address that a trusted proxy has seen', '10.1.2.4', 1, 2],
    ['no address', '', 0, 2],
  ] as const)
    it(`${what}: ${expected} sign-ups at once`, async () => assert.equal(await taken(address, trustedHops), expected));

  it('sign-ups do not use up resets', async () => {
    const attempts = makeAttempts(stored.store, ATTEMPT_LIMITS, 0);
    const from = { address: '192.0.2.9' };
    for (let count = 0; count < 30; count++) await attempts.take('sign-up:address', from);
    await assert.rejects(attempts.take('sign-up:address', from), { code: 'too-many-attempts' });
    await attempts.take('reset:address', from);
  });
});

describe('management: sign-in attempts', function () {
  this.timeout(60_000);
  let m: Management;
  before(async () => {
    m = await startManagement({
      trustedHops: 1,
      attempts: {
        ...NO_LIMITS,
        'password:network': { burst: 3, everyMs: HOUR_MS },
        'password:account': { burst: 6, everyMs: HOUR_MS },
        'password:browser': { burst: 3, everyMs: HOUR_MS },
        'code:address': { burst: 2, everyMs: HOUR_MS },
      },
    });
  });
  after(() => m.stop());

  const signIn = (email: string, password: string, from: string, mark?: string) =>
    m.call('POST', 'auth/sign-in', {
      body: { email, password },
      headers: { 'X-Forwarded-For': from, ...(mark === undefined ? {} : { Cookie: `known-browser=${mark}` }) },
    });
  const statuses = async (times: number, ...args: Parameters<typeof signIn>) => {
    const seen: number[] = [];
    for (let time = 0; time < times; time++) seen.push((await signIn(...args)).status);
    return seen;
  };
  const markOf = (headers: Headers) =>
    /^known-browser=([^;]+)/.exec(headers.getSetCookie().find((one) => one.startsWith('known-browser=')) ?? '')?.[1];
  const known = async ({ email }: Person, from: string) => markOf((await signIn(email, PASSWORD, from)).headers)!;

  it('wrong passwords from one network leave the account open to other networks', async () => {
    const { email } = await m.person('ann');
    assert.deepEqual(await statuses(4, email, 'wrong', '192.0.2.1'), [401, 401, 401, 429]);
    assert.equal((await signIn(email, PASSWORD, '192.0.2.200')).status, 429, 'of the same /24');
    assert.equal((await signIn(email, PASSWORD, '198.51.100.1')).status, 200);
    assert.deepEqual(
      await statuses(8, email, PASSWORD, '198.51.100.1'),
      Array.from({ length: 8 }, () => 200),
      'right ones do not add up',
    );
  });

  it('codes of sign-in links are limited by address', async () => {
    const seen: number[] = [];
    for (const from of ['192.0.2.1', '192.0.2.1', '192.0.2.1', '198.51.100.1']) {
      const call = { body: { code: 'invented' }, headers: { 'X-Forwarded-For': from } };
      seen.push((await m.call('POST', 'auth/sign-in/link', call)).status);
    }
    assert.deepEqual(seen, [400, 400, 429, 400]);
  });

  it('wrong passwords from many networks do not lock out a browser that has signed in before', async () => {
    const ben = await m.person('ben');
    const mark = await known(ben, '198.51.100.1');
    for (let network = 0; network < 6; network++)
      assert.equal((await signIn(ben.email, 'wrong', `192.0.${network}.1`)).status, 401);
    assert.equal((await signIn(ben.email, PASSWORD, '203.0.113.1')).status, 429, 'a browser that is not known');
    assert.equal((await signIn(ben.email, PASSWORD, '203.0.113.1', mark)).status, 200);
  });

  it('a known browser has a separate limit', async () => {
    const cat = await m.person('cat');
    const mark = await known(cat, '198.51.100.1');
    // The browser's own three attempts, then three of its network.
    assert.deepEqual(await statuses(7, cat.email, 'wrong', '203.0.113.1', mark), [401, 401, 401, 401, 401, 401, 429]);
  });

  it('a browser mark is ignored if altered, outdated, of another account or of another kind', async () => {
    const [dan, eve] = [await m.person('dan'), await m.person('eve')];
    const [ofDan, ofEve] = [await known(dan, '198.51.100.1'), await known(eve, '198.51.100.1')];
    for (let network = 0; network < 6; network++) await signIn(dan.email, 'wrong', `192.0.${network}.1`);
    const jwt = (await signIn(eve.email, PASSWORD, '198.51.100.1')).json['jwt-token'].token as string;
    const changed = `${ofDan.slice(0, -8)}${ofDan.at(-8) === 'A' ? 'B' : 'A'}${ofDan.slice(-7)}`;
    for (const [what, mark] of [
      ['another account', ofEve],
      ['changed', changed],
      ['a JWT', jwt],
      ['nothing', ''],
      ['long', 'x'.repeat(5_000)],
    ] as const) {
      assert.equal((await signIn(dan.email, PASSWORD, '203.0.113.1', mark)).status, 429, what);
    }
    const store = m.replicas[0].deps.store;
    await store.setPassword(dan.id, await m.replicas[0].deps.accounts.passwords.hash(PASSWORD));
    assert.equal((await signIn(dan.email, PASSWORD, '203.0.113.1', ofDan)).status, 429, 'of before the password');
  });

  it('an account has one limit, regardless of the spelling of its e-mail address', async () => {
    const fay = await m.person('fay');
    const seen: number[] = [];
    for (const email of ['FAY@example.org', 'fay@Example.org', 'faY@example.org'])
      seen.push((await signIn(email, 'wrong', '192.0.2.77')).status);
    // Where a database folds letters that JavaScript does not, one user has many spellings: the limit is per user.
    await m.stored.sql(`update users set email = 'fay.o@example.org' where id = $1`, [fay.id]);
    seen.push((await signIn('fay.o@example.org', 'wrong', '192.0.2.77')).status);
    assert.deepEqual(seen, [401, 401, 401, 429]);
  });

  it('the browser mark is not readable by scripts or other sites, and appears in no log', async () => {
    const gus = await m.person('gus');
    const { headers } = await signIn(gus.email, PASSWORD, '198.51.100.1');
    const cookie = headers.getSetCookie().find((one) => one.startsWith('known-browser='))!;
    assert.match(
      cookie,
      /^known-browser=[\w.-]{50,1000}; Path=\/frontend\/api\/v1\/auth; Max-Age=15552000; HttpOnly; SameSite=Strict$/,
    );
    const mark = markOf(headers)!;
    await signIn(gus.email, 'wrong', '198.51.100.1', mark);
    assert.ok(
      !m.replicas
        .flatMap(({ log }) => log)
        .join('')
        .includes(mark.slice(-40)),
    );
  });
});

describe('guesses of API tokens', function () {
  this.timeout(60_000);
  let m: Management;
  before(async () => {
    m = await startManagement({ trustedHops: 1 });
  });
  after(() => m.stop());

  const sides: [name: string, path: string, bodies: Record<number, object>][] = [
    [
      'probe endpoints',
      `/v1/probe/${randomUUID()}`,
      {
        401: { error: 'the credential is not valid or has expired' },
        429: { error: 'too many attempts; try again later' },
      },
    ],
    [
      'management endpoints',
      'user/current',
      {
        401: { code: 40101, context: {}, error: 'the credential is not valid or has expired', status: 'Unauthorized' },
        429: { code: 42900, context: {}, error: 'too many attempts; try again later', status: 'Too Many Requests' },
      },
    ],
  ];
  for (const [side, [name, path, bodies]] of sides.entries()) {
    it(`unknown tokens at ${name}: limited per address, without affecting others or known tokens`, async () => {
      const { token } = await m.person(`guess-${side}`);
      const call = (from: string, credential: string) =>
        m.call('GET', path, { token: credential, headers: { 'X-Forwarded-For': from } });
      const good = (await call(`192.0.2.${side}`, token)).status;
      assert.notEqual(good, 401);
      const guess = (n: number): string => `${side}${n}`.padStart(64, 'G');
      // All are counted before any is answered, so that the five a second that are restored meanwhile do not matter.
      const { tokens } = m.replicas[0].deps;
      await Promise.allSettled(Array.from({ length: 200 }, () => tokens.get(randomBytes(32), `192.0.2.${side}`)));
      const answers = await Promise.all(Array.from({ length: 150 }, (_, n) => call(`192.0.2.${side}`, guess(n))));
      assert.ok(answers.some(({ status }) => status === 429));
      for (const { status, json, headers } of answers) {
        assert.deepEqual(json, bodies[status]);
        if (status === 429) assert.match(headers.get('retry-after')!, /^[1-9]\d*$/);
      }
      assert.equal((await call(`192.0.2.${side}`, token)).status, good);
      const elsewhere = await call('198.51.100.1', guess(1_000));
      assert.deepEqual([elsewhere.status, elsewhere.json], [401, bodies[401]]);
    });

    it(`an unseen token at ${name}: accepted while its address is over the limit of guesses`, async () => {
      const { token } = await m.person(`unseen-${side}`);
      const from = `203.0.113.${side}`;
      const call = (credential: string) =>
        m.call('GET', path, { token: credential, headers: { 'X-Forwarded-For': from } });
      const { tokens } = m.replicas[0].deps;
      const over = new AbortController();
      const guesses = () => Array.from({ length: 250 }, () => tokens.get(randomBytes(32), from));
      const flood = (async () => {
        while (!over.signal.aborted) await Promise.allSettled(guesses());
      })();
      try {
        const invented = await call(token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A'));
        assert.deepEqual([invented.status, invented.json], [401, bodies[401]], 'a wrong checksum is refused at once');
        assert.ok(![401, 429].includes((await call(token)).status), 'a real one is looked up');
      } finally {
        over.abort();
        await flood;
      }
    });
  }
});
