import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { SHARED, type KeptDocument, type MostPolicies } from '../../src/platform/store/policies.ts';
import { openStore, type Store } from '../../src/platform/store/store.ts';
import { aCloseInput, anOpenInput, startStore, type StoreFixture } from './fixture.ts';

const MOST: MostPolicies = { policies: 3, revisions: 2, documents: 10, bytes: 10_000 };
const aDocument = (name: string, bytes = 0): KeptDocument => {
  const document = JSON.stringify({ rules: [{ name, field: 'container.format', is: 'x'.repeat(bytes) }] });
  return { document, digest: createHash('sha256').update(document).digest('hex') };
};

describe('store: policies', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;
  let store: Store;

  before(async () => {
    fixture = await startStore();
    store = fixture.store;
  });
  after(() => fixture.close());

  const newAccount = async (): Promise<number> => {
    const [row] = await fixture.sql<{ id: string }>(
      `insert into users (email, status, role) values ($1, 'active', 'user') returning id`,
      [`${crypto.randomUUID()}@example.org`],
    );
    return Number(row!.id);
  };
  const put = (account: number, name: string, kept: KeptDocument, most = MOST) =>
    store.putPolicy({ account, name, userId: account, description: `of ${name}` }, kept, most);
  const documents = async (account: number): Promise<number> =>
    (await fixture.sql('select from policy_documents where account_id = $1', [account])).length;

  it('numbers revisions from 1, and saving the latest content again makes no new revision', async () => {
    const account = await newAccount();
    const outcomes = [
      await put(account, 'a', aDocument('one')),
      await put(account, 'a', aDocument('one')),
      await put(account, 'a', aDocument('two')),
      await put(account, 'a', aDocument('one')),
      await put(account, 'b', aDocument('one')),
    ];
    assert.deepEqual(outcomes, [
      { outcome: 'saved', revision: 1 },
      { outcome: 'unchanged', revision: 1 },
      { outcome: 'saved', revision: 2 },
      { outcome: 'saved', revision: 3 },
      { outcome: 'saved', revision: 1 },
    ]);
  });

  it('reads the latest revision, or the given one', async () => {
    const account = await newAccount();
    await put(account, 'a', aDocument('one'));
    await put(account, 'a', aDocument('two'));
    const latest = await store.findPolicy(account, 'a');
    assert.deepEqual(
      { ...latest, createdAt: latest?.createdAt instanceof Date },
      {
        account,
        name: 'a',
        revision: 2,
        ...aDocument('two'),
        description: 'of a',
        userId: account,
        createdAt: true,
        usedLately: false,
      },
    );
    assert.equal((await store.findPolicy(account, 'a', 1))?.document, aDocument('one').document);
    assert.equal(await store.findPolicy(account, 'a', 3), null);
    assert.deepEqual(
      (await store.policyRevisions(account, 'a')).map(({ revision }) => revision),
      [2, 1],
    );
  });

  it('keeps the latest revisions of a policy, and limits the policies of an account', async () => {
    const account = await newAccount();
    for (const content of ['1', '2', '3']) await put(account, 'a', aDocument(content));
    assert.deepEqual(
      (await store.policyRevisions(account, 'a')).map(({ revision }) => revision),
      [3, 2],
    );
    await put(account, 'b', aDocument('1'));
    await put(account, 'c', aDocument('1'));
    assert.deepEqual(await put(account, 'd', aDocument('1')), { outcome: 'too-many', revision: null });
    assert.equal((await put(account, 'c', aDocument('2'))).outcome, 'saved');
  });

  const revisionsOf = async (account: number, name = 'a'): Promise<number[]> =>
    (await store.policyRevisions(account, name)).map(({ revision }) => revision);

  it('a used revision stays readable after newer ones, and after its policy was deleted', async () => {
    const account = await newAccount();
    for (const content of ['1', '2']) await put(account, 'a', aDocument(content));
    assert.equal((await store.usePolicy(account, 'a', 1))?.revision, 1);
    assert.equal((await store.usePolicy(account, 'a'))?.revision, 2);
    assert.equal((await store.findPolicy(account, 'a', 1))?.usedLately, true);
    for (const content of ['3', '4', '5']) await put(account, 'a', aDocument(content));
    assert.deepEqual(await revisionsOf(account), [5, 4, 2, 1], '3 was not used');
    await store.deletePolicy(account, 'a');
    assert.deepEqual(await revisionsOf(account), [2, 1]);
    await fixture.sql(`update policy_documents set used_at = now() - interval '2 hours' where account_id = $1`, [
      account,
    ]);
    await store.forgetPolicyDocuments();
    assert.equal((await store.findPolicy(account, 'a', 1))?.document, aDocument('1').document);
    assert.equal(await store.findPolicy(account, 'a'), null, 'the policy itself is gone');
    assert.deepEqual(await store.latestPolicies([account]), []);
    assert.deepEqual(await put(account, 'a', aDocument('6')), { outcome: 'saved', revision: 6 });
    assert.equal((await store.usePolicy(account, 'a', 2))?.revision, 2, 'a former revision can be pinned');
    assert.equal(await store.usePolicy(account, 'a', 3), null);
  });

  it('a used revision is deleted when the requests of its time are no longer on record', async () => {
    const account = await newAccount();
    for (const content of ['1', '2']) await put(account, 'a', aDocument(content));
    for (const revision of [1, 2]) await store.usePolicy(account, 'a', revision);
    await fixture.sql(
      `update policies set used_at = now() - interval '40 days' where account_id = $1 and revision = 1`,
      [account],
    );
    await store.deletePolicy(account, 'a');
    await store.forgetPolicyDocuments();
    assert.deepEqual(await revisionsOf(account), [2, 1], 'no request was deleted yet');
    const since = (days: number) =>
      fixture.sql(
        `insert into settings (key, value) values ('requests.since', to_jsonb(now() - make_interval(days => $1)))
          on conflict (key) do update set value = excluded.value`,
        [days],
      );
    try {
      await since(41);
      await store.forgetPolicyDocuments();
      assert.deepEqual(await revisionsOf(account), [2, 1]);
      await since(39);
      await store.forgetPolicyDocuments();
      assert.deepEqual(await revisionsOf(account), [2]);
    } finally {
      await fixture.sql(`delete from settings where key = 'requests.since'`);
    }
  });

  it('used revisions are never dropped to make room: a save is refused instead', async () => {
    const account = await newAccount();
    const most = { ...MOST, documents: 4 };
    for (const content of ['1', '2', '3', '4']) {
      await put(account, 'a', aDocument(content), most);
      await store.usePolicy(account, 'a');
    }
    assert.deepEqual(await revisionsOf(account), [4, 3, 2, 1]);
    for (const name of ['a', 'b'])
      assert.deepEqual(await put(account, name, aDocument('5'), most), { outcome: 'no-room', revision: null });
    // The content of a revision on record takes no document, but it would take a revision.
    assert.equal((await put(account, 'b', aDocument('1'), most)).outcome, 'no-room');
    assert.equal((await put(account, 'a', aDocument('4'), most)).outcome, 'unchanged');
    assert.deepEqual(await revisionsOf(account), [4, 3, 2, 1]);
  });

  it('a use is written once an hour', async () => {
    const account = await newAccount();
    await put(account, 'a', aDocument('1'));
    const usedAt = async () =>
      (await fixture.sql<{ at: string }>('select used_at::text at from policies where account_id = $1', [account]))[0]!
        .at;
    await store.usePolicy(account, 'a');
    const first = await usedAt();
    await store.usePolicy(account, 'a');
    assert.equal(await usedAt(), first);
    await fixture.sql(`update policies set used_at = now() - interval '61 minutes' where account_id = $1`, [account]);
    await store.usePolicy(account, 'a');
    assert.ok((await usedAt()) > first);
  });

  it('a revision that is used while newer ones are saved is either kept or not found', async () => {
    const account = await newAccount();
    const most = { ...MOST, revisions: 1, documents: 100 };
    await put(account, 'a', aDocument('0'), most);
    const used: number[] = [];
    const saved = new AbortController();
    const use = async (): Promise<void> => {
      while (!saved.signal.aborted) used.push((await store.usePolicy(account, 'a'))!.revision);
    };
    const users = [use(), use()];
    for (let content = 1; content <= 40; content++) await put(account, 'a', aDocument(String(content)), most);
    saved.abort();
    await Promise.all(users);
    const kept = new Set(await revisionsOf(account));
    assert.ok(new Set(used).size > 1);
    for (const revision of used) assert.ok(kept.has(revision), `revision ${revision} was used`);
  });

  it('gives no revision number twice, even after the policy was deleted', async () => {
    const account = await newAccount();
    await put(account, 'a', aDocument('1'));
    await put(account, 'a', aDocument('2'));
    assert.equal(await store.deletePolicy(account, 'a'), true);
    assert.equal(await store.deletePolicy(account, 'a'), false);
    assert.equal(await store.findPolicy(account, 'a'), null);
    assert.deepEqual(await put(account, 'a', aDocument('1')), { outcome: 'saved', revision: 3 });
  });

  it('numbers revisions that are saved concurrently one after the other', async () => {
    const account = await newAccount();
    const most = { ...MOST, revisions: 50, documents: 50 };
    const saved = await Promise.all(
      Array.from({ length: 12 }, (_, index) => put(account, 'a', aDocument(String(index)), most)),
    );
    const revisions = saved.map((one) => ('revision' in one ? one.revision : 0)).sort((a, b) => a - b);
    assert.deepEqual(
      revisions,
      Array.from({ length: 12 }, (_, index) => index + 1),
    );
  });

  for (const [what, most, bytes] of [
    ['documents', { documents: 4, bytes: 1_000_000 }, 10],
    ['bytes', { documents: 1_000, bytes: 4_500 }, 1_000],
  ] as const)
    it(`the ${what} of an account are limited, and documents unused for an hour make room`, async () => {
      const account = await newAccount();
      for (let index = 0; index < 4; index++)
        assert.equal(await store.keepPolicyDocument(account, aDocument(String(index), bytes), most), true);
      assert.equal(await store.keepPolicyDocument(account, aDocument('5', bytes), most), false);
      // Saving a document again takes no room.
      assert.equal(await store.keepPolicyDocument(account, aDocument('3', bytes), most), true);
      await fixture.sql(`update policy_documents set used_at = now() - interval '2 hours' where account_id = $1`, [
        account,
      ]);
      assert.equal(await store.keepPolicyDocument(account, aDocument('3', bytes), most), true);
      assert.equal(await store.keepPolicyDocument(account, aDocument('5', bytes), most), true);
      // The document used meanwhile, and the new one.
      assert.equal(await documents(account), 2);
    });

  it('upkeep deletes documents that no policy refers to and that were not used for an hour', async () => {
    const account = await newAccount();
    await put(account, 'saved', aDocument('saved'));
    await put(account, 'gone', aDocument('gone'));
    await store.keepPolicyDocument(account, aDocument('inline'), MOST);
    const age = () =>
      fixture.sql(`update policy_documents set used_at = now() - interval '2 hours' where account_id = $1`, [account]);
    await age();
    await store.deletePolicy(account, 'gone');
    await store.forgetPolicyDocuments();
    // A running job may still need the document of a policy that was deleted just now.
    assert.equal(await store.policyDocument(account, aDocument('gone').digest), aDocument('gone').document);
    assert.equal(await store.policyDocument(account, aDocument('inline').digest), null);
    await age();
    await store.forgetPolicyDocuments();
    assert.equal(await store.policyDocument(account, aDocument('gone').digest), null);
    assert.notEqual(await store.policyDocument(account, aDocument('saved').digest), null);
  });

  it('no account reads or deletes policies of another, even of documents with the same content', async () => {
    const [one, other] = [await newAccount(), await newAccount()];
    await put(one, 'a', aDocument('same'));
    assert.equal(await store.findPolicy(other, 'a'), null);
    assert.equal(await store.policyDocument(other, aDocument('same').digest), null);
    assert.deepEqual(await store.policyRevisions(other, 'a'), []);
    assert.deepEqual(await store.latestPolicies([other]), []);
    assert.equal(await store.deletePolicy(other, 'a'), false);
    await put(other, 'a', aDocument('same'));
    await store.deletePolicy(other, 'a');
    assert.equal((await store.findPolicy(one, 'a'))?.revision, 1);
  });

  it('deleting an account deletes its policies', async () => {
    const account = await newAccount();
    await put(account, 'a', aDocument('1'));
    await store.keepPolicyDocument(account, aDocument('inline'), MOST);
    await store.eraseUser(account);
    assert.equal(await documents(account), 0);
    assert.deepEqual(await store.latestPolicies([account]), []);
    assert.deepEqual(await fixture.sql('select from policy_accounts where account_id = $1', [account]), []);
  });

  it('a controller saves and deletes shared policies', async () => {
    const controller = await openStore({ url: fixture.urls.controller });
    try {
      const of = { account: SHARED, name: 'web-mp4', userId: null };
      assert.deepEqual(await controller.putPolicy(of, aDocument('web'), MOST), { outcome: 'saved', revision: 1 });
      assert.deepEqual(
        (await store.latestPolicies([SHARED])).map(({ name, userId }) => [name, userId]),
        [['web-mp4', null]],
      );
      assert.equal(await controller.deletePolicy(SHARED, 'web-mp4'), true);
    } finally {
      await controller.close();
    }
  });
});

describe('store: verdict of a request', function () {
  this.timeout(60_000);
  let fixture: StoreFixture;

  before(async () => {
    fixture = await startStore();
  });
  after(() => fixture.close());

  const rows: [string, unknown, string | undefined, [string | null, number | null, string | null]][] = [
    ['no policy', { ffprobe: {} }, undefined, [null, null, null]],
    ['a named policy', { policy: { name: 'a', revision: 3 } }, 'fail', ['a', 3, 'fail']],
    ['an inline policy', { policy: { name: null, revision: null } }, 'pass', [null, null, 'pass']],
    ['an end without a verdict', { policy: { name: 'a', revision: 3 } }, undefined, ['a', 3, 'unknown']],
    ['a verdict without a policy', {}, 'pass', [null, null, null]],
  ];
  for (const [what, request, policy, wanted] of rows)
    it(`is recorded with the end: ${what}`, async () => {
      const { store } = fixture;
      const open = anOpenInput(store, { request });
      await store.openRequest(open);
      await store.closeRequest(aCloseInput(open, policy === undefined ? {} : { policy: policy as 'pass' }));
      const [end] = await store.endsFor([open.id]);
      assert.deepEqual([end!.policyName, end!.policyRevision, end!.policyOutcome], wanted);
      assert.equal((await store.readRequest(open.id))?.policyOutcome, wanted[2]);
    });
});
