/** Users of single sign-on in the record: made once, linked once, let go and taken back. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { NewIdentityUser } from '../../src/platform/store/identities.ts';
import { startStore, type StoreFixture } from './fixture.ts';

const ISSUER = 'https://id.example';
const MOST = { subUsers: 3, tokens: 10 };

describe('store: identities', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  before(async () => {
    fixture = await startStore();
  });
  after(() => fixture.close());

  const aUser = (name: string, change: Partial<NewIdentityUser> = {}): NewIdentityUser => ({
    issuer: ISSUER,
    subject: name,
    email: `${name}@example.org`,
    firstName: name,
    lastName: '',
    role: 'user',
    parentId: null,
    permissions: ['read:media'],
    ...change,
  });
  const make = (name: string, change: Partial<NewIdentityUser> = {}) =>
    fixture.store.makeIdentityUser(aUser(name, change), MOST);
  async function made(name: string, change: Partial<NewIdentityUser> = {}): Promise<number> {
    const id = await make(name, change);
    assert.ok(typeof id === 'number', String(id));
    return id;
  }
  const who = (subject: string) => ({ issuer: ISSUER, subject });
  const see = (subject: string, role: NewIdentityUser['role'] = 'user', permissions = ['read:media']) =>
    fixture.store.seeIdentity({ ...who(subject), role, permissions });
  async function stateOf(id: number) {
    const user = await fixture.store.findUser(id);
    return [user?.status, user?.role, user?.permissions];
  }

  it('a user is made once, however many sign in as it at once', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => make('ada')));
    assert.equal(all.filter((one) => typeof one === 'number').length, 1, all.join());
    assert.equal(all.filter((one) => one === 'email-taken').length, 7, all.join());
    const id = await fixture.store.findIdentity(who('ada'));
    assert.ok(all.includes(id!));
    assert.deepEqual(await stateOf(id!), ['active', 'user', ['read:media']]);
    assert.equal(await fixture.store.findIdentity({ issuer: 'https://other.example', subject: 'ada' }), null);
  });

  it('a sub-user is made below its account, within the limit of that account, and nowhere else', async () => {
    const parentId = await made('team');
    const id = await made('member', { role: 'sub', parentId });
    const user = await fixture.store.findUser(id);
    assert.deepEqual([user?.role, user?.parentIds, user?.rootId], ['sub', [parentId], parentId]);
    for (const name of ['second', 'third']) await made(name, { role: 'sub', parentId });
    assert.equal(await make('fourth', { role: 'sub', parentId }), 'sub-users');
    assert.equal(await make('lost', { role: 'sub', parentId: 999_999 }), 'no-parent');
    for (const name of ['fourth', 'lost']) assert.equal(await fixture.store.findIdentity(who(name)), null);
  });

  it('an account is linked by its address once for each issuer: a later owner of it has no access', async () => {
    const [row] = await fixture.sql<{ id: string }>(
      `insert into users (email, status) values ('Grace@example.org', 'active') returning id`,
    );
    const link = (subject: string, issuer = ISSUER) =>
      fixture.store.linkIdentity({ issuer, subject }, 'grace@EXAMPLE.org');
    assert.equal(await link('grace'), Number(row!.id));
    assert.equal(await link('a later one'), null);
    assert.equal(await link('grace', 'https://other.example'), Number(row!.id));
    assert.equal(await fixture.store.findIdentity(who('grace')), Number(row!.id));
    await fixture.sql(`insert into users (email, status) values ('pending@example.org', 'pending')`);
    assert.equal(await fixture.store.linkIdentity(who('pending'), 'pending@example.org'), null);
  });

  it('an account of single sign-on has no password and gets no mail for one; the root user has both', async () => {
    const id = await made('hopper');
    await fixture.sql(`update users set password_hash = 'kept' where id = any($1)`, [[id, fixture.admin.userId]]);
    await fixture.sql(`insert into identities (issuer, subject, user_id) values ($1, 'root', $2)`, [
      ISSUER,
      fixture.admin.userId,
    ]);
    assert.equal((await fixture.store.findByEmail('hopper@example.org'))?.passwordHash, null);
    assert.equal((await fixture.store.findByEmail('admin@example.org'))?.passwordHash, 'kept');
    const codes = async (email: string) => {
      const mail = { id: randomUUID(), subject: 'x', sealed: Buffer.from('x'), recipient: email };
      await fixture.store.askReset({ email, codeId: randomUUID(), codeMs: 60_000, mail });
      const found = await fixture.sql(
        `select 1 from account_codes c join users u on u.id = c.user_id where u.email = $1 and purpose = 'reset'`,
        [email],
      );
      return found.length;
    };
    assert.deepEqual([await codes('hopper@example.org'), await codes('admin@example.org')], [0, 1]);
  });

  it('a role follows from the sign-in, with its permissions; the root user keeps its own', async () => {
    const id = await made('lovelace');
    await see('lovelace', 'admin', ['read:media', 'read:admin']);
    assert.deepEqual(await stateOf(id), ['active', 'admin', ['read:media', 'read:admin']]);
    await fixture.sql(`update users set permissions = '{read:media}' where id = $1`, [id]);
    await see('lovelace', 'admin', ['read:media', 'read:admin']);
    assert.deepEqual(await stateOf(id), ['active', 'admin', ['read:media']], 'what was narrowed stays');
    await see('lovelace');
    assert.deepEqual(await stateOf(id), ['active', 'user', ['read:media']]);
    await see('root');
    assert.equal((await fixture.store.findUser(fixture.admin.userId))?.role, 'root');
  });

  it('who is let go is suspended, without sessions; a sign-in ends that, unless an administrator decided', async () => {
    const id = await made('noether');
    const session = {
      id: randomUUID(),
      userId: id,
      tokenId: null,
      parentId: null,
      permissions: null,
      remoteIp: '',
      userAgent: '',
      expiresAt: new Date(Date.now() + 60_000),
    };
    await fixture.store.openSession(session);
    await fixture.store.lapseUser(id);
    assert.equal(await fixture.store.sessionCaller(session.id, id), null);
    assert.equal((await stateOf(id))[0], 'suspended');
    await see('noether');
    assert.equal((await stateOf(id))[0], 'active');

    await fixture.store.lapseUser(id);
    await fixture.store.changeUser(id, { status: 'suspended' });
    await see('noether');
    assert.equal((await stateOf(id))[0], 'suspended', 'an administrator suspended them');
    await fixture.store.changeUser(id, { status: 'active' });
    await see('noether');
    assert.equal((await stateOf(id))[0], 'active');
    await fixture.store.lapseUser(fixture.admin.userId);
    assert.equal((await stateOf(fixture.admin.userId))[0], 'active', 'the root user is never let go');
  });

  it('who has not signed in for long is suspended; others, and accounts without single sign-on, are not', async () => {
    const [away, here] = [await made('away'), await made('here')];
    await fixture.sql(`update identities set seen_at = now() - interval '8 days' where user_id = $1`, [away]);
    await fixture.sql(`update identities set seen_at = now() - interval '6 days' where user_id = $1`, [here]);
    await fixture.sql(`insert into users (email, status) values ('none@example.org', 'active')`);
    await fixture.store.lapseAbsent(7);
    assert.deepEqual([(await stateOf(away))[0], (await stateOf(here))[0]], ['suspended', 'active']);
    const [other] = await fixture.sql<{ status: string }>(`select status from users where email = 'none@example.org'`);
    assert.equal(other?.status, 'active');
  });

  it('an erased user leaves no identity', async () => {
    const id = await made('erased');
    await fixture.store.eraseUser(id);
    assert.equal(await fixture.store.findIdentity(who('erased')), null);
  });
});
