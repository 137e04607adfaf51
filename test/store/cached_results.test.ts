/** Results that answer later requests: which, whose, for how long, and what becomes of them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { CloseInput, OpenInput } from '../../src/platform/store/records.ts';
import type { CacheKey } from '../../src/platform/store/cached_results.ts';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import { aCloseInput, anOpenInput, type StoreFixture, startStore } from './fixture.ts';

const FILE = 'A'.repeat(43);
const OTHER_FILE = 'B'.repeat(43);
const HOUR_S = 3_600;

describe('store: cached results', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  let root = 0;
  let sub = 0;
  let stranger = 0;
  before(async () => {
    fixture = await startStore();
    root = await user('root@example.org');
    sub = await user('sub@example.org', root);
    stranger = await user('stranger@example.org');
  });
  after(() => fixture.close());

  async function user(email: string, parent: number | null = null): Promise<number> {
    const [row] = await fixture.sql<{ id: number }>(
      `insert into users (email, status, role, parent_id) values ($1, 'active', $2, $3) returning id::integer`,
      [email, parent === null ? 'user' : 'sub', parent],
    );
    return row!.id;
  }

  async function slices(id: string, submittedAt: Date): Promise<Buffer> {
    const all: Buffer[] = [];
    for await (const slice of fixture.store.readBodySlices(id, submittedAt)) all.push(slice);
    return Buffer.concat(all);
  }

  const aKey = (change: Partial<CacheKey> = {}): CacheKey => ({
    key: randomBytes(32),
    rootUserId: root,
    maxAgeS: HOUR_S,
    ...change,
  });

  async function open({ key }: Pick<CacheKey, 'key'>, change: Partial<OpenInput> = {}): Promise<OpenInput> {
    const input = anOpenInput(fixture.store, {
      userId: root,
      tokenId: root * 10,
      request: { options: {}, cacheKey: key.toString('hex') },
      ...change,
    });
    await fixture.store.openRequest(input);
    return input;
  }

  /** A request that ran. */
  async function ran(key: CacheKey, change: Partial<CloseInput> = {}, opened: Partial<OpenInput> = {}) {
    const input = await open(key, opened);
    await fixture.store.closeRequest(aCloseInput(input, { identity: FILE, inflatedBytes: 300, ...change }));
    return input;
  }

  /** A later request for the same, which asks the cache. */
  async function asked(key: CacheKey, identity = FILE, change: Partial<OpenInput> = {}) {
    const { id, submittedAt } = await open(key, change);
    const outcome = await fixture.store.closeCached({ id, submittedAt, key, identity, ioBytes: 412 });
    return { id, submittedAt, outcome };
  }

  it('answer an equal request: its body, its state, and where it is from', async () => {
    const key = aKey();
    const body = randomBytes(300);
    const first = await ran(key, { body });
    const found = await fixture.store.cachedResult(key);
    assert.deepEqual([found?.identity, found?.requestId], [FILE, first.id]);

    const { id, submittedAt, outcome } = await asked(key);
    assert.equal(outcome, 'cached');
    const record = await fixture.store.readRequest(id);
    assert.deepEqual(
      [record?.kind, record?.state, record?.status, record?.reason, record?.hasBody, record?.inflatedBytes],
      ['file', 'success', 200, 'Completed', true, 300],
    );
    assert.deepEqual([record?.cachedFrom, record?.cacheAgeS, record?.ioBytes], [first.id, 0, 412]);
    assert.deepEqual(await fixture.store.readBody(id, submittedAt), body);
    assert.deepEqual(await slices(id, submittedAt), body);
    assert.equal((await fixture.store.readLog(id, [root]))?.kind, 'cached');
    const [end] = await fixture.store.endsFor([id]);
    assert.deepEqual([end?.cachedFrom, end?.cacheAgeS], [first.id, 0]);
  });

  it('have the verdict of the policy that both requests name', async () => {
    const key = aKey();
    const request = { options: {}, cacheKey: key.key.toString('hex'), policy: { name: 'mine', revision: 1 } };
    await ran(key, { policy: 'fail' }, { request });
    const { id } = await asked(key, FILE, { request });
    assert.equal((await fixture.store.readRequest(id))?.policyOutcome, 'fail');
  });

  it('are no second copy, and count as requests of their own kind without processing', async () => {
    const key = aKey();
    const token = 7_001;
    await ran(key, {}, { tokenId: token });
    const { id } = await asked(key, FILE, { tokenId: token });
    assert.deepEqual(await fixture.sql('select from envelopes where id = $1', [id]), []);
    assert.deepEqual(
      await fixture.sql(
        `select kind, requests, success, processing_ms::integer ms, io_bytes::integer bytes from usage_minute
          where token_id = $1 order by kind`,
        [token],
      ),
      [
        { kind: 'cached', requests: 1, success: 1, ms: 0, bytes: 412 },
        { kind: 'file', requests: 1, success: 1, ms: 41, bytes: 1_000 },
      ],
    );
    const range = {
      from: new Date(fixture.store.clock.now() - 3_600_000),
      to: new Date(fixture.store.clock.now() + 1),
    };
    const owners = { userIds: [root], tokenIds: [token] };
    const [figures] = await fixture.store.usageFigures('requests', owners, range, 'no-aggregation');
    assert.deepEqual([figures?.values['file'], figures?.values['cached'], figures?.values['success']], [1, 1, 2]);
  });

  const NEVER: [string, Partial<CloseInput>, Partial<OpenInput>?][] = [
    ['without an identity', { identity: undefined }],
    ['of an error', { state: 'error', status: 404, reason: 'OriginUnreachable', error: 'gone', body: null }],
    ['of which a tool failed', { state: 'with-errors' }],
    ['without a body', { body: null }],
    ['that did not ask for it', {}, { request: { options: {} } }],
  ];
  for (const [what, close, opened] of NEVER)
    it(`are never those ${what}`, async () => {
      const key = aKey();
      await ran(key, close, opened);
      assert.equal(await fixture.store.cachedResult(key), null);
      const { id, outcome } = await asked(key);
      assert.equal(outcome, 'none');
      assert.equal((await fixture.store.readRequest(id))?.state, 'open');
    });

  it('never answer for another file, under another key, or beyond the age', async () => {
    const key = aKey();
    await ran(key);
    assert.equal((await asked(key, OTHER_FILE)).outcome, 'none');
    assert.equal((await asked(aKey())).outcome, 'none');
    await fixture.sql(`update cached_results set read_at = read_at - interval '100 s' where key = $1`, [key.key]);
    assert.equal((await asked({ ...key, maxAgeS: 99 })).outcome, 'none');
    const { id, outcome } = await asked({ ...key, maxAgeS: 110 });
    assert.equal(outcome, 'cached');
    assert.ok([100, 101, 102].includes((await fixture.store.readRequest(id))!.cacheAgeS!));
  });

  it('never reach another account, not even one that knows the key', async () => {
    const key = aKey();
    await ran(key);
    const theirs = { ...key, rootUserId: stranger };
    assert.equal(await fixture.store.cachedResult(theirs), null);
    assert.equal((await asked(theirs, FILE, { userId: stranger })).outcome, 'none');
  });

  it('are those of the whole account', async () => {
    const key = aKey();
    await ran(key, {}, { userId: sub });
    assert.equal((await asked(key)).outcome, 'cached');
  });

  it('name the request they are from only to those who may read it', async () => {
    const key = aKey();
    const first = await ran(key, {}, { userId: sub });
    const sibling = await user('sibling@example.org', root);
    const theirs = await asked(key, FILE, { userId: sibling });
    assert.equal(theirs.outcome, 'cached');
    const record = await fixture.store.readRequest(theirs.id);
    assert.deepEqual([record?.cachedFrom, record?.cacheAgeS], [null, 0]);
    assert.notEqual(await fixture.store.readBody(theirs.id, theirs.submittedAt), null);
    for (const userId of [root, sub]) {
      const { id } = await asked(key, FILE, { userId });
      assert.equal((await fixture.store.readRequest(id))?.cachedFrom, first.id);
    }
  });

  it('are gone with the result they are from, by erasure, retention, and with its user', async () => {
    const key = aKey();
    const gone = await user('gone@example.org', root);
    for (const lose of [
      (id: string) => fixture.store.eraseRequest(id, [gone]),
      (id: string) => fixture.sql('delete from envelopes where id = $1', [id]),
      () => fixture.store.eraseUser(gone),
    ]) {
      const first = await ran(key, {}, { userId: gone });
      const before = await asked(key);
      assert.equal(before.outcome, 'cached');
      await lose(first.id);
      assert.equal(await fixture.store.cachedResult(key), null);
      assert.equal((await asked(key)).outcome, 'none');
      assert.equal(await fixture.store.readBody(before.id, before.submittedAt), null);
      await assert.rejects(slices(before.id, before.submittedAt), /is gone/);
    }
  });

  it('an erased answer shows nothing any more, and takes nothing from the result it was from', async () => {
    const key = aKey();
    const first = await ran(key);
    const { id, submittedAt } = await asked(key);
    assert.equal(await fixture.store.eraseRequest(id, [root]), 'erased');
    assert.equal(await fixture.store.readBody(id, submittedAt), null);
    assert.notEqual(await fixture.store.readBody(first.id, first.submittedAt), null);
    assert.equal((await asked(key)).outcome, 'cached');
  });

  it('an answer is no source of further answers: the age is that of the run', async () => {
    const key = aKey();
    const first = await ran(key);
    await asked(key);
    assert.equal((await fixture.store.cachedResult(key))?.requestId, first.id);
  });

  it('are replaced by a newer run, and not by an older one that ends later', async () => {
    const key = aKey();
    const time = Math.floor(fixture.store.clock.now());
    const at = (ageMs: number) => {
      const submittedAt = new Date(time - ageMs);
      return { id: uuidv7(time - ageMs), submittedAt };
    };
    const newer = await ran(key, {}, at(1_000));
    await ran(key, { identity: OTHER_FILE }, at(30_000));
    assert.equal((await fixture.store.cachedResult(key))?.requestId, newer.id);
    const newest = await ran(key, { identity: OTHER_FILE });
    assert.equal((await fixture.store.cachedResult(key))?.requestId, newest.id);
  });

  it('an answer comes once, and never to a request that has ended', async () => {
    const key = aKey();
    await ran(key);
    const { id, submittedAt, outcome } = await asked(key);
    assert.equal(outcome, 'cached');
    const again = { id, submittedAt, key, identity: FILE, ioBytes: 1 };
    assert.equal(await fixture.store.closeCached(again), 'ended');
    const cancelled = await open(key);
    await fixture.store.closeRequest(
      aCloseInput(cancelled, { state: 'error', status: 499, reason: 'Cancelled', error: 'cancelled', body: null }),
    );
    assert.equal(await fixture.store.closeCached({ ...again, ...cancelled }), 'ended');
    assert.equal((await fixture.store.readRequest(cancelled.id))?.reason, 'Cancelled');
  });

  it('of twenty races of an answer and a cancellation each request has one end', async () => {
    const key = aKey();
    await ran(key);
    for (let race = 0; race < 20; race++) {
      const { id, submittedAt } = await open(key, { tokenId: 7_002 });
      const end = { state: 'error', status: 499, reason: 'Cancelled', error: 'cancelled', body: null } as const;
      const [outcome, { closed }] = await Promise.all([
        fixture.store.closeCached({ id, submittedAt, key, identity: FILE, ioBytes: 0 }),
        fixture.store.closeRequest(aCloseInput({ id, submittedAt }, end)),
      ]);
      assert.equal(outcome === 'cached', !closed);
    }
    const [counted] = await fixture.sql<{ n: number }>(
      'select sum(requests)::integer n from usage_minute where token_id = 7002',
    );
    assert.equal(counted?.n, 20);
  });

  it('fill the outbox of a webhook like any other end', async () => {
    const key = aKey();
    await ran(key);
    const { id } = await asked(key, FILE, { webhookUrl: 'https://hooks.example.org/x' });
    assert.equal((await fixture.sql('select from webhook_outbox where request_id = $1', [id])).length, 1);
  });

  it('are forgotten once they are too old for every request', async () => {
    const [young, old] = [aKey(), aKey()];
    await ran(young);
    await ran(old);
    await fixture.sql(`update cached_results set read_at = now() - interval '30 days 1 s' where key = $1`, [old.key]);
    await fixture.store.forgetCached();
    const left = await fixture.sql<{ key: Buffer }>('select key from cached_results where key = any($1)', [
      [young.key, old.key],
    ]);
    assert.deepEqual(left, [{ key: young.key }]);
  });
});
