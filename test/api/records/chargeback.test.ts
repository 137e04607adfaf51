/** Labels of accounts, and the chargeback of a month. */
import assert from 'node:assert/strict';
import { changedLabels } from '../../../src/service/api/accounts/account_labels.ts';
import { monthOf } from '../../../src/service/api/records/statistics_endpoints.ts';
import { aCloseInput, anOpenInput } from '../../store/fixture.ts';
import { startManagement, type Management, type Person } from '../accounts/fixture.ts';

describe('chargeback: the month', () => {
  const now = new Date('2026-01-31T12:00:00Z');
  for (const [asked, from, to] of [
    [null, '2025-12-01', '2026-01-01'],
    ['2026-01', '2026-01-01', '2026-02-01'],
    ['2024-02', '2024-02-01', '2024-03-01'],
  ] as const)
    it(`${asked}`, () =>
      assert.deepEqual(monthOf(asked, now), {
        name: from.slice(0, 7),
        month: { from: new Date(from), to: new Date(to) },
      }));
  it('one that has not begun is refused', () =>
    assert.throws(() => monthOf('2026-02', now), /month: must not be after this month, 2026-01/));
});

describe('labels: what a change makes of them', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`l${at}`, 'x']));
  it('sets, replaces and removes', () =>
    assert.deepEqual(changedLabels({ a: '1', b: '2', c: '3' }, { a: '4', b: null, 'x.org/d': '', gone: null }), {
      a: '4',
      c: '3',
      'x.org/d': '',
    }));
  it('16 fit, 17 do not', () => {
    assert.equal(Object.keys(changedLabels(many(15), { more: '1' })).length, 16);
    assert.throws(() => changedLabels(many(16), { more: '1' }), /labels: an account has at most 16 labels/);
    assert.equal(Object.keys(changedLabels(many(16), { more: '1', l0: null })).length, 16);
  });
  for (const name of ['', '-a', 'a b', '__proto__', 'A.org/b', '/b', 'a/b/c', 'x'.repeat(64), 'é'])
    it(`refuses the name "${name}"`, () =>
      assert.throws(() => changedLabels({}, JSON.parse(`{${JSON.stringify(name)}: "1"}`)), /labels: a name must be/));
});

describe('chargeback', function () {
  this.timeout(60_000);
  let m: Management;
  let people: Record<'alice' | 'sam' | 'bob', Person>;
  before(async () => {
    m = await startManagement();
    const alice = await m.person('alice');
    people = { alice, sam: await m.person('sam', { parent: alice }), bob: await m.person('bob') };
  });
  after(() => m.stop());

  const setLabels = (id: number, labels: unknown, token = m.root.token) =>
    m.call('PUT', `user/${id}/labels`, { token, body: { labels } });

  it('labels: set by an administrator, on the account; read for each of its users', async () => {
    const { alice, sam } = people;
    const labels = { 'cost-centre': '4711', team: 'archive' };
    const set = await setLabels(alice.id, { ...labels, none: null });
    assert.deepEqual([set.status, set.json], [200, { labels }]);
    const read = await m.call('GET', `user/${sam.id}/labels`, { token: m.root.token });
    assert.deepEqual([read.status, read.json], [200, { labels }]);
    assert.equal((await setLabels(m.root.id, { own: 'yes' })).status, 200);
  });

  it('labels: what is refused', async () => {
    const { alice, sam } = people;
    for (const [id, labels, status, said] of [
      [sam.id, { a: 'b' }, 400, `can only be set on the root user of the account, user ${alice.id}`],
      [alice.id, { 'a b': 'c' }, 400, 'a name must be that of a label of Kubernetes'],
      [alice.id, { a: '=1+1' }, 400, 'labels.a'],
      [alice.id, { a: 'x'.repeat(64) }, 400, 'labels.a'],
      [alice.id, { a: 1 }, 400, 'labels.a'],
      [alice.id, ['a'], 400, 'labels'],
      [999_999, { a: 'b' }, 404, ''],
    ] as const) {
      const answer = await setLabels(id, labels);
      assert.deepEqual([answer.status, answer.text.includes(said)], [status, true], answer.text);
    }
    for (const token of [alice.token, sam.token])
      assert.equal((await setLabels(alice.id, { a: 'b' }, token)).status, 403);
  });

  async function use({ id, tokenId }: Person): Promise<void> {
    const { store } = m.replicas[0].deps;
    const open = anOpenInput(store, { userId: id, tokenId });
    await store.openRequest(open);
    await store.closeRequest(aCloseInput(open));
  }
  const asked = (query: string, token = m.root.token) => m.call('GET', `statistics/chargeback?${query}`, { token });

  it('CSV and NDJSON: a row for each account that used anything, for administrators alone', async () => {
    const { alice, sam, bob } = people;
    const month = new Date(m.replicas[0].deps.store.clock.now()).toISOString().slice(0, 7);
    for (const person of [alice, sam, bob]) await use(person);
    const csv = await asked(`month=${month}`);
    assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8');
    assert.equal(csv.headers.get('content-disposition'), `attachment; filename="chargeback-${month}.csv"`);
    assert.equal(
      csv.text,
      'month,account-id,labels,request-count,success,with-errors,error,processing-time,data-processed,' +
        'decoded-seconds\n' +
        `${month},${alice.id},"cost-centre=4711,team=archive",2,2,0,0,82,2000,0\n` +
        `${month},${bob.id},"",1,1,0,0,41,1000,0\n`,
    );
    const lines = await asked(`month=${month}&format=ndjson`);
    assert.equal(lines.headers.get('content-type'), 'application/x-ndjson');
    const rows = lines.text.trim().split('\n');
    assert.deepEqual(JSON.parse(rows[0]!), {
      month,
      'account-id': alice.id,
      labels: { 'cost-centre': '4711', team: 'archive' },
      'request-count': 2,
      success: 2,
      'with-errors': 0,
      error: 0,
      'processing-time': 82,
      'data-processed': 2000,
      'decoded-seconds': 0,
    });
    assert.equal(rows.length, 2);
    assert.equal((await asked(`month=${month}`, alice.token)).status, 403);
    assert.equal((await asked('format=ndjson')).text, '', 'the month before');
    for (const query of ['month=2026-13', 'month=9999-01', 'format=parquet'])
      assert.equal((await asked(query)).status, 400, query);
  });

  it('what an erased account used in a finished month is a row by its labels', async () => {
    await m.stored.sql(
      `insert into rollup_day (user_id, at, token_id, requests, file_success, processing_ms, queue_max_ms,
        queue_histogram) values ($1, '2026-03-05', 1, 7, 7, 70, 0, '{}'), (0, '2026-03-05', 0, 7, 7, 70, 0, '{}')`,
      [people.alice.id],
    );
    const before = await asked('month=2026-03');
    assert.match(before.text, new RegExp(`^2026-03,${people.alice.id},"cost-centre=4711,team=archive",7,7`, 'm'));
    const gone = await m.call('DELETE', `user/${people.alice.id}`, { token: m.root.token });
    assert.equal(gone.status, 204);
    assert.equal((await asked('month=2026-03')).text, before.text.replace(`,${people.alice.id},`, ',,'));
    const [row, ...more] = (await asked('month=2026-03&format=ndjson')).text.trim().split('\n');
    assert.deepEqual([more, JSON.parse(row!)['account-id']], [[], undefined]);
  });
});
