/** A Postgres whose disk is full: writes fail with SQLSTATE 53100, and succeed again once there is room. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { asStoreError, isStoreError } from '../../src/platform/store/errors.ts';
import { anOpenInput, startStore, type StoreFixture } from './fixture.ts';

const HELD_MS = 5_000;

describe('store: the disk of Postgres is full', function () {
  this.timeout(60_000);
  let f: StoreFixture;
  before(async () => {
    f = await startStore({ heldMs: HELD_MS });
    await f.sql(
      `create function no_room() returns trigger language plpgsql as $$
       begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`,
    );
  });
  after(() => f?.close());
  afterEach(() => roomy());

  const full = () => f.sql('create trigger no_room before insert on requests for each row execute function no_room()');
  const roomy = () => f.sql('drop trigger if exists no_room on requests');
  const open = () => f.store.openRequest(anOpenInput(f.store, { tokenId: f.admin.tokenId, userId: f.admin.userId }));

  it('a new request is held, and fails as one that may be retried', async () => {
    await full();
    const began = performance.now();
    await assert.rejects(open(), (error) => isStoreError(error, 'unreachable'));
    assert.ok(performance.now() - began < HELD_MS + 1_000, 'no longer than a caller is held');
  });

  it('a held request is opened once there is room', async () => {
    await full();
    const opening = open();
    opening.catch(() => {});
    await delay(HELD_MS / 10);
    await roomy();
    assert.equal((await opening).outcome, 'opened');
  });

  it('a query that fails for another reason is not retried', async () => {
    await f.sql(
      `create or replace function no_room() returns trigger language plpgsql as $$
       begin raise exception 'broken' using errcode = 'internal_error'; end $$`,
    );
    await full();
    await assert.rejects(open(), (error) => isStoreError(error, 'query-failed'));
  });

  for (const [code, expected] of [
    ['53000', 'unreachable'],
    ['53100', 'unreachable'],
    ['53200', 'unreachable'],
    // A limit that the server was given: more room would not help.
    ['53400', 'query-failed'],
    ['58030', 'query-failed'],
  ] as const)
    it(`SQLSTATE ${code} is ${expected}`, () => {
      const error = asStoreError(Object.assign(new Error('no room'), { code }), 'query');
      assert.equal(error.code, expected);
      if (expected === 'unreachable') assert.match(error.message, /^query: Postgres is out of resources/);
    });
});
