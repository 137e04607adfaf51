/** The drill: a record is dumped, wiped and restored on a real Postgres, and must be equal. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { makeBox } from '../../src/service/accounts/box.ts';
import { makeApiToken } from '../../src/service/accounts/make_token.ts';
import { newKeyPair, readOpener } from '../../src/service/backup/age.ts';
import { of } from '../../src/service/backup/bytes.ts';
import { membersOf, type Source } from '../../src/service/backup/content.ts';
import { folder } from '../../src/service/backup/destination.ts';
import { ERASURES, writeErasures } from '../../src/service/backup/erasures.ts';
import { isBackupError } from '../../src/service/backup/errors.ts';
import { boxBytes, type Keys } from '../../src/service/backup/keys.ts';
import { makeBackup, prune } from '../../src/service/backup/main.ts';
import { restoreBackup } from '../../src/service/backup/restore.ts';
import { NAMES, type Statistic } from '../../src/platform/statistics/resources.ts';
import { openDump } from '../../src/platform/store/dump.ts';
import { restoredFrom } from '../../src/platform/store/load.ts';
import { migrate } from '../../src/platform/store/migrate.ts';
import { openStore } from '../../src/platform/store/store.ts';
import { tokenSha256 } from '../../src/platform/store/token_text.ts';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import { aBatch, someItems } from '../store/batch_fixture.ts';
import { aCloseInput, anOpenInput, type StoreFixture, startStore } from '../store/fixture.ts';
import { allOf, newKeys, packed, scratch } from './fixture.ts';

const DAY = 86_400_000;
const ROLES = { api: 'py_api', controller: 'py_controller' };

const pair = await newKeyPair();
/** Created forty days before. */
const BATCH = uuidv7(Date.now() - 40 * DAY);

describe('backup: the drill', function () {
  this.timeout(240_000);
  const opener = readOpener(pair.identity);
  const place = scratch();
  const destination = folder(place.path);
  let fixture: StoreFixture;
  let keys: Keys;
  let users: number[];
  let token: { id: number; token: string };
  let name: string;
  let databases = 0;

  const boxKeysOf = (from: Keys) => ({ boxKeys: () => JSON.parse(from.box!['box.jwks']!) as never });

  before(async () => {
    fixture = await startStore({ alone: true });
    keys = await newKeys();
    users = (
      await fixture.sql<{ id: string }>(
        `insert into users (email, role, status, first_name) values
          ('tabs	and\\backslashes@example.org', 'user', 'active', E'line\nbreak \\N ünïcode'),
          ('b@example.org', 'user', 'active', ''), ('gone@example.org', 'user', 'active', '') returning id`,
      )
    ).map(({ id }) => Number(id));
    // A child that is older than its parent: a row refers to one that follows it.
    await fixture.sql(`update users set parent_id = $1, role = 'sub' where id = $2`, [users[1], users[0]]);
    const parts = {
      store: fixture.store,
      box: makeBox(boxKeysOf(keys)),
      settings: { ...boxKeysOf(keys), tokensViewable: true, mostTokens: 100 },
    };
    for (const userId of users) {
      const made = await makeApiToken(parts, { userId, name: `token of ${userId}` });
      assert.ok(typeof made === 'object');
      if (userId === users[1]) token = made;
    }
    const now = Date.now();
    for (const [index, daysAgo] of [0, 0, 1, 2, 40, 100, 200].entries()) {
      const time = now - daysAgo * DAY - 600_000 - index;
      const open = anOpenInput(fixture.store, {
        id: uuidv7(time),
        submittedAt: new Date(time),
        userId: users[index % 3]!,
        tokenId: index,
        webhookUrl: index === 1 ? 'https://example.org/hook' : null,
      });
      await fixture.store.openRequest(open);
      await fixture.store.closeRequest(aCloseInput(open, { body: randomBytes(index === 0 ? 1_500_000 : 300) }));
    }
    await fixture.store.openRequest(anOpenInput(fixture.store, { userId: users[1]! }));
    await fixture.store.createBatch(aBatch(fixture.store, { id: BATCH, userId: users[1]! }), someItems(3), {
      most: { rootUserId: users[1]!, batches: 1, items: 3 },
      idempotency: null,
    });
    await fixture.store.foldUsage({ restSeconds: 0 });
    await fixture.store.addSigningKey({
      kid: 'k',
      public: { kty: 'OKP' },
      sealed: await parts.box.seal('private half', 'signing-key', 'k'),
      signsMs: DAY,
      verifiesMs: 2 * DAY,
    });
    ({ name } = await makeBackup({
      database: { url: fixture.urls.owner },
      recipients: [pair.recipient],
      keys,
      destination,
    }));
  });
  after(async () => {
    await fixture.close();
    place.remove();
  });

  async function emptyDatabase(): Promise<{ url: string; api: string; sql: StoreFixture['sql'] }> {
    const database = `restored_${++databases}`;
    const made = new pg.Client({ connectionString: fixture.server.url });
    await made.connect();
    try {
      await made.query('set role none');
      await made.query(`create database ${database} owner py_owner`);
    } finally {
      await made.end();
    }
    const at = (url: string) => url.replace(/\/postgres$/, `/${database}`);
    return {
      url: at(fixture.urls.owner),
      api: at(fixture.urls.api),
      async sql<T>(text: string, values: unknown[] = []) {
        const client = new pg.Client({ connectionString: at(fixture.urls.owner) });
        await client.connect();
        try {
          return (await client.query(text, values)).rows as T[];
        } finally {
          await client.end();
        }
      },
    };
  }

  const restored = async (change: { name?: string; installed?: Keys; url?: string } = {}) => {
    const target = change.url === undefined ? await emptyDatabase() : undefined;
    const database = { url: change.url ?? target!.url };
    const report = await restoreBackup({
      database,
      destination,
      name: change.name ?? name,
      opener,
      installed: change.installed ?? keys,
    });
    return { report, target: target!, database };
  };

  /** The content of every table, without what the restore itself notes. */
  async function contentsOf(sql: StoreFixture['sql']): Promise<Record<string, string>> {
    const tables = await sql<{ name: string }>(
      `select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and not relispartition and relpersistence = 'p' order by 1`,
    );
    const contents: Record<string, string> = {};
    for (const { name: table } of tables) {
      const [row] = await sql<{ n: number; hash: string }>(
        `select count(*)::integer as n, md5(string_agg(t::text, '|' order by t::text)) as hash from "${table}" t
          ${table === 'settings' ? `where key <> 'restore.done'` : ''}`,
      );
      contents[table] = `${row!.n} rows, ${row!.hash}`;
    }
    delete contents['schema_migrations'];
    return contents;
  }

  it('restores every table as it was', async () => {
    const { target, report } = await restored();
    const expected = await contentsOf(fixture.sql);
    assert.deepEqual(await contentsOf(target.sql), expected);
    assert.ok(Object.keys(expected).length >= 20, Object.keys(expected).join());
    assert.match(expected['requests']!, /^8 rows/);
    assert.equal(report.erased, undefined);
    assert.equal(await restoredFrom({ url: target.url }), name);
  });

  it('serves accounts, tokens, log and statistics after a restore', async () => {
    const { target } = await restored();
    await migrate({ url: target.url, roles: ROLES });
    const store = await openStore({ url: target.api });
    try {
      const found = await target.sql<{ id: string; sealed: Buffer }>(
        'select id, sealed from tokens where sha256 = $1',
        [tokenSha256(token.token)],
      );
      assert.equal(Number(found[0]?.id), token.id);
      assert.equal(await makeBox(boxKeysOf(keys)).open(found[0]!.sealed, 'token', token.id), token.token);
      const [signing] = await store.signingKeys();
      assert.equal(await makeBox(boxKeysOf(keys)).open(signing!.sealed, 'signing-key', 'k'), 'private half');
      const owners = { userIds: 'everyone', tokenIds: null } as const;
      const period = { from: new Date(Date.now() - 365 * DAY), to: new Date() };
      for (const statistic of Object.keys(NAMES) as Statistic[]) {
        const figures = await fixture.store.usageFigures(statistic, owners, period, 'monthly');
        assert.ok(figures.length > 0);
        assert.deepEqual(await store.usageFigures(statistic, owners, period, 'monthly'), figures);
      }
      const { items } = await store.claimItems({ batch: BATCH, full: [], after: null, limit: 9 });
      assert.deepEqual(
        items.map(({ n, sealed }) => [n, sealed.toString()]),
        [0, 1, 2].map((n) => [n, `sealed ${n}`]),
      );
      // A number is never given twice.
      const [next] = await target.sql<{ id: string }>(
        `insert into users (email) values ('new@example.org') returning id`,
      );
      assert.ok(Number(next!.id) > Math.max(...users));
    } finally {
      await store.close();
    }
  });

  it('keeps months and days in parts of their own, so that retention can drop them', async () => {
    for (const [part, from, to] of [
      ['requests_202511', '2025-11-01', '2025-12-01'],
      ['requests_202512', '2025-12-01', '2026-01-01'],
      ['batch_items_202512', '2025-12-01', '2026-01-01'],
      ['envelopes_20251230', '2025-12-30', '2025-12-31'],
      ['envelopes_20251231', '2025-12-31', '2026-01-01'],
    ])
      await fixture.sql(
        `create table ${part} partition of ${part!.replace(/_\d+$/, '')} for values from ('${from}Z') to ('${to}Z')`,
      );
    const made = await makeBackup({
      database: { url: fixture.urls.owner },
      recipients: [pair.recipient],
      keys,
      destination: folder(place.path),
    });
    const { target } = await restored({ name: made.name });
    const parts = (sql: StoreFixture['sql']) =>
      sql(
        `select part::text, nullif(starts, min(starts) over (partition by t)) starts, ends from
          (values ('requests'), ('envelopes'), ('rollup_minute'), ('batch_items')) t (t), time_parts(t::regclass)
          order by t, ends`,
      );
    const expected = await parts(fixture.sql);
    assert.ok(expected.length > 20);
    assert.deepEqual(await parts(target.sql), expected, 'the first of each takes what is older');
  });

  it('erases again what was erased or revoked after the backup', async () => {
    const place2 = scratch();
    try {
      const elsewhere = folder(place2.path);
      const database = { url: fixture.urls.owner };
      await fixture.sql(
        `insert into report_links (id, sha256, request_id, user_id, created_at, expires_at)
          values (gen_random_uuid(), sha256('secret'), gen_random_uuid(), $1, now(), now() + interval '1 day')`,
        [users[1]],
      );
      await fixture.sql(
        `insert into waivers (id, account_id, user_id, policy, rule, reason, created_at, until)
          select gen_random_uuid(), u, u, 'house', 'wrapper', 'Archive', now(), now() + interval '1 day'
          from unnest($1::bigint[]) u`,
        [users.slice(1)],
      );
      const made = await makeBackup({ database, recipients: [pair.recipient], keys, destination: elsewhere });
      const [request] = await fixture.sql<{ id: string }>(
        `select id from requests where user_id = $1 and state <> 'open' order by submitted_at desc limit 1`,
        [users[1]],
      );
      await fixture.sql('select erase_user($1)', [users[2]]);
      await fixture.sql('select erase_request($1, null, null)', [request!.id]);
      await fixture.sql('update tokens set revoked_at = now() where id = $1', [token.id]);
      await writeErasures({ database, destination: elsewhere, boxKey: boxBytes(keys)[0]! });
      const target = await emptyDatabase();
      const options = {
        database: { url: target.url },
        destination: elsewhere,
        name: made.name,
        opener,
        installed: keys,
      };
      const report = await restoreBackup(options);
      assert.deepEqual(report.erased, { user: 1, request: 1, token: 1 });
      assert.deepEqual(await target.sql('select 1 from users where id = $1', [users[2]]), []);
      assert.deepEqual(await target.sql('select user_id::integer from erasures'), [{ user_id: users[2] }]);
      const [erased] = await target.sql('select display, erased_at is not null as gone from requests where id = $1', [
        request!.id,
      ]);
      assert.deepEqual(erased, { display: '', gone: true });
      assert.deepEqual(await target.sql('select 1 from tokens where id = $1 and revoked_at is null', [token.id]), []);
      assert.deepEqual(await target.sql('select 1 from report_links'), []);
      const waivers = await target.sql('select account_id::integer from waivers');
      assert.deepEqual(waivers, [{ account_id: users[1] }]);
      const [next] = await target.sql<{ id: string }>(
        `insert into users (email) values ('n@example.org') returning id`,
      );
      assert.ok(Number(next!.id) > Math.max(...users));

      const list = readFileSync(join(place2.path, ERASURES), 'utf8');
      for (const [what, changed] of [
        ['another user', list.replace('"user"', '"user","1"],["user"')],
        ['a missing line', list.split('\n').toSpliced(1, 1).join('\n')],
        ['an early end', list.slice(0, -20)],
        ['no JSON', `x${list}`],
      ] as const) {
        writeFileSync(join(place2.path, ERASURES), changed);
        const other = await emptyDatabase();
        await assert.rejects(
          restoreBackup({ ...options, database: { url: other.url } }),
          /list of erasures .* damaged/,
          what,
        );
        assert.deepEqual(await other.sql('select id from users'), [], what);
      }
    } finally {
      place2.remove();
    }
  });

  const dumpOf = async (change: (source: Source) => Source): Promise<string> => {
    await using dump = await openDump({ url: fixture.urls.owner });
    const file = await allOf(packed(membersOf(change(dump), keys), pair.recipient));
    await destination.write('changed.age', of(file));
    return 'changed.age';
  };

  const REFUSALS: [string, () => Promise<unknown>, RegExp][] = [
    [
      'a backup of a newer schema',
      async () =>
        restored({
          name: await dumpOf((source) => ({
            ...source,
            content: {
              ...source.content,
              migrations: [...source.content.migrations, { version: 9999, name: '9999_later.sql', sha256: '' }],
            },
          })),
        }),
      /made by a newer version: its schema has 9999_later\.sql/,
    ],
    [
      'a backup whose schema was made by another file',
      async () =>
        restored({
          name: await dumpOf((source) => ({
            ...source,
            content: {
              ...source.content,
              migrations: source.content.migrations.map((one) => ({ ...one, sha256: 'x' })),
            },
          })),
        }),
      /0001_accounts\.sql differs/,
    ],
    [
      'a backup with an unknown table',
      async () =>
        restored({
          name: await dumpOf((source) => ({
            ...source,
            content: { ...source.content, tables: [...source.content.tables, { name: 'pg_authid', columns: ['x'] }] },
            rows: (table) => (table.name === 'pg_authid' ? of('x\n') : source.rows(table)),
          })),
        }),
      /table pg_authid has another form/,
    ],
    [
      'a month that is no month',
      async () =>
        restored({
          name: await dumpOf((source) => ({
            ...source,
            content: { ...source.content, months: [{ table: 'requests', month: `202513'); drop table users` }] },
          })),
        }),
      /is no month/,
    ],
    [
      'rows that the table refuses, of which the error shows none',
      async () =>
        restored({
          name: await dumpOf((source) => ({
            ...source,
            rows: (table) => (table.name === 'tokens' ? of('private\n') : source.rows(table)),
          })),
        }),
      /^(?!.*private).*restore of the table tokens/s,
    ],
    [
      'a database that has accounts',
      () => restored({ url: fixture.urls.owner }),
      /empty database only.*users has rows/,
    ],
    [
      'an installation without the box of the backup',
      async () => restored({ installed: { ...keys, box: (await newKeys()).box! } }),
      /the Secret of the box lacks the key \w+ of the backup/,
    ],
    ['an installation without any box', () => restored({ installed: { admin: keys.admin! } }), /no box\.jwks/],
    ['a name that does not exist', () => restored({ name: 'probeyard-20200101T000000Z.age' }), /cannot read .*ENOENT/],
    ['a name that leads elsewhere', () => restored({ name: '../../etc/passwd' }), /the name of a backup/],
  ];
  for (const [what, attempt, text] of REFUSALS)
    it(`refuses ${what}`, async () => {
      await assert.rejects(attempt(), (error: Error) => {
        assert.match(error.message, text);
        return true;
      });
    });

  it('refuses a backup without keys', async () => {
    await using dump = await openDump({ url: fixture.urls.owner });
    const { box: _, ...others } = keys;
    await destination.write('keyless.age', packed(membersOf(dump, others), pair.recipient));
    await assert.rejects(restored({ name: 'keyless.age' }), /keys of the backup lack the key box\.jwks of box/);
    await assert.rejects(
      makeBackup({ database: { url: fixture.urls.owner }, recipients: [pair.recipient], keys: others, destination }),
      (error) => isBackupError(error, 'keys-missing'),
    );
  });

  it('leaves nothing of a backup that is damaged in its middle, and the database can be restored', async () => {
    const target = await emptyDatabase();
    const file = readFileSync(join(place.path, name));
    const middle = Math.floor(file.length / 2);
    file[middle] = file[middle]! ^ 1;
    await destination.write('damaged.age', of(file));
    await assert.rejects(restored({ name: 'damaged.age', url: target.url }), (error) =>
      isBackupError(error, 'damaged'),
    );
    assert.deepEqual(await target.sql('select id from users'), []);
    assert.equal(await restoredFrom({ url: target.url }), undefined);
    await restored({ url: target.url });
    assert.equal((await target.sql('select id from users')).length, 4);
  });

  it('keeps the newest backups, and nothing but backups is removed', async () => {
    const other = scratch();
    try {
      const kept = folder(other.path);
      for (const file of ['a', 'probeyard-20260101T000000Z.age', 'probeyard-20260102T000000Z.age', 'z'])
        await kept.write(file, of('x'));
      assert.deepEqual(await prune(kept, 0), { removed: [], oldest: new Date('2026-01-01T00:00:00Z') });
      assert.deepEqual(await prune(kept, 1), {
        removed: ['probeyard-20260101T000000Z.age'],
        oldest: new Date('2026-01-02T00:00:00Z'),
      });
      assert.deepEqual(await kept.list(), ['a', 'probeyard-20260102T000000Z.age', 'z']);
    } finally {
      other.remove();
    }
  });
});
