/** One account against another through the API: credentials, passwords, administrators and long texts. */
import assert from 'node:assert/strict';
import { cluster, eventually, type Cluster } from '../cluster/fixture.ts';
import { PASSWORD, people, type People, type Person } from './people.ts';
import { record } from './record.ts';

describe('trust: one account against another', function () {
  this.timeout(120_000);
  let c: Cluster;
  let all: People;
  before(async () => {
    c = await cluster();
    all = people(c);
  });
  after(async () => {
    await all?.close();
    await c?.close();
  });

  const note = (attempt: string, expected: string, got: string) => {
    record({ group: 'trust', attempt, expected, got });
    assert.equal(got, expected, attempt);
  };
  const fastest = async (times: number, work: () => Promise<{ ms: number; status: number }>) => {
    const seen = [];
    for (let time = 0; time < times; time++) seen.push(await work());
    return { ms: Math.min(...seen.map(({ ms }) => ms)), statuses: [...new Set(seen.map(({ status }) => status))] };
  };

  it('H3: what a token created ends when the token is revoked, and has no later expiry', async () => {
    const person = await all.make();
    const tokenA = (await all.call('POST', 'auth/api-token', { token: person.token, body: { ttl: 3_600_000 } }))
      .json as { id: number; token: string };
    const jwtBy = async (token: string) =>
      (await all.call('POST', 'auth/jwt', { token, body: {} })).json['token'] as string;
    const j1 = await jwtBy(tokenA.token);
    const j2 = await jwtBy(j1);
    const longer = await all.call('POST', 'auth/api-token', { token: j2, body: { ttl: null } });
    note('H3: a permanent token, made by the JWT of a JWT of a token with an end', '400', String(longer.status));
    const b = (await all.call('POST', 'auth/api-token', { token: j2, body: { ttl: 60_000 } })).json['token'] as string;
    const credentials = [tokenA.token, j1, j2, b];
    // Several times each, so that both replicas answer.
    const statuses = async () => {
      const got = [];
      for (let time = 0; time < 4; time++)
        for (const token of credentials) got.push((await all.call('GET', 'user/current', { token })).status);
      return [...new Set(got)].join(' and ');
    };
    assert.equal(await statuses(), '200', 'before');
    assert.equal((await all.call('DELETE', `auth/api-token/${tokenA.id}`, { token: person.token })).status, 204);
    const end = await eventually('none is accepted', 10, async () => {
      const got = await statuses();
      return got === '401' && got;
    });
    note('H3: a revoked token, its JWT, the JWT of that, and the token which that one made', '401', end);
  });

  it('L1, M4: U+0000 in a sign-in is a bad request', async () => {
    for (const body of [
      { email: 'a\0@example.org', password: 'x' },
      { email: 'a@example.org', password: 'x\0' },
    ]) {
      const { status, text } = await all.call('POST', 'auth/sign-in', { body });
      note(
        `L1, M4: a sign-in with U+0000 in ${body.password === 'x' ? 'the address' : 'the password'}`,
        '400',
        String(status),
      );
      assert.doesNotMatch(text, /\bat \/|pg_|SQLSTATE/);
    }
  });

  it('M12, house A1: wrong passwords from one address do not lock out a known browser', async () => {
    const [victim, other] = [await all.make({ password: true }), await all.make({ password: true })];
    const signIn = ({ email }: Person, password: string, headers: Record<string, string> = {}) =>
      all.call('POST', 'auth/sign-in', { body: { email, password }, headers });
    const right = await signIn(victim, PASSWORD);
    assert.equal(right.status, 200, right.text);
    const mark =
      /^known-browser=[^;]+/.exec(
        right.headers.getSetCookie().find((one) => one.startsWith('known-browser=')) ?? '',
      )?.[0] ?? '';
    assert.notEqual(mark, '', 'the browser has a mark');
    // Each claims another address of one /64, which must not give it a separate limit.
    const wrong = [];
    for (let time = 1; time <= 12; time++)
      wrong.push((await signIn(victim, 'wrong', { 'x-forwarded-for': `2001:db8::${time}` })).status);
    note(
      'House A1: twelve wrong passwords for one account, each said to come from another address of one /64',
      '401 and 429',
      [...new Set(wrong)].join(' and '),
    );
    note(
      'M12: then its owner, with the right password from a known browser',
      '200',
      String((await signIn(victim, PASSWORD, { cookie: mark })).status),
    );
    note(
      'M12: and the owner of another account from the same address',
      '200',
      String((await signIn(other, PASSWORD)).status),
    );
  });

  it('M13: an administrator sets no limits of the root user, of another administrator or their own', async () => {
    const [admin, another] = [await all.make({ role: 'admin' }), await all.make({ role: 'admin' })];
    const root = Number(await c.sql(`select min(id) from users where role = 'root'`));
    for (const [who, id] of [
      ['the root user', root],
      ['another administrator', another.id],
      ['themself', admin.id],
    ] as const) {
      const { status } = await all.call('PUT', `user/${id}/limits`, { token: admin.token, body: { concurrency: 1 } });
      note(`M13: an administrator sets limits of ${who}`, '403', String(status));
    }
    assert.equal(
      await c.sql(`select count(*) from users where id in (${root}, ${another.id}, ${admin.id}) and concurrency = 1`),
      '0',
    );
  });

  it('M14: a sub-user of a sub-user has no more than every account above', async () => {
    const origin = await c.origin();
    const probe = (token: string) => c.probe({ url: `${origin.url}/tiny.mp4`, only: 'ffprobe' }, { token });
    const top = await all.make();
    const readers = await all.make({ role: 'sub', parent: top, without: ['write:media'] });
    const below = await all.make({ role: 'sub', parent: readers });
    note(
      'M14: a probe by the sub-user of a sub-user without write:media',
      '403',
      String((await probe(below.token)).status),
    );
    const slow = await all.make({ role: 'sub', parent: top, requestsPerMinute: 2 });
    const many = await all.make({ role: 'sub', parent: slow });
    const statuses = await Promise.all(Array.from({ length: 6 }, async () => (await probe(many.token)).status));
    const refused = statuses.filter((status) => status === 429).length;
    assert.ok(
      statuses.every((status) => status === 200 || status === 429),
      statuses.join(' '),
    );
    // The bucket may have been refilled by one when the last request arrives.
    note(
      'M14: six probes by the sub-user of a sub-user with two requests a minute',
      'at most three',
      refused >= 3 ? 'at most three' : `${6 - refused}`,
    );
  });

  it('M15: an address of 8 kB of @ takes no longer than any other refused one', async () => {
    const { token } = await c.newToken();
    const refused = async (url: string) => {
      const { status, ms, text } = await c.probe({ url, webhook_url: url }, { token });
      assert.match(text, /"error"/);
      return { status, ms };
    };
    const plain = await fastest(10, () => refused('gopher://example.org/a'));
    const long = await fastest(10, () => refused(`https://a:${'@'.repeat(8_000)}`));
    const most = plain.ms * 5 + 50;
    console.log(`      ${Math.round(long.ms)} ms, an ordinary refusal ${Math.round(plain.ms)} ms`);
    assert.deepEqual(plain.statuses, [400]);
    note(
      'M15: an address of 8,000 @',
      '400, as fast as others',
      `${long.statuses.join(' and ')}, ${long.ms <= most ? 'as fast as others' : `${Math.round(long.ms)} ms`}`,
    );
  });
});
