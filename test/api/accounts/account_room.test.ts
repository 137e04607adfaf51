/** How many sub-users and API tokens an account may have, over all of its users. */
import assert from 'node:assert/strict';
import { NO_LIMITS, startManagement, type Management, type Person } from './fixture.ts';

describe('management: limits of an account', function () {
  this.timeout(60_000);
  let m: Management;
  before(async () => {
    m = await startManagement({ mostSubUsers: 3, mostTokens: 6 });
  });
  after(() => m.stop());

  const makeUser = (by: Person, email: string, at = m.replicas[0]) =>
    m.call('POST', 'user/current', { token: by.token, at, body: { email } });
  const makeToken = (by: Person, at = m.replicas[0]) =>
    m.call('POST', 'auth/api-token', { token: by.token, at, body: { name: 'x' } });
  const TOO_MANY_USERS = 'the account has reached its limit of 3 sub-users';
  const TOO_MANY_TOKENS = 'the account has reached its limit of 6 API tokens over all its users';

  it('sub-users: counted over all levels, and limited to what the operator allows', async () => {
    const ann = await m.person('ann');
    const sub = await m.person('ann-sub', { parent: ann });
    assert.equal((await makeUser(sub, 'ann-2@example.org')).status, 201);
    assert.equal((await makeUser(ann, 'ann-3@example.org')).status, 201);
    for (const by of [ann, sub]) {
      const refused = await makeUser(by, 'ann-4@example.org');
      assert.deepEqual(
        [refused.status, refused.json['code'], refused.json['error']],
        [409, 40900, TOO_MANY_USERS],
        refused.text,
      );
    }
    // The limit of one account does not affect another.
    assert.equal((await makeUser(await m.person('bea'), 'bea-2@example.org')).status, 201);
    assert.equal((await m.call('DELETE', `user/${sub.id}`, { token: m.root.token })).status, 204);
    assert.equal((await makeUser(ann, 'ann-4@example.org')).status, 201);
  });

  it('tokens: counted over all users of the account; a revoked one frees its place', async () => {
    const cat = await m.person('cat');
    const sub = await m.person('cat-sub', { parent: cat });
    for (const by of [cat, sub, sub]) assert.equal((await makeToken(by)).status, 201);
    const last = await makeToken(cat);
    assert.equal(last.status, 201);
    for (const by of [cat, sub]) {
      const refused = await makeToken(by);
      assert.deepEqual([refused.status, refused.json['error']], [409, TOO_MANY_TOKENS], refused.text);
    }
    const user = await makeUser(cat, 'cat-2@example.org');
    assert.deepEqual([user.status, user.json['error']], [409, TOO_MANY_TOKENS], 'a new user would have no token');
    await m.call('DELETE', `auth/api-token/${last.json['id']}`, { token: cat.token });
    assert.equal((await makeToken(sub)).status, 201);
  });

  it('of many created at once on two replicas, only as many as allowed succeed', async () => {
    const dan = await m.person('dan');
    const [one, two] = m.replicas;
    const users = await Promise.all(
      Array.from({ length: 10 }, (_, i) => makeUser(dan, `dan-${i}@example.org`, i % 2 === 0 ? one : two)),
    );
    assert.deepEqual(users.map(({ status }) => status).sort(), [
      201,
      201,
      201,
      ...Array.from({ length: 7 }, () => 409),
    ]);
    // Four so far: one of Dan, and one of each sub-user.
    const tokens = await Promise.all(Array.from({ length: 10 }, (_, i) => makeToken(dan, i % 2 === 0 ? one : two)));
    assert.deepEqual(tokens.map(({ status }) => status).sort(), [201, 201, ...Array.from({ length: 8 }, () => 409)]);
  });

  it('a full account still gets the error for an address that is in use', async () => {
    const eve = await m.person('eve');
    const taken = await makeUser(eve, 'ann@example.org');
    assert.deepEqual([taken.status, taken.json['error']], [409, 'email: cannot be used for a new account']);
  });
});

describe('management: what an account may create in an hour', function () {
  this.timeout(60_000);
  const once = { burst: 2, everyMs: 3_600_000 };
  let m: Management;
  before(async () => {
    m = await startManagement({ attempts: { ...NO_LIMITS, 'invite:account': once, 'token:account': once } });
  });
  after(() => m.stop());

  for (const { what, make } of [
    { what: 'sub-users', make: (email: string) => ({ path: 'user/current', body: { email } }) },
    { what: 'API tokens', make: () => ({ path: 'auth/api-token', body: { name: 'x' } }) },
  ])
    it(`${what} are counted over all users of the account, and of no other account`, async () => {
      const name = what.replace(/\W/g, '').toLowerCase();
      const ann = await m.person(`${name}-ann`);
      const sub = await m.person(`${name}-sub`, { parent: ann });
      const made: number[] = [];
      for (const [at, by] of [ann, sub, ann, sub].entries()) {
        const { path, body } = make(`${name}-made-${at}@example.org`);
        made.push((await m.call('POST', path, { token: by.token, body })).status);
      }
      assert.deepEqual(made, [201, 201, 429, 429]);
      const { path, body } = make(`${name}-other-made@example.org`);
      assert.equal((await m.call('POST', path, { token: (await m.person(`${name}-other`)).token, body })).status, 201);
    });
});
