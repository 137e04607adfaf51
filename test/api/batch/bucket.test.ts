/** Batches over a bucket: what a listing finds becomes items, once, whatever comes between. */
import assert from 'node:assert/strict';
import pg from 'pg';
import type { ProbeJob } from '../../../src/platform/kube/probe_job.ts';
import { openSealed } from '../../../src/platform/seal/seal.ts';
import { StoreError } from '../../../src/platform/store/errors.ts';
import type { Listed, Listing } from '../../../src/source/listing/listing.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';
import { until } from '../../until.ts';
import { batchesOf, ONLY, type BatchAnswer } from './fixture.ts';

interface BucketBatch extends BatchAnswer {
  bucket: { url: string; listed: boolean; found: number; filtered: number; left_out: number } | null;
}

const NOTHING: Listed = { names: [], found: 0, filtered: 0, unreadable: 0, next: null };
const LONG = Array.from({ length: 10 }, () => '画'.repeat(200));
const KEEPER = { ...ONLY, credential: 'films' };

describe('batch over a bucket', function () {
  this.timeout(90_000);
  let api: ApiFixture;
  let batches: ReturnType<typeof batchesOf>;
  before(async () => {
    api = await startApi({ batchMaxItems: 500 });
    batches = batchesOf(api);
  });
  after(() => api.stop());

  const created = async (url: string, more: object = {}, fields: object = {}): Promise<BucketBatch> =>
    (await batches.create({ probe: KEEPER, bucket: { url, ...more }, ...fields })) as BucketBatch;
  const read = async (id: string) => (await batches.read(id)) as BucketBatch;

  const sealedOf = ({ metadata: { name }, spec }: ProbeJob) =>
    JSON.parse(openSealed(spec.source.sealed!, { requestId: name, tokenId: spec.token!.id }, api.privateKeys)) as {
      address: string;
      credential?: string;
      listing?: Listing;
    };

  /** Ends each job of the bucket: listings by `pages`, others with success. Returns what was listed, in order. */
  async function run(
    id: string,
    bucket: string,
    pages: (listing: Listing) => Partial<Listed> | 'fails',
  ): Promise<Listing[]> {
    const listings: Listing[] = [];
    await batches.run(id, bucket, async (job) => {
      const { name } = job.metadata;
      const { listing } = sealedOf(job);
      if (listing === undefined) return batches.success(name);
      listings.push(listing);
      const page = pages(listing);
      if (page === 'fails') return fails(name, 403);
      await endListing(name, page);
    });
    return listings;
  }
  const endWith = (name: string, output: string) =>
    api.end(name, {
      result: { tools: [], skipped: ['ffprobe'], ioUsage: 5, listing: { output } },
      asked: [{ name: 'ffprobe' }],
    });
  const endListing = (name: string, page: Partial<Listed>) =>
    endWith(name, JSON.stringify({ ...NOTHING, found: page.names?.length ?? 0, ...page }));
  const fails = (name: string, status: number) =>
    api.end(name, {
      result: {
        tools: [
          tool('ffprobe', '', {
            success: false,
            failure: 'origin-unreachable',
            code: `http-${status}`,
            error: 'x',
            output: null,
          }),
        ],
        ioUsage: 0,
      },
      asked: [{ name: 'ffprobe' }],
    });

  it('has an item for each object, with its name as ref, and asks for the next page with the cursor', async () => {
    const batch = await created('s3://pages/2026/', {
      include: ['*.mp4'],
      min_bytes: 5,
      modified_after: '2026-01-01T00:00:00Z',
    });
    assert.deepEqual(
      [batch.items, batch.bucket],
      [1, { url: 's3://pages/2026/', listed: false, found: 0, filtered: 0, left_out: 0 }],
    );
    const listings = await run(batch.id, 'pages', ({ cursor }) =>
      cursor === null
        ? { names: ['2026/a b.mp4', '2026/ünï#?%.mp4'], found: 3, filtered: 1, next: '2026/ünï#?%.mp4' }
        : { names: ['2026/z.mp4'], unreadable: 1, found: 2 },
    );
    assert.deepEqual(
      listings.map(({ cursor, include, minBytes, modifiedAfter }) => [cursor, include, minBytes, modifiedAfter]),
      [null, '2026/ünï#?%.mp4'].map((cursor) => [cursor, ['*.mp4'], 5, Date.UTC(2026, 0, 1)]),
    );
    const end = await read(batch.id);
    assert.deepEqual(
      [end.state, end.reason, end.items, end.counts['success'], end.requests, end.bucket],
      ['ended', 'Completed', 4, 4, 5, { url: 's3://pages/2026/', listed: true, found: 5, filtered: 1, left_out: 1 }],
    );
    assert.deepEqual(
      (await batches.items(batch.id)).map(({ n, url, ref, state }) => [n, url, ref, state]),
      [
        [0, 's3://pages/2026/...', null, 'success'],
        [1, 's3://pages/2026/a%20b.mp4', '2026/a b.mp4', 'success'],
        [2, 's3://pages/2026/%C3%BCn%C3%AF%23%3F%25.mp4', '2026/ünï#?%.mp4', 'success'],
        [3, 's3://pages/2026/z.mp4', '2026/z.mp4', 'success'],
      ],
    );
  });

  it('is stopped if its key is lost while it is listed', async () => {
    const { id } = await created('s3://lost-key/');
    const job = await until('its listing runs', async () => (await batches.jobs('lost-key'))[0]);
    const other = await created('s3://other-key/');
    const keyOf = 'select sealed_key from batches where id = $2';
    await api.stored.sql(`update batches set sealed_key = (${keyOf}) where id = $1`, [id, other.id]);
    await endListing(job.metadata.name, { names: ['a.mp4'] });
    assert.equal((await batches.untilIn(id, 'stopped')).reason, 'AddressesLost');
  });

  it('leaves out names that no address can have', async () => {
    const { id } = await created('s3://odd');
    await run(id, 'odd', () => ({ names: ['a/../b.mp4', 'a\u0000b', 'ok.mp4', '\ud800', 'x/.', 'l'.repeat(9_000)] }));
    const { bucket, items } = await read(id);
    assert.deepEqual([items, bucket?.left_out], [2, 5]);
  });

  it('ends with the error of its listing, and with what was found before', async () => {
    const { id } = await created('s3://refused/');
    await run(id, 'refused', ({ cursor }) => (cursor === null ? { names: ['a.mp4'], next: 'a.mp4' } : 'fails'));
    const end = await read(id);
    assert.deepEqual(
      [end.state, end.counts['error'], end.counts['success'], end.bucket?.listed],
      ['ended', 1, 1, false],
    );
    assert.deepEqual(end.errors, [{ code: 'http-403', count: 1 }]);
  });

  it('lists a page again whose result is lost, from its cursor', async () => {
    const { id } = await created('s3://lost/');
    let at = 0;
    const listings: (string | null)[] = [];
    await batches.run(id, 'lost', async (job) => {
      const { listing } = sealedOf(job);
      if (!listing) return batches.success(job.metadata.name);
      listings.push(listing.cursor);
      if (++at === 2) await batches.failure(job.metadata.name, { reason: 'RunnerLost', status: 500 });
      else await endListing(job.metadata.name, at === 1 ? { names: ['a.mp4'], next: 'a.mp4' } : { names: ['b.mp4'] });
      // Not after the pause between two tries.
      await api.stored.sql(`update batch_items set not_before = '-infinity' where batch_id = $1 and n = 0`, [id]);
    });
    assert.deepEqual(listings, [null, 'a.mp4', 'a.mp4']);
    assert.deepEqual(
      (await batches.items(id)).map(({ state }) => state),
      ['success', 'success', 'success'],
    );
  });

  const deposeDriver = () =>
    api.stored.sql(
      `update batch_driver set holder = gen_random_uuid(), epoch = epoch + 1, until = now() + interval '1 hour'`,
    );

  it('ends with an error when the result of its listing is gone', async () => {
    const { id } = await created('s3://gone/', {}, { tries: 1 });
    await until('it lists', async () => (await batches.jobs('gone')).length === 1);
    await deposeDriver();
    const [job] = await batches.jobs('gone');
    await endListing(job!.metadata.name, { names: ['a.mp4'] });
    await api.stored.sql('delete from envelopes where id = $1', [job!.metadata.name]);
    await api.stored.sql('update batch_driver set until = now()');
    await batches.untilIn(id, 'ended');
    const end = await read(id);
    assert.deepEqual([end.items, end.errors], [1, [{ code: 'InternalError', count: 1 }]]);
  });

  it('takes a page that ended while nobody drove, once', async () => {
    const { id } = await created('s3://between/');
    await until('it lists', async () => (await batches.jobs('between')).length === 1);
    await deposeDriver();
    const [job] = await batches.jobs('between');
    await endListing(job!.metadata.name, { names: ['a.mp4', 'b.mp4'], next: 'b.mp4' });
    await api.stored.sql('update batch_driver set until = now()');
    await run(id, 'between', ({ cursor }) => (cursor === 'b.mp4' ? { names: ['c.mp4'] } : 'fails'));
    assert.deepEqual(
      (await batches.items(id)).map(({ ref }) => ref),
      [null, 'a.mp4', 'b.mp4', 'c.mp4'],
    );
  });

  for (const [what, output] of [
    ['null', 'null'],
    ['no JSON', '{'],
    ['more names than a runner sends', JSON.stringify({ ...NOTHING, names: Array(5_001).fill('a') })],
    ['a longer cursor than a store has', JSON.stringify({ ...NOTHING, next: 'a'.repeat(6_145) })],
  ] as const)
    it(`ends with an error whose runner sends ${what}`, async () => {
      const { id } = await created('s3://untrue/', {}, { tries: 1 });
      await batches.run(id, 'untrue', ({ metadata: { name } }) => endWith(name, output));
      const end = await read(id);
      assert.deepEqual([end.items, end.errors], [1, [{ code: 'InternalError', count: 1 }]]);
    });

  it('takes in a page while the batches of other accounts go on', async () => {
    const other = await batches.account('beside');
    const { id } = await created('s3://slow/');
    const client = new pg.Client({ connectionString: api.stored.server.url });
    await client.connect();
    const waits = async () => {
      const { rows } = await client.query(
        `select pid from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`,
      );
      return rows.map(({ pid }) => pid as number);
    };
    try {
      await client.query('begin');
      await client.query(`select pg_advisory_xact_lock(hashtext('probeyard.batches'), hashint8($1))`, [api.userId]);
      await until('it lists', async () => (await batches.jobs('slow')).length === 1);
      await endListing((await batches.jobs('slow'))[0]!.metadata.name, { names: ['a.mp4'] });
      await until('the page waits', async () => (await waits()).length === 1);
      const before = await waits();
      const beside = await batches.create({ items: ['https://beside.test/a.mp4'] }, other.token);
      await batches.run(beside.id, 'beside.test', ({ metadata: { name } }) => batches.success(name));
      assert.deepEqual(await waits(), before);
    } finally {
      await client.query('rollback');
      await client.end();
    }
    await run(id, 'slow', () => ({}));
    assert.equal((await read(id)).items, 2);
  });

  it('takes in a page while that of another batch of its account cannot be recorded', async () => {
    const { store } = api.wired.deps;
    const { appendPage } = store;
    const { id: late } = await created('s3://late-page/');
    const job = await until('it lists', async () => (await batches.jobs('late-page'))[0]);
    store.appendPage = (page) =>
      page.batch === late ? Promise.reject(new StoreError('timeout', 'late')) : appendPage(page);
    await endListing(job.metadata.name, { names: ['a.mp4'] });
    const { id } = await created('s3://other-page/');
    await run(id, 'other-page', () => ({ names: ['b.mp4'] }));
    store.appendPage = appendPage;
    await run(late, 'late-page', () => ({}));
    assert.equal((await read(late)).counts['success'], 2);
  });

  it('stops, and keeps its place, when its token is revoked while it lists', async () => {
    const { token, tokenId } = await batches.account('revoked');
    const { id } = await batches.create({ probe: ONLY, bucket: { url: 's3://revoked/' }, tries: 1 }, token);
    await until('it lists', async () => (await batches.jobs('revoked')).length === 1);
    await api.stored.sql('update tokens set revoked_at = now() where id = $1', [tokenId]);
    await endListing((await batches.jobs('revoked'))[0]!.metadata.name, { names: ['a.mp4'] });
    await until('it stopped', async () => (await api.stored.store.readBatch(id))?.reason === 'TokenInactive');
    const { counts } = (await api.stored.store.readBatch(id))!;
    assert.deepEqual([counts.waiting, counts.error], [1, 0]);
  });

  it('is cancelled while it lists', async () => {
    const { id } = await created('s3://cancelled/');
    await until('it lists', async () => (await batches.jobs('cancelled')).length === 1);
    const [job] = await batches.jobs('cancelled');
    await batches.act(id, 'cancel');
    await endListing(job!.metadata.name, { names: ['a.mp4'], next: 'a.mp4' });
    const end = (await batches.untilIn(id, 'ended')) as BucketBatch;
    assert.deepEqual([end.reason, end.items, end.bucket?.listed], ['Cancelled', 1, false]);
  });

  it('stops while its account has too many items, and goes on from there', async () => {
    const { id } = await created('s3://full/');
    await api.stored.sql(`update batches set items = items + 500 where id = $1`, [id]);
    await until('it lists', async () => (await batches.jobs('full')).length === 1);
    await endListing((await batches.jobs('full'))[0]!.metadata.name, { names: ['a.mp4'] });
    const stopped = await batches.untilIn(id, 'stopped');
    assert.equal(stopped.reason, 'TooManyItems');
    await api.stored.sql(`update batches set items = items - 500 where id = $1`, [id]);
    await batches.act(id, 'resume');
    await run(id, 'full', () => ({ names: ['a.mp4'] }));
    assert.equal((await read(id)).items, 2);
  });

  it('gives its items, and not its listing, to a later batch', async () => {
    const { id } = await created('s3://again/');
    await run(id, 'again', () => ({ names: ['a.mp4'] }));
    const later = await batches.create({ probe: KEEPER, from: { batch: id, only: 'all' } });
    assert.deepEqual(
      (await batches.items(later.id)).map(({ url, ref }) => [url, ref]),
      [['s3://again/a.mp4', 'a.mp4']],
    );
    await batches.act(later.id, 'cancel');
  });

  for (const [what, fields, text] of [
    [
      'a scheme that is not listed',
      { bucket: { url: 'https://films/a' } },
      /^bucket\.url: must begin with s3:\/\/, gs:\/\/, az:\/\//,
    ],
    ['keys', { bucket: { url: 's3://KEY:SECRET@films/' } }, /^bucket\.url: must have no keys and no query/],
    ['a query', { bucket: { url: 's3://films/?credential=films' } }, /^bucket\.url: must have no keys and no query/],
    [
      'a container without a name',
      { bucket: { url: 'az://account/' } },
      /^bucket\.url must name an account, a container/,
    ],
    [
      'a prefix that climbs',
      { bucket: { url: 's3://films/../a/' } },
      /^bucket\.?.*credential: is not accepted with an address/,
    ],
    ['a time that is none', { bucket: { url: 's3://films/', modified_after: 'yesterday' } }, /^bucket\.modified_after/],
    ['items, too', { bucket: { url: 's3://films/' }, items: ['https://a.test/'] }, /only one of them is accepted/],
    [
      'more than a job can have',
      { bucket: { url: 's3://films/', include: LONG, exclude: LONG } },
      /^bucket: must have at most 10832 bytes/,
    ],
    [
      'too many patterns',
      { bucket: { url: 's3://films/', include: Array.from({ length: 11 }, () => '*') } },
      /^bucket\.include/,
    ],
  ] as const)
    it(`is refused with ${what}`, async () => {
      const response = await batches.post({ probe: KEEPER, ...fields });
      const { error } = (await response.json()) as { error: { message: string } | string };
      assert.equal(response.status, 400);
      assert.match(typeof error === 'string' ? error : error.message, text);
    });
});
