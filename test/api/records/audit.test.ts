/** The audit log as it is read: who sees what, filters, pages and the export. */
import assert from 'node:assert/strict';
import type { NewAuditEntry } from '../../../src/platform/store/audit.ts';
import { startManagement, type Management, type Person } from '../accounts/fixture.ts';

interface Shown {
  id: string;
  time: string;
  'user-id'?: number;
  email?: string;
  action: string;
  subject?: string;
  changes: unknown[];
}

describe('audit log: reading it', function () {
  this.timeout(60_000);
  let m: Management;
  let people: Record<'root' | 'alice' | 'sam' | 'kim' | 'bob' | 'gone', Person>;
  before(async () => {
    m = await startManagement();
    const alice = await m.person('alice');
    const sam = await m.person('sam', { parent: alice });
    people = {
      root: m.root,
      alice,
      sam,
      kim: await m.person('kim', { parent: sam }),
      bob: await m.person('bob'),
      gone: await m.person('gone', { parent: alice }),
    };
    for (const who of ['alice', 'sam', 'kim', 'bob', 'gone'] as const)
      await m.call('PUT', 'user/current', { token: people[who].token, body: { 'last-name': `of ${who}` } });
    await m.call('DELETE', `user/${people.gone.id}`, { token: m.root.token });
  });
  after(() => m.stop());

  const list = async (who: keyof typeof people, query = ''): Promise<Shown[]> => {
    const { status, json, text } = await m.call('GET', `audit?pagination[limit]=1000&${query}`, {
      token: people[who].token,
    });
    assert.equal(status, 200, text);
    return json['entries'] as Shown[];
  };
  const actors = (entries: Shown[]) =>
    Object.keys(people).filter((name) =>
      entries.some((entry) => entry['user-id'] === people[name as keyof typeof people].id),
    );

  for (const [who, expected] of [
    ['root', ['root', 'alice', 'sam', 'kim', 'bob', 'gone']],
    ['alice', ['alice', 'sam', 'kim', 'gone']],
    ['sam', ['sam', 'kim']],
    ['kim', ['kim']],
    ['bob', ['bob']],
  ] as const)
    it(`${who} sees the calls of ${expected.join(', ')}`, async () =>
      assert.deepEqual(actors(await list(who)), expected));

  it('an entry of an erased user has their number and no name', async () => {
    const [entry] = await list('alice', `user-id=${people.gone.id}`);
    assert.deepEqual(
      [entry?.['user-id'], entry?.email, entry?.action, entry?.subject, entry?.changes],
      [
        people.gone.id,
        undefined,
        'changeCurrentUser',
        `user/${people.gone.id}`,
        [{ field: 'last-name', redacted: 'changed' }],
      ],
    );
    assert.ok(!(await m.call('GET', 'audit', { token: m.root.token })).text.includes('gone'));
  });

  it('filters by user, action, subject, outcome and time; what another account did is not there', async () => {
    const { bob, sam } = people;
    const user = `user-id=${sam.id}`;
    for (const [who, query, expected] of [
      ['alice', user, ['sam']],
      ['bob', user, []],
      ['root', 'action=deleteUser', ['root']],
      ['root', `action=deleteUser&action=changeCurrentUser&user-id=${bob.id}`, ['bob']],
      ['root', `subject=user/${bob.id}`, ['bob']],
      ['root', 'outcome=denied', []],
      ['root', 'time[to]=2020-01-01', []],
      ['root', `time[from]=2020-01-01&${user}`, ['sam']],
    ] as const)
      assert.deepEqual(actors(await list(who, query)), expected, query);
    for (const query of ['time[from]=2021-01-01&time[to]=2020-01-01', 'outcome=unknown', 'time[from]=x', 'other=1'])
      assert.equal((await m.call('GET', `audit?${query}`, { token: m.root.token })).status, 400, query);
  });

  it('pages, the newest first or last', async () => {
    const page = async (query: string) => (await m.call('GET', `audit?${query}`, { token: m.root.token })).json;
    const [first, last] = [await page('pagination[limit]=2'), await page('pagination[limit]=2&sort[order]=asc')];
    const all = await list('root');
    assert.deepEqual(first['entries'], all.slice(0, 2));
    assert.deepEqual(last['entries'], all.toReversed().slice(0, 2));
    assert.deepEqual(first['pagination'], { count: 2, limit: 2, page: 1, total: all.length });
    assert.ok(all[0]!.time >= all[1]!.time);
  });

  it('the export is a line for each entry, oldest first, over several batches', async () => {
    const { store } = m.replicas[0].deps;
    const entry = (): NewAuditEntry => ({
      id: store.newRequest().id,
      actorId: people.bob.id,
      accountId: people.bob.id,
      tokenId: null,
      sessionId: null,
      address: '',
      action: 'many',
      subject: null,
      outcome: 'done',
      code: null,
      changes: [],
    });
    for (let left = 1_200; left > 0; left -= 100)
      await Promise.all(Array.from({ length: 100 }, () => store.addAuditEntry(entry())));
    const { status, headers, text } = await m.call('GET', 'audit/export?action=many', { token: people.bob.token });
    assert.equal(status, 200);
    assert.match(headers.get('Content-Type') ?? '', /^application\/x-ndjson/);
    assert.ok(text.endsWith('\n'));
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Shown);
    const ids = lines.map(({ id }) => id);
    assert.deepEqual([lines.length, new Set(ids).size], [1_200, 1_200]);
    assert.deepEqual(ids, ids.toSorted());
    assert.equal((await m.call('GET', 'audit/export?action=many', { token: people.alice.token })).text, '');
  });

  it('needs read:audit', async () => {
    const { token } = await m.person('reader', { permissions: ['read:media'] });
    for (const path of ['audit', 'audit/export']) {
      const { status, text } = await m.call('GET', path, { token });
      assert.equal(status, 403);
      assert.match(text, /missing permission: read:audit/);
    }
  });
});
