import assert from 'node:assert/strict';
import { quotasOf } from '../../src/platform/store/limits.ts';
import type { MonthlyLimits, OpenInput, Quota } from '../../src/platform/store/records.ts';
import { openStore, type Store } from '../../src/platform/store/store.ts';
import { uuidv7 } from '../../src/platform/store/uuid.ts';
import { aCloseInput, anOpenInput, sha256, type StoreFixture, startStore } from './fixture.ts';

describe('store: which quotas apply', () => {
  const a: MonthlyLimits = { 'request-count': 1 };
  const b: MonthlyLimits = { 'data-processed': 2 };
  const of = (id: number, monthlyQuota: MonthlyLimits | null) => ({ id, monthlyQuota });
  for (const [what, given, expected] of [
    ['no quotas', { token: null, user: of(1, null), above: [] }, []],
    [
      'a quota without any limit is none',
      { token: {}, user: of(2, { 'request-count': null } as unknown as MonthlyLimits), above: [of(1, null)] },
      [],
    ],
    [
      "a root user's is the account's, once",
      { token: null, user: of(1, a), above: [] },
      [{ scope: 'account', limits: a }],
    ],
    [
      "a sub-user's applies beside the account's",
      { token: b, user: of(2, a), above: [of(1, b)] },
      [
        { scope: 'token', limits: b },
        { scope: 'user', user: 2, limits: a },
        { scope: 'account', limits: b },
      ],
    ],
    [
      "the account's between them applies, too",
      { token: null, user: of(3, a), above: [of(1, null), of(2, b)] },
      [
        { scope: 'user', user: 3, limits: a },
        { scope: 'user', user: 2, limits: b },
      ],
    ],
  ] as const)
    it(what, () => assert.deepEqual(quotasOf(given), expected));
});

describe('store: monthly quotas', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  let store: Store;
  let other: Store;
  let root: number;
  let sub: number;

  before(async () => {
    fixture = await startStore();
    store = fixture.store;
    other = await openStore({ url: fixture.server.url });
    const [one] = await fixture.sql<{ id: string }>(
      `insert into users (email, status) values ('root@example.org', 'active') returning id`,
    );
    root = Number(one?.id);
    const [two] = await fixture.sql<{ id: string }>(
      'insert into users (email, status, role, parent_id, root_id) values ' +
        `('sub@example.org', 'active', 'sub', $1, $1) returning id`,
      [root],
    );
    sub = Number(two?.id);
  });
  after(async () => {
    await other.close();
    await fixture.close();
  });

  let nextToken = 900;
  const within = (of: Quota[], change: Partial<OpenInput> = {}) =>
    anOpenInput(store, { userId: root, tokenId: nextToken, quotas: { of, rootUserId: root }, ...change });
  const requests = (scope: Quota['scope'], count: number): Quota[] => [{ scope, limits: { 'request-count': count } }];
  const openedOf = async (of: Quota[], change: Partial<OpenInput> = {}, at = store) =>
    (await at.openRequest(within(of, change))).outcome;
  beforeEach(() => {
    nextToken++;
  });

  it('running requests count, and ended ones, folded or not', async () => {
    const inputs = Array.from({ length: 4 }, () => within(requests('token', 3)));
    for (const input of inputs.slice(0, 3)) assert.equal((await store.openRequest(input)).outcome, 'opened');
    assert.deepEqual(await store.openRequest(inputs[3]!), {
      outcome: 'over-quota',
      rate: { limit: 0, remaining: 0, resetMs: 0 },
      exceeded: 'request-count',
    });
    assert.equal(await store.readRequest(inputs[3]!.id), null);
    await store.closeRequest(aCloseInput(inputs[0]!));
    assert.equal(await openedOf(requests('token', 3)), 'over-quota');
    await store.foldUsage({ restSeconds: -3_600 });
    assert.equal(await openedOf(requests('token', 3)), 'over-quota');
    assert.equal(await openedOf(requests('token', 4)), 'opened');
    // Another token of the same user has a separate quota.
    assert.equal(await openedOf(requests('token', 1), { tokenId: 899 }), 'opened');
  });

  it('of forty concurrent requests on two replicas, exactly as many open as the quota allows', async () => {
    const of = requests('token', 7);
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        openedOf(of, { requestsPerMinute: index % 4 === 0 ? 0 : 1_000_000 }, index % 2 ? store : other),
      ),
    );
    assert.equal(outcomes.filter((outcome) => outcome === 'opened').length, 7);
    assert.equal(outcomes.filter((outcome) => outcome === 'over-quota').length, 33);
  });

  it('an account counts all of its users, a sub-user their own; the error names the first one used up', async () => {
    const before = (
      await fixture.sql<{ n: number }>('select count(*)::integer n from requests where user_id in ($1, $2)', [
        root,
        sub,
      ])
    )[0]!.n;
    const tokens = await Promise.all([
      openedOf(requests('account', before + 6), { userId: sub, tokenId: 1 }),
      ...Array.from({ length: 9 }, (_, index) =>
        openedOf(
          requests('account', before + 6),
          { userId: index % 2 ? sub : root, tokenId: 2 + index },
          index % 2 ? store : other,
        ),
      ),
    ]);
    assert.equal(tokens.filter((outcome) => outcome === 'opened').length, 6);
    const own = (
      await fixture.sql<{ n: number }>('select count(*)::integer n from requests where user_id = $1', [sub])
    )[0]!.n;
    assert.equal(await openedOf(requests('user', own), { userId: sub, tokenId: 1 }), 'over-quota');
    assert.equal(
      await openedOf([...requests('user', own + 1), ...requests('account', 1_000_000)], { userId: sub, tokenId: 1 }),
      'opened',
    );
  });

  it('counts time and data of ended requests', async () => {
    const first = within([{ scope: 'token', limits: { 'processing-time': 41, 'data-processed': 2_000 } }]);
    await store.openRequest(first);
    assert.equal(await openedOf(first.quotas!.of as Quota[]), 'opened');
    await store.closeRequest(aCloseInput(first, { ioBytes: 1_999 }));
    const answer = await store.openRequest(
      within([{ scope: 'token', limits: { 'processing-time': 41, 'data-processed': 2_000 } }]),
    );
    assert.equal(answer.outcome === 'over-quota' && answer.exceeded, 'processing-time');
    assert.equal(
      await openedOf([{ scope: 'token', limits: { 'processing-time': 42, 'data-processed': 2_000 } }]),
      'opened',
    );
    const data = await store.openRequest(
      within([{ scope: 'token', limits: { 'processing-time': 42, 'data-processed': 1_999 } }]),
    );
    assert.equal(data.outcome === 'over-quota' && data.exceeded, 'data-processed');
  });

  it('ignores usage of last month', async () => {
    const month = new Date(store.clock.now());
    const last = Date.UTC(month.getUTCFullYear(), month.getUTCMonth()) - 1;
    const old = within([], { id: uuidv7(last), submittedAt: new Date(last) });
    await store.openRequest(old);
    await store.closeRequest(aCloseInput(old));
    assert.equal(await openedOf(requests('token', 1)), 'opened');
    assert.equal(await openedOf(requests('token', 1)), 'over-quota');
  });

  it('a call repeated after a lost response stays open, and a refused request frees its idempotency key', async () => {
    const first = within(requests('token', 1), { idempotency: { key: 'k1', bodySha256: sha256('b') } });
    assert.equal((await store.openRequest(first)).outcome, 'opened');
    assert.equal((await store.openRequest(first)).outcome, 'opened');
    const repeat = await store.openRequest({ ...first, ...store.newRequest() });
    assert.equal(repeat.outcome === 'repeated' && repeat.id, first.id);
    const refused = within(requests('token', 1), { idempotency: { key: 'k2', bodySha256: sha256('b') } });
    assert.equal((await store.openRequest(refused)).outcome, 'over-quota');
    assert.equal(
      (
        await store.openRequest({
          ...refused,
          ...store.newRequest(),
          quotas: { of: requests('token', 2), rootUserId: root },
        })
      ).outcome,
      'opened',
    );
  });

  it('is loaded with the token, for the token, its user and the root user', async () => {
    await fixture.sql(`update users set monthly_quota = '{"request-count": 10}' where id = $1`, [root]);
    await fixture.sql(`insert into tokens (user_id, sha256, monthly_quota) values ($1, $2, '{"data-processed": 5}')`, [
      sub,
      sha256('quota'),
    ]);
    assert.deepEqual((await store.findToken(sha256('quota')))?.quotas, [
      { scope: 'token', limits: { 'data-processed': 5 } },
      { scope: 'account', limits: { 'request-count': 10 } },
    ]);
  });
});
