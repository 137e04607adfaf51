/** What accounts used in a month, and what is left of it when users are erased. */
import assert from 'node:assert/strict';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import type { CloseInput } from '../../src/platform/store/records.ts';
import { aCloseInput, anOpenInput, sha256, type StoreFixture, startStore } from './fixture.ts';

describe('store: chargeback', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  let month: { from: Date; to: Date };
  before(async () => {
    fixture = await startStore();
    const now = new Date(fixture.store.clock.now());
    const begin = (months: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months));
    month = { from: begin(-1), to: begin(0) };
  });
  after(() => fixture.close());

  interface User {
    id: number;
    token: number;
  }
  async function aUser(email: string, { parent, labels = {} }: { parent?: User; labels?: object } = {}): Promise<User> {
    const [user] = await fixture.sql<{ id: number }>(
      `insert into users (email, status, role, parent_id, labels) values ($1, 'active', 'user', $2, $3)
        returning id::integer`,
      [email, parent?.id ?? null, labels],
    );
    const [token] = await fixture.sql<{ id: number }>(
      'insert into tokens (user_id, sha256) values ($1, $2) returning id::integer',
      [user!.id, sha256(email)],
    );
    return { id: user!.id, token: token!.id };
  }

  async function use({ id, token }: User, at: Date, ends: Partial<CloseInput>[]): Promise<void> {
    for (const [index, end] of ends.entries()) {
      const submittedAt = new Date(at.getTime() + index);
      const open = anOpenInput(fixture.store, {
        id: uuidv7(submittedAt.getTime()),
        submittedAt,
        userId: id,
        tokenId: token,
      });
      await fixture.store.openRequest(open);
      await fixture.store.closeRequest(aCloseInput(open, end));
    }
  }
  const fold = () => fixture.store.foldUsage({ restSeconds: -60 });
  async function erase({ id }: User): Promise<void> {
    await fixture.store.eraseUser(id);
    await fixture.store.eraseMore();
  }
  const used = async () =>
    (await fixture.store.chargeback(month, 0, 100))
      .filter((row) => row.used['request-count'] > 0)
      .map(({ accountId, labels, used: { 'request-count': count } }) => [accountId, labels, count]);
  const ofErased = async () =>
    (await fixture.store.chargebackOfErased(month)).map(({ labels, used: { 'request-count': count } }) => [
      labels,
      count,
    ]);
  const day = (days: number) => new Date(month.from.getTime() + days * 86_400_000);
  const labels = { 'cost-centre': '4711', 'example.org/team': 'archive' };

  it('sums the month over all users of an account, folded or not, by outcome', async () => {
    const root = await aUser('sums@example.org', { labels });
    const sub = await aUser('sums-sub@example.org', { parent: root });
    const below = await aUser('sums-below@example.org', { parent: sub });
    await use(root, day(0), [{}, { state: 'with-errors' }]);
    await use(below, day(2), [{ state: 'error', ioBytes: 5, decodedSeconds: 90 }]);
    await use(sub, new Date(month.from.getTime() - 1), [{}]);
    await use(sub, month.to, [{}]);
    await fold();
    await use(sub, day(1), [{}]);
    const [row] = await fixture.store.chargeback(month, root.id - 1, 1);
    assert.deepEqual(row, {
      accountId: root.id,
      labels,
      used: {
        'request-count': 4,
        success: 2,
        'with-errors': 1,
        error: 1,
        'processing-time': 4 * 41,
        'data-processed': 3_005,
        'decoded-seconds': 90,
      },
    });
    await erase(root);
  });

  it('gives accounts in pages, those without use, too, and no sub-user', async () => {
    const [first, second] = [await aUser('page-1@example.org'), await aUser('page-2@example.org')];
    const sub = await aUser('page-3@example.org', { parent: first });
    const ids: (number | null)[] = [];
    for (let page; (page = await fixture.store.chargeback(month, ids.at(-1) ?? 0, 1)).length > 0;)
      ids.push(page[0]!.accountId);
    assert.ok(ids.includes(first.id) && ids.includes(second.id) && !ids.includes(sub.id));
  });

  it('what an erased sub-user used stays with the account, then with the labels of the account', async () => {
    const root = await aUser('root@example.org', { labels: { team: 'vod' } });
    const sub = await aUser('sub@example.org', { parent: root });
    const other = await aUser('other@example.org', { labels: { team: 'vod' } });
    const bare = await aUser('bare@example.org');
    await use(root, day(3), [{}]);
    await use(sub, day(3), [{}, {}]);
    await use(other, day(4), [{}]);
    await use(bare, day(5), [{}]);
    await fold();
    const before = await used();
    const erasedBefore = await ofErased();
    await erase(sub);
    assert.deepEqual(await used(), before, 'after the erasure of the sub-user');
    await fixture.store.setLabels(root.id, { team: 'live' });
    for (const user of [root, other, bare]) await erase(user);
    const gone: unknown[] = [root.id, other.id, bare.id];
    assert.deepEqual(
      await used(),
      before.filter(([id]) => !gone.includes(id)),
    );
    const more = (await ofErased()).filter((row) => !JSON.stringify(erasedBefore).includes(JSON.stringify(row)));
    assert.deepEqual(more, [
      [{}, 1],
      [{ team: 'live' }, 3],
      [{ team: 'vod' }, 1],
    ]);
    assert.deepEqual(await fixture.sql('select count(*)::integer n from rollup_day where user_id = any($1)', [gone]), [
      { n: 0 },
    ]);
    assert.deepEqual(await fixture.sql('select 1 from erased_shares where account_id = any($1)', [gone]), []);
  });
});
