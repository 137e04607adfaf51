/** Seconds of media that content checks decoded: in the record, in the usage and as a quota. */
import assert from 'node:assert/strict';
import type { OpenInput, Quota } from '../../src/platform/store/records.ts';
import { aCloseInput, anOpenInput, type StoreFixture, startStore } from './fixture.ts';

const CHECKED = { tools: [{ name: 'qc', version: '7.1' }] } satisfies Partial<OpenInput>;

describe('store: decoded seconds', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  let userId: number;
  let tokenId = 500;
  before(async () => {
    fixture = await startStore();
  });
  after(() => fixture.close());
  beforeEach(async () => {
    tokenId++;
    const [user] = await fixture.sql<{ id: number }>(
      `insert into users (email, status, role) values ($1, 'active', 'user') returning id::integer`,
      [`${tokenId}@example.org`],
    );
    userId = user!.id;
  });

  async function decoded(decodedSeconds: number, more: Parameters<typeof aCloseInput>[1] = {}): Promise<OpenInput> {
    const input = anOpenInput(fixture.store, { userId, tokenId, ...CHECKED });
    await fixture.store.openRequest(input);
    await fixture.store.closeRequest(aCloseInput(input, { decodedSeconds, ...more }));
    return input;
  }
  async function used(): Promise<number | undefined> {
    const now = fixture.store.clock.now();
    const period = { from: new Date(now - 3_600_000), to: new Date(now + 60_000) };
    const owners = { userIds: [userId], tokenIds: null };
    const [all] = await fixture.store.usageFigures('usage', owners, period, 'no-aggregation');
    return all && Number(all.values['decoded-seconds']);
  }
  const fold = () => fixture.store.foldUsage({ restSeconds: -3_600 });
  const kept = (of = userId) =>
    fixture.sql(`select (other_kinds->>'decoded_seconds')::integer n from rollup_day where user_id = $1`, [of]);

  it('are those of the request, and added up in the usage: folded, folded again, partly', async () => {
    const { id } = await decoded(90);
    await decoded(10, { body: null, identity: 'f'.repeat(43) });
    await decoded(0);
    assert.equal((await fixture.store.readLog(id, [userId]))?.decodedSeconds, 90);
    assert.equal(await used(), 100);
    await fold();
    assert.equal(await used(), 100);
    await decoded(7);
    assert.equal(await used(), 107);
    await fold();
    assert.deepEqual([await used(), await kept()], [107, [{ n: 107 }]]);
  });

  it('of a request that is closed again are counted once', async () => {
    const input = await decoded(5);
    await fixture.store.closeRequest(aCloseInput(input, { decodedSeconds: 50 }));
    assert.equal(await used(), 5);
    // The same call, after its answer was lost.
    const [row] = await fixture.sql<{ closer: string }>('select closer from requests where id = $1', [input.id]);
    await fixture.sql(
      `select close_request($1, $2, 'success', 200, 'Completed', null, 1, null, '[]', null, null, null, 1, 1, null, $3,
        null, null, null, 5)`,
      [input.id, input.submittedAt, row!.closer],
    );
    assert.equal(await used(), 5);
  });

  it("of an erased user are gone from everybody's", async () => {
    await fold();
    const before = await kept(0);
    await decoded(30);
    await fold();
    await fixture.store.eraseUser(userId);
    while ((await fixture.store.eraseMore()) > 0);
    assert.deepEqual([await kept(0), await kept()], [before, []]);
  });

  const within = (...of: Quota[]) =>
    anOpenInput(fixture.store, { userId, tokenId, ...CHECKED, quotas: { of, rootUserId: userId } });
  const left = (...quotas: Quota[]) =>
    fixture.store.decodableSeconds({ id: tokenId, userId, rootUserId: userId, quotas });
  const quota = (seconds: number, scope: Quota['scope'] = 'token'): Quota => ({
    scope,
    limits: { 'decoded-seconds': seconds },
  });

  it('are a quota of requests with content checks, whether folded or not', async () => {
    await decoded(60);
    for (const again of [false, true]) {
      if (again) await fold();
      const refused = await fixture.store.openRequest(within(quota(60)));
      assert.equal(refused.outcome === 'over-quota' && refused.exceeded, 'decoded-seconds');
      assert.equal((await fixture.store.openRequest(within(quota(61)))).outcome, 'opened');
      const plain = { ...within(quota(60)), tools: [{ name: 'ffprobe', version: '7.1' }] } satisfies OpenInput;
      assert.equal((await fixture.store.openRequest(plain)).outcome, 'opened', 'it decodes nothing');
    }
  });

  it('leave the least of all quotas, never less than nothing', async () => {
    await decoded(60);
    assert.equal(await left(), null);
    assert.equal(await left({ scope: 'account', limits: { 'request-count': 1 } }), null);
    assert.equal(await left(quota(100), quota(70, 'account')), 10);
    assert.equal(await left(quota(50), quota(70, 'account')), 0);
    assert.equal(await left({ scope: 'user', user: userId, limits: { 'decoded-seconds': 61 } }), 1);
    tokenId++;
    assert.equal(await left(quota(100)), 100, 'of another token');
  });
});
