import assert from 'node:assert/strict';
import pg from 'pg';
import type { AuditFilter, NewAuditEntry } from '../../src/platform/store/audit.ts';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import { type StoreFixture, startStore } from './fixture.ts';

const EVERYTHING: AuditFilter = {
  accountId: null,
  visible: null,
  actors: [],
  actions: [],
  subjects: [],
  outcomes: [],
  from: null,
  to: null,
};

describe('store: the audit log', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  before(async () => {
    fixture = await startStore();
  });
  after(() => fixture.close());
  beforeEach(() => fixture.sql(`set local probeyard.forgets_audit = 'yes'; delete from audit`));

  /** Of one millisecond each: the order of two of the same is by chance. */
  let at = Date.now();
  const anEntry = (change: Partial<NewAuditEntry> = {}): NewAuditEntry => ({
    id: uuidv7(at++),
    actorId: fixture.admin.userId,
    accountId: fixture.admin.userId,
    tokenId: fixture.admin.tokenId,
    sessionId: null,
    address: '192.0.2.7',
    action: 'setUserStatus',
    subject: 'user/7',
    outcome: 'done',
    code: null,
    changes: [{ field: 'status', before: 'active', after: 'suspended' }],
    ...change,
  });
  const list = (change: Partial<AuditFilter> = {}) =>
    fixture.store.listAudit({ ...EVERYTHING, ...change }, { order: 'asc', offset: 0, limit: 100 });

  it('an entry is read as it was added, and a repeat adds no second one', async () => {
    const entry = anEntry();
    await fixture.store.addAuditEntry(entry);
    await fixture.store.addAuditEntry(entry);
    const { rows, total } = await list();
    assert.equal(total, 1);
    const { at: when, email, ...read } = rows[0]!;
    assert.deepEqual(read, entry);
    assert.equal(email, 'admin@example.org');
    assert.ok(Math.abs(when.getTime() - Date.now()) < 60_000);
  });

  it('a change and its entry are recorded both or not at all', async () => {
    const { store, admin } = fixture;
    const rename = (entry: NewAuditEntry) =>
      store.together('rename', async (calls) => {
        await calls.changeUser(admin.userId, { lastName: entry.id });
        await calls.addAuditEntry(entry);
      });
    const [good, bad] = [anEntry(), anEntry({ outcome: 'unknown' as never })];
    await rename(good);
    await assert.rejects(rename(bad), { code: 'query-failed' });
    assert.equal((await store.findUser(admin.userId))?.lastName, good.id);
    assert.deepEqual(
      (await list()).rows.map(({ id }) => id),
      [good.id],
    );
  });

  it('filters', async () => {
    const [first, second, third] = [
      anEntry({ actorId: 11, accountId: 10 }),
      anEntry({ actorId: 12, accountId: 10, action: 'savePolicy', subject: 'policy/a' }),
      anEntry({ actorId: 20, accountId: 20, outcome: 'denied', code: 'no-permission', subject: null }),
    ] as const;
    for (const entry of [first, second, third]) await fixture.store.addAuditEntry(entry);
    const found = async (change: Partial<AuditFilter>) => (await list(change)).rows.map(({ id }) => id);
    const later = new Date(Date.now() + 3_600_000);
    const table: [Partial<AuditFilter>, NewAuditEntry[]][] = [
      [{}, [first, second, third]],
      [{ accountId: 10 }, [first, second]],
      [{ visible: [12, 20] }, [second, third]],
      [{ visible: [] }, []],
      [{ actors: [11, 20] }, [first, third]],
      [{ actions: ['savePolicy'] }, [second]],
      [{ subjects: ['policy/a', 'user/7'] }, [first, second]],
      [{ outcomes: ['denied'] }, [third]],
      [{ accountId: 10, actors: [20] }, []],
      [{ from: later }, []],
      [{ to: later }, [first, second, third]],
    ];
    for (const [filter, expected] of table)
      assert.deepEqual(
        await found(filter),
        expected.map(({ id }) => id),
        JSON.stringify(filter),
      );
    const { auditAfter } = fixture.store;
    const [one] = await auditAfter(EVERYTHING, null, 1);
    assert.equal(one?.id, first.id);
    const rest = await auditAfter(EVERYTHING, first.id, 10);
    assert.deepEqual(
      rest.map(({ id }) => id),
      [second.id, third.id],
    );
  });

  it('the owner of the tables, too, neither changes nor deletes entries; only their age deletes them', async () => {
    await fixture.store.addAuditEntry(anEntry());
    const owner = new pg.Client({ connectionString: fixture.urls.owner });
    await owner.connect();
    try {
      for (const sql of ['delete from audit', `update audit set subject = 'user/8'`])
        await assert.rejects(owner.query(sql), /neither changed nor deleted/);
      await owner.query(
        `insert into audit (id, at, action, outcome)
          select gen_random_uuid(), now() - interval '25 hours', 'old', 'done' from generate_series(1, 10001)`,
      );
      await fixture.store.forgetAudit(1);
      assert.deepEqual(
        (await list()).rows.map(({ action }) => action),
        ['setUserStatus'],
      );
    } finally {
      await owner.end();
    }
  });

  it('the entries of an erased user stay, without a name', async () => {
    const { store, admin } = fixture;
    const user = await store.makeSubUser(
      {
        email: 'gone@example.org',
        firstName: 'Gone',
        lastName: '',
        status: 'active',
        parentId: admin.userId,
        permissions: [],
        restrictions: [],
      },
      { subUsers: 100, tokens: 100 },
    );
    assert.ok(typeof user === 'object');
    await store.addAuditEntry(anEntry({ actorId: user.id }));
    assert.equal((await list()).rows[0]?.email, 'gone@example.org');
    await store.eraseUser(user.id);
    const [entry] = (await list()).rows;
    assert.deepEqual([entry?.actorId, entry?.email], [user.id, null]);
    assert.ok(!JSON.stringify(await fixture.sql('select audit::text from audit')).includes('gone'));
  });
});
