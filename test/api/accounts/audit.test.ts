/** What leaves an entry in the audit log, and what it says. */
import assert from 'node:assert/strict';
import { ENDPOINTS } from '../../../src/service/api/endpoints.ts';
import { changesOf } from '../../../src/service/api/http/audit.ts';
import { UNAUDITED } from '../../../src/service/api/http/endpoint_access.ts';
import { until } from '../../until.ts';
import { startManagement, type Management, type Person } from './fixture.ts';

describe('audit: what changed', () => {
  const table: [string, ...Parameters<typeof changesOf>, ReturnType<typeof changesOf>][] = [
    ['nothing', { a: 1, b: ['x'] }, { a: 1, b: ['x'] }, []],
    ['a value', { a: 1 }, { a: 2 }, [{ field: 'a', before: 1, after: 2 }]],
    ['a list', { a: ['x'] }, { a: ['x', 'y'] }, [{ field: 'a', before: ['x'], after: ['x', 'y'] }]],
    ['a value that was none', { a: null }, { a: 2 }, [{ field: 'a', after: 2 }]],
    ['a value that is none', { a: 2 }, {}, [{ field: 'a', before: 2 }]],
    ['what is new', null, { a: 1, b: null }, [{ field: 'a', after: 1 }]],
    ['what is gone', { a: 1 }, null, [{ field: 'a', before: 1 }]],
    ['a name', { 'first-name': 'Ada' }, { 'first-name': 'Grace' }, [{ field: 'first-name', hidden: 'changed' }]],
  ];
  for (const [what, before, after, expected] of table)
    it(what, () => assert.deepEqual(changesOf(before, after), expected));
});

describe('audit: entries', function () {
  this.timeout(60_000);
  let m: Management;
  let alice: Person;
  let sam: Person;
  before(async () => {
    m = await startManagement();
    alice = await m.person('alice');
    sam = await m.person('sam', { parent: alice });
  });
  after(() => m.stop());

  interface Row {
    id: string;
    actor_id: number | null;
    account_id: number | null;
    token_id: number | null;
    address: string;
    action: string;
    subject: string | null;
    outcome: string;
    code: string | null;
    changes: { field: string; before?: unknown; after?: unknown; hidden?: string }[];
  }
  /** Of one call, by the id of its answer. */
  const entries = (headers: Headers) =>
    m.stored.sql<Row>(
      `select id, actor_id::integer, account_id::integer, token_id::integer, address, action, subject, outcome, code,
        changes from audit where id = $1`,
      [headers.get('X-Request-Id')],
    );
  const entry = async ({ headers }: { headers: Headers }): Promise<Row> =>
    until('an entry', async () => (await entries(headers))[0]);

  it('a change: who, with what, from where, on whom; and the same in the log', async () => {
    const answer = await m.call('PUT', `user/${sam.id}`, { token: alice.token, body: { 'last-name': 'X' } });
    assert.equal(answer.status, 200);
    const { changes: _, id, ...row } = await entry(answer);
    assert.deepEqual(row, {
      actor_id: alice.id,
      account_id: alice.id,
      token_id: alice.tokenId,
      address: '127.0.0.1',
      action: 'changeUser',
      subject: `user/${sam.id}`,
      outcome: 'done',
      code: null,
    });
    const line = m.replicas[0].log.map((text) => JSON.parse(text)).find(({ audit }) => audit === true);
    assert.deepEqual(
      [line.request_id, line.action, line.subject, line.user, line.outcome],
      [id, 'changeUser', `user/${sam.id}`, alice.id, 'done'],
    );
  });

  it('a call that is denied to a known user, with an expired token, too; not one of nobody, or a mistake', async () => {
    const suspend = { body: { status: 'suspended' } };
    const denied = await m.call('PUT', `user/${alice.id}/status`, { token: sam.token, ...suspend });
    const { actor_id: actor, account_id: account, subject, outcome, code, changes } = await entry(denied);
    assert.deepEqual(
      [denied.status, actor, account, subject, outcome, code, changes],
      [403, sam.id, alice.id, `user/${alice.id}`, 'denied', 'no-permission', []],
    );
    const made = await m.call('POST', 'auth/api-token', { token: sam.token, body: { ttl: 1000 } });
    await m.stored.sql(`update tokens set expires_at = now() - interval '1 second' where id = $1`, [made.json['id']]);
    const token = made.json['token'] as string;
    const late = await until('the token is known as expired', async () => {
      const answer = await m.call('GET', 'user/current', { token });
      return answer.status === 401 && answer;
    });
    assert.deepEqual([(await entry(late)).code, (await entry(late)).actor_id], ['bad-credential', sam.id]);
    for (const call of [
      await m.call('PUT', `user/${alice.id}/status`, suspend),
      await m.call('PUT', `user/${alice.id}/status`, { token: 'B'.repeat(64), ...suspend }),
      await m.call('PUT', 'user/999999/status', { token: m.root.token, ...suspend }),
      await m.call('PUT', `user/${alice.id}/status`, { token: m.root.token, body: { status: 'unheard of' } }),
      await m.call('GET', `user/${alice.id}`, { token: m.root.token }),
    ])
      assert.deepEqual(await entries(call.headers), [], `${call.status}`);
  });

  it('denied calls of an account are bounded', async () => {
    const carol = await m.person('carol', { permissions: [] });
    for (let call = 0; call < 40; call++) await m.call('GET', 'user', { token: carol.token });
    const count = () =>
      m.stored.sql<{ n: number }>('select count(*)::integer n from audit where actor_id = $1', [carol.id]);
    await until('the last of them', async () => (await count())[0]!.n >= 30);
    assert.ok((await count())[0]!.n <= 32);
  });

  it('an id that is none is not repeated: it may be a secret', async () => {
    const narrow = await m.person('narrow', { permissions: [] });
    const answer = await m.call('DELETE', `auth/api-token/${alice.token}`, { token: narrow.token });
    assert.equal(answer.status, 403);
    assert.equal((await entry(answer)).subject, null);
  });

  it('each endpoint that changes something leaves an entry or says why it does not', () => {
    const changing = ENDPOINTS.filter(
      ({ operation: { method, path } }) =>
        method !== 'get' && (path.startsWith('/frontend/') || path.startsWith('/v1/policy/')),
    ).map(({ name }) => name as string);
    assert.ok(changing.length > 20);
    assert.deepEqual(
      Object.keys(UNAUDITED).filter((name) => !changing.includes(name)),
      [],
      'there is no such endpoint',
    );
  });
});
