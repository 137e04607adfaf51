/** Sources in the record: what news of an object makes of its row, and that a version is taken once. */
import assert from 'node:assert/strict';
import pg from 'pg';
import type { NewSource, SeenObject } from '../../src/platform/store/sources.ts';
import type { Store } from '../../src/platform/store/store.ts';
import { aBatch, someItems } from './batch_fixture.ts';
import { sha256, type StoreFixture, startStore } from './fixture.ts';

const MINUTE = 60_000;

describe('store: sources', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  let store: Store;
  before(async () => {
    fixture = await startStore();
    ({ store } = fixture);
  });
  after(() => fixture.close());

  const aSource = (change: Partial<NewSource>): NewSource => ({
    id: store.newRequest().id,
    tokenId: 1,
    userId: fixture.admin.userId,
    name: null,
    url: 's3://films/',
    filter: {},
    body: Buffer.from('body'),
    keySha256: sha256('key'),
    every: 3_600,
    settle: 60,
    bundle: 60,
    existing: true,
    ...change,
  });
  const create = async (change: Partial<NewSource> = {}, sources = 1_000): Promise<string> => {
    const source = aSource(change);
    const made = await store.createSource(source, { rootUserId: fixture.admin.userId, sources });
    assert.equal(made.outcome, 'created');
    return source.id;
  };
  const now = (): number => Math.floor(store.clock.now());
  /** `at`: minutes from now. */
  const seen = (version: string, at: number, modified: number | null = null, name = 'a.mp4'): SeenObject => ({
    name,
    hash: sha256(name).subarray(0, 16),
    version: sha256(version).subarray(0, 16),
    at: new Date(now() + at * MINUTE),
    modified: modified === null ? null : new Date(now() + modified * MINUTE),
  });
  const note = (source: string, ...objects: SeenObject[]) => store.noteObjects({ source, objects });
  const due = async (source: string) => store.dueObjects(source, 100);
  const take = async (source: string, objects?: Awaited<ReturnType<typeof due>>) => {
    const taken = objects ?? (await due(source));
    const created = await store.createBatch(
      aBatch(store, { userId: fixture.admin.userId, sourceId: source }),
      someItems(taken.length),
      {
        most: { rootUserId: fixture.admin.userId, batches: 1, items: 1_000_000 },
        idempotency: null,
        objects: taken,
      },
    );
    return created.outcome;
  };
  /** Returns the number of pieces. */
  const forget = async (source: string, unseenSince: Date | null): Promise<number> => {
    let after: Buffer | null = Buffer.alloc(0);
    for (let pieces = 1; ; pieces++)
      if ((after = await store.forgetObjects(source, { unseenSince, after })) === null) return pieces;
  };
  const names = async (source: string) => (await due(source)).map(({ name }) => name);

  for (const [what, news, change, expected] of [
    ['an object that is old enough is due', [['1', 0, -5]], {}, true],
    ['one that was just modified is not due yet', [['1', 0, 0]], {}, false],
    ['one whose time is not known is due after it was seen for so long', [['1', -2]], {}, true],
    ['and not before', [['1', 0]], {}, false],
    ['without settling it is due at once', [['1', 0]], { settle: 0 }, true],
    [
      'a newer version begins to settle anew',
      [
        ['1', -5],
        ['2', 0],
      ],
      {},
      false,
    ],
    [
      'the same version again does not',
      [
        ['1', -5],
        ['1', 0],
      ],
      {},
      true,
    ],
    [
      'an older version is ignored',
      [
        ['1', -5],
        ['2', -9],
      ],
      {},
      true,
    ],
    ['what was there before the source is not due', [['1', 0, -5]], { existing: false }, false],
    [
      'a later version of it is',
      [
        ['1', -9, -9],
        ['2', -5, null],
      ],
      { existing: false },
      true,
    ],
  ] as [string, Parameters<typeof seen>[], Partial<NewSource>, boolean][])
    it(`news: ${what}`, async () => {
      const source = await create(change);
      for (const one of news) await note(source, seen(...one));
      assert.equal((await names(source)).length === 1, expected);
    });

  it('a version is taken once, with its batch', async () => {
    const source = await create();
    await note(source, seen('1', -5), seen('1', -5, null, 'b.mp4'));
    assert.deepEqual((await names(source)).toSorted(), ['a.mp4', 'b.mp4']);
    const objects = await due(source);
    assert.deepEqual((await Promise.all([take(source, objects), take(source, objects)])).toSorted(), [
      'created',
      'not-claimed',
    ]);
    assert.deepEqual(await names(source), []);
    await note(source, seen('1', -2));
    assert.deepEqual(await names(source), []);
    await note(source, seen('2', -1.5));
    assert.deepEqual(await names(source), ['a.mp4']);
    // It has become again what was taken.
    await note(source, seen('1', -1.2));
    assert.deepEqual(await names(source), []);
    const kept = await fixture.sql('select distinct name from source_objects where source_id = $1', [source]);
    assert.deepEqual(kept, [{ name: '' }], 'a name is kept while its object is due');
  });

  it('nothing is taken of a version that has changed, of a paused source, and of none', async () => {
    const source = await create();
    await note(source, seen('1', -5), seen('1', -5, null, 'b.mp4'));
    const objects = await due(source);
    await note(source, seen('2', -3));
    assert.equal(await take(source, objects), 'not-claimed');
    assert.equal((await names(source)).length, 2);
    await store.moveSource({ id: source, from: ['running'], to: 'paused' });
    assert.equal(await take(source), 'not-claimed');
    assert.equal(await take(store.newRequest().id, []), 'not-claimed');
    assert.deepEqual(await note(store.newRequest().id, seen('1', 0)), { known: false, noted: 0, leftOut: 0 });
  });

  it('no more objects are noted than a source may have, and known ones still are', async () => {
    const source = await create();
    assert.deepEqual(await note(source, seen('1', -5)), { known: true, noted: 1, leftOut: 0 });
    await fixture.sql('update sources set objects = 1000000 where id = $1', [source]);
    assert.deepEqual(await note(source, seen('2', -4), seen('1', -4, null, 'b.mp4')), {
      known: true,
      noted: 1,
      leftOut: 1,
    });
  });

  const ofEvents = (source: string, ...objects: SeenObject[]) => store.noteObjects({ source, objects, ignored: 0 });

  it('events are the first to name so many objects a day, and listings any number', async () => {
    const source = await create();
    await ofEvents(source, seen('1', -5));
    await fixture.sql('update sources set event_objects = 100000 where id = $1', [source]);
    const b = seen('1', -4, null, 'b.mp4');
    assert.deepEqual(await ofEvents(source, seen('2', -4), b), { known: true, noted: 1, leftOut: 1 });
    assert.equal((await store.readSource(source))?.eventsIgnored, 1);
    assert.equal((await note(source, seen('1', -4, null, 'c.mp4'))).noted, 1);
    await fixture.sql('update sources set event_day = event_day - 1 where id = $1', [source]);
    assert.equal((await ofEvents(source, b)).noted, 1);
    const [{ event_objects: today }] = (await fixture.sql('select event_objects from sources where id = $1', [
      source,
    ])) as [{ event_objects: number }];
    assert.equal(today, 1);
  });

  it('an object that only events have named leaves when a run has missed it, and no other does', async () => {
    const source = await create();
    const file = (name: string) => seen('1', -5, null, name);
    await ofEvents(source, ...['gone', 'listed', 'there', 'again', 'newer'].map(file));
    await note(source, seen('1', -4, null, 'listed'));
    const objects = await due(source);
    const batch = aBatch(store, { userId: fixture.admin.userId, sourceId: source });
    const items = someItems(objects.length).map((item, n) => ({ ...item, ref: objects[n]!.name }));
    const most = { rootUserId: fixture.admin.userId, batches: 1, items: 1_000_000 };
    await store.createBatch(batch, items, { most, idempotency: null, objects });
    await ofEvents(source, seen('2', -3, null, 'newer'));
    await fixture.sql(`update batch_items set state = 'error' where batch_id = $1 and ref <> 'there'`, [batch.id]);
    await store.missObjects(items.map(({ n }) => ({ batch: batch.id, n })));
    await ofEvents(source, seen('2', -2, null, 'again'));
    const ofSource = async () => {
      const rows = await fixture.sql<{ hash: Buffer }>('select hash from source_objects where source_id = $1', [
        source,
      ]);
      return objects.filter(({ hash }) => rows.some((row) => row.hash.equals(hash))).map(({ name }) => name);
    };
    assert.equal(await store.forgetMissing(), false, 'not before its time');
    await fixture.sql(`update source_objects set leaves_at = now() where leaves_at < 'infinity'`);
    assert.equal(await store.forgetMissing(), true);
    assert.deepEqual((await ofSource()).toSorted(), ['again', 'listed', 'newer', 'there']);
    assert.equal((await store.readSource(source))?.objects, 4);
    assert.equal(await store.forgetMissing(), false);
  });

  it('the driver waits for no source that is locked', async () => {
    const [source, other] = [await create(), await create()];
    await ofEvents(source, seen('1', -5));
    const batch = aBatch(store, { userId: fixture.admin.userId, sourceId: source });
    const most = { rootUserId: fixture.admin.userId, batches: 1, items: 1_000_000 };
    const [item] = someItems(1);
    await store.createBatch(batch, [{ ...item!, ref: 'a.mp4' }], {
      most,
      idempotency: null,
      objects: await due(source),
    });
    await fixture.sql(`update batch_items set state = 'error' where batch_id = $1`, [batch.id]);
    await ofEvents(other, seen('1', -5));
    await fixture.sql('update source_objects set leaves_at = now() where source_id = $1', [other]);
    const client = new pg.Client({ connectionString: fixture.server.url });
    await client.connect();
    try {
      await client.query('begin');
      await client.query('select from sources where id = any($1) for update', [[source, other]]);
      await store.missObjects([{ batch: batch.id, n: 0 }]);
      assert.equal(await store.forgetMissing(), false);
    } finally {
      await client.query('rollback');
      await client.end();
    }
    assert.equal(await store.forgetMissing(), true);
    const leaving = 'select from source_objects where source_id = $1 and leaves_at < $2';
    assert.equal((await fixture.sql(leaving, [source, 'infinity'])).length, 1);
  });

  it('the driver reads what it decides by, and no bodies', async () => {
    const source = await create();
    const driven = (await store.drivenSources()).find(({ id }) => id === source)!;
    const rootUserId = fixture.admin.userId;
    assert.deepEqual(driven, {
      id: source,
      tokenId: 1,
      state: 'running',
      rootUserId,
      listDue: true,
      bundleDue: false,
      open: [],
    });
    await note(source, seen('1', -5));
    assert.equal((await store.drivenSources()).find(({ id }) => id === source)?.bundleDue, true);
  });

  it('objects that were not seen are forgotten, and counted', async () => {
    const source = await create();
    await note(source, seen('1', -90), seen('1', -5, null, 'b.mp4'), seen('1', -4, null, 'c.mp4'));
    assert.equal((await store.readSource(source))?.objects, 3);
    assert.equal(await forget(source, new Date(now() - 60 * MINUTE)), 1);
    assert.equal((await store.readSource(source))?.objects, 2);
    await store.moveSource({ id: source, from: ['running'], to: 'deleting' });
    assert.equal(await store.dropSource(source), false);
    assert.equal(await forget(source, null), 1);
    assert.equal(await store.dropSource(source), true);
  });

  it('objects are forgotten in pieces, also where none of a piece is old', async () => {
    const source = await create();
    await fixture.sql(
      `insert into source_objects
        select $1, sha256(n::text::bytea), n, 'x', now() - make_interval(days => (n > 12000)::integer)
          from generate_series(1, 12100) n`,
      [source],
    );
    await fixture.sql('update sources set objects = 12100 where id = $1', [source]);
    assert.equal(await forget(source, new Date(now() - 60 * MINUTE)), 3);
    assert.equal((await store.readSource(source))?.objects, 12_000);
    assert.equal(await forget(source, null), 3);
    assert.equal((await store.readSource(source))?.objects, 0);
  });

  it('an account has no more sources than it may, and a repeated creation is the same source', async () => {
    await fixture.sql('delete from sources');
    const id = await create({}, 1);
    await create({ id }, 1);
    await assert.rejects(create({}, 1), /too-many-sources/);
  });

  it('a change by its object keeps what is known, and lets it run', async () => {
    const id = await create();
    const object = { kind: 'ProbeSource' as const, uid: id, namespace: 'media', name: 'films' };
    assert.equal(await store.idOfObject(object, id), id);
    assert.equal(await store.idOfObject(object, store.newRequest().id), id);
    await note(id, seen('1', -5));
    await take(id);
    await store.moveSource({ id, from: ['running'], to: 'stopped', reason: 'InvalidRequest' });
    const of = { uid: id, requestSha256: sha256('request') };
    const source = aSource({ id, name: 'new', every: null });
    assert.equal(await store.changeSource(source, of), true);
    const found = (await store.sourcesOfObjects([id])).get(id)!;
    assert.deepEqual([found.account, found.batches, found.requestSha256], [1, ['running'], sha256('request')]);
    const { state, reason, name, every, objects } = found.source!;
    assert.deepEqual([state, reason, name, every, objects], ['running', null, 'new', null, 1]);
    assert.deepEqual(await due(id), []);
  });

  it('a change by its object is refused on a deleted source, and on behalf of another account', async () => {
    const id = await create();
    await store.idOfObject({ kind: 'ProbeSource', uid: id, namespace: 'media', name: 'other' }, id);
    const of = { uid: id, requestSha256: sha256('request') };
    await fixture.sql(`insert into users (id, email, status, role) overriding system value
      values (77, 'other@source.test', 'active', 'user') on conflict do nothing`);
    assert.equal(await store.changeSource(aSource({ id, userId: 77 }), of), false);
    await store.moveSource({ id, from: ['running'], to: 'deleting' });
    assert.equal(await store.changeSource(aSource({ id }), of), false);
    assert.equal((await store.sourcesOfObjects([id])).get(id)?.requestSha256, null);
    await store.forgetObject({ uid: id, id: store.newRequest().id });
    assert.equal((await store.sourcesOfObjects([id])).size, 1);
    await store.forgetObject({ uid: id, id });
    assert.equal((await store.sourcesOfObjects([id])).size, 0);
  });
});
