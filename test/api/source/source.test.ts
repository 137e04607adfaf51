/** Sources: each version of an object of a bucket becomes one item, whatever lists it and however often. */
import assert from 'node:assert/strict';
import { startApi, type ApiFixture } from '../fixture.ts';
import { until } from '../../until.ts';
import { pageOf, sourcesOf, type Bucket, type SourceAnswer } from './fixture.ts';

describe('source', function () {
  this.timeout(90_000);
  let api: ApiFixture;
  let sources: ReturnType<typeof sourcesOf>;
  before(async () => {
    api = await startApi();
    sources = sourcesOf(api);
  });
  after(() => api.stop());

  const listed = async (id: string) => (await api.stored.store.readSource(id))?.lastListing ?? null;
  /** Until these are probed, and no batch of it is open. */
  const untilProbed = (id: string, bucket: string, objects: Bucket, names: string[]) =>
    sources.run(
      bucket,
      () => pageOf(objects),
      async () =>
        (await sources.probed(id)).length >= names.length && (await api.stored.store.openBatchesOf(id)).length === 0,
    );
  const listAgain = async (id: string, bucket: string, objects: Bucket): Promise<void> => {
    const before = (await listed(id))?.at;
    assert.equal((await sources.act(id, 'list')).status, 202);
    await sources.run(
      bucket,
      () => pageOf(objects),
      async () => (await listed(id))?.at !== before && (await api.stored.store.openBatchesOf(id)).length === 0,
    );
  };

  it('probes each version of an object once, and leaves no batch of a listing', async () => {
    const objects: Bucket = new Map([
      ['in/a b.mp4', '1'],
      ['in/ü.mp4', '1'],
    ]);
    const created = await sources.create({ name: 'films', bucket: { url: 's3://once/in/' } });
    assert.deepEqual([created.state, created.objects, created.last_listing], ['running', 0, null]);
    assert.ok(created.events_key.length >= 32);
    const { id } = created;
    await untilProbed(id, 'once', objects, [...objects.keys()]);
    assert.deepEqual(await sources.probed(id), ['in/a b.mp4', 'in/ü.mp4']);
    const after = await sources.read(id);
    assert.deepEqual([after.objects, after.last_listing?.error, after.last_listing?.found], [2, null, 2]);
    assert.equal('events_key' in after, false);
    assert.ok(Date.parse(after.next_listing_at!) > Date.now() + 3_000_000);

    await listAgain(id, 'once', objects);
    assert.equal((await sources.probed(id)).length, 2);
    objects.set('in/a b.mp4', '2').set('in/new.mp4', '1');
    await listAgain(id, 'once', objects);
    await untilProbed(id, 'once', objects, ['in/a b.mp4', 'in/a b.mp4', 'in/new.mp4', 'in/ü.mp4']);
    assert.deepEqual(await sources.probed(id), ['in/a b.mp4', 'in/a b.mp4', 'in/new.mp4', 'in/ü.mp4']);
    const batches = await sources.batchesOf(id);
    assert.deepEqual(
      batches.map(({ state, items }) => [state, items]),
      [
        ['ended', 2],
        ['ended', 2],
      ],
    );
    const all = (await (await sources.batches.call('')).json()) as { batches: { source: string | null }[] };
    assert.equal(all.batches.filter(({ source }) => source === id).length, 2);
  });

  it('records a listing that fails, and leaves the source running', async () => {
    const { id } = await sources.create({ bucket: { url: 's3://refused/' }, tries: 1 });
    await sources.run(
      'refused',
      () => 403,
      async () => (await listed(id)) !== null,
    );
    const source = await sources.read(id);
    assert.deepEqual(
      [source.state, source.last_listing?.error, source.last_listing?.found],
      ['running', 'http-403', 0],
    );
    assert.ok(Date.parse(source.next_listing_at!) > Date.now());
    assert.deepEqual(await sources.batchesOf(id), []);
  });

  it('probes only what is new, if that is asked for', async () => {
    const objects: Bucket = new Map([['old.mp4', '1']]);
    const { id } = await sources.create({ bucket: { url: 's3://existing/' }, existing: false });
    await sources.run(
      'existing',
      () => pageOf(objects),
      async () => (await listed(id)) !== null,
    );
    assert.equal((await sources.read(id)).objects, 1);
    objects.set('old.mp4', '2');
    await listAgain(id, 'existing', objects);
    await untilProbed(id, 'existing', objects, ['old.mp4']);
    assert.deepEqual(await sources.probed(id), ['old.mp4']);
    assert.equal((await sources.batchesOf(id)).length, 1);
  });

  it('begins nothing while it is paused', async () => {
    const objects: Bucket = new Map([['a.mp4', '1']]);
    const { id } = await sources.create({ bucket: { url: 's3://paused/' } });
    await sources.act(id, 'pause');
    assert.equal((await sources.act(id, 'list')).status, 409);
    // A round of the sources lies between.
    const other = await sources.create({ bucket: { url: 's3://beside/' } });
    await until('another lists', async () => (await sources.batches.jobs('beside')).length === 1);
    assert.equal((await sources.batches.jobs('paused')).length, 0);
    await sources.act(id, 'resume');
    await untilProbed(id, 'paused', objects, ['a.mp4']);
    await sources.call(`/${other.id}`, { method: 'DELETE' });
  });

  it('stops when its token is revoked', async () => {
    const { token, tokenId } = await sources.batches.account('revoked');
    const { id } = await sources.create({ bucket: { url: 's3://revoked/' } }, token);
    await api.stored.sql('update tokens set revoked_at = now() where id = $1', [tokenId]);
    const state = async () => await api.stored.store.readSource(id);
    await until(
      'it stopped',
      async () => (await state())?.state === 'stopped' || (await state())?.lastListing !== null,
    );
    await api.stored.sql('update sources set list_at = now() where id = $1', [id]);
    await until('it stopped', async () => (await state())?.state === 'stopped');
    assert.equal((await state())?.reason, 'TokenInactive');
  });

  it('stops when the key of its fields is lost, and can be read and deleted', async () => {
    const idle = { every: null, existing: false };
    const { id } = await sources.create({ bucket: { url: 's3://lost-key/' }, ...idle });
    const other = await sources.create({ bucket: { url: 's3://other-key/' }, ...idle });
    const bodyOf = 'select body from sources where id = $2';
    await api.stored.sql(`update sources set body = (${bodyOf}), list_at = now() where id = $1`, [id, other.id]);
    await until('it stopped', async () => (await api.stored.store.readSource(id))?.state === 'stopped');
    const { reason, text, request } = (await sources.read(id)) as SourceAnswer & { request: object };
    assert.deepEqual([reason, request], ['AddressesLost', {}]);
    assert.equal(text, 'its addresses can no longer be decrypted; create it anew');
    for (const one of [id, other.id]) assert.equal((await sources.call(`/${one}`, { method: 'DELETE' })).status, 202);
  });

  it('is deleted with what is known of its objects, and its batches stay', async () => {
    const objects: Bucket = new Map([['a.mp4', '1']]);
    const { id } = await sources.create({ bucket: { url: 's3://deleted/' } });
    await untilProbed(id, 'deleted', objects, ['a.mp4']);
    assert.equal((await sources.call(`/${id}`, { method: 'DELETE' })).status, 202);
    await until('it is gone', async () => (await api.stored.store.readSource(id)) === null);
    assert.equal((await sources.call(`/${id}`)).status, 404);
    assert.equal((await sources.batchesOf(id)).length, 1);
    assert.deepEqual(await api.stored.sql('select from source_objects where source_id = $1', [id]), []);
  });

  it('is deleted while it lists', async () => {
    const { id } = await sources.create({ bucket: { url: 's3://going/' } });
    await until('it lists', async () => (await sources.batches.jobs('going')).length === 1);
    await sources.call(`/${id}`, { method: 'DELETE' });
    await sources.run(
      'going',
      () => pageOf(new Map()),
      async () => (await api.stored.store.readSource(id)) === null,
    );
    assert.deepEqual(await api.stored.sql('select from batches where source_id = $1', [id]), []);
  });

  it('goes with its user', async () => {
    const { token, userId } = await sources.batches.account('erased');
    const { id } = await sources.create({ bucket: { url: 's3://erased/' } }, token);
    await until('it lists', async () => (await sources.batches.jobs('erased')).length === 1);
    await api.stored.store.eraseUser(userId);
    await until('it is gone', async () => (await api.stored.store.readSource(id)) === null);
  });

  it('shows what it makes batches of, and not where their webhooks go', async () => {
    const webhook = 'https://user:secret@hooks.test/x?token=secret';
    const created = await sources.create({
      bucket: { url: 's3://shown/', include: ['*.mp4'] },
      webhook_url: webhook,
      tries: 2,
    });
    const { request } = (await sources.read(created.id)) as unknown as { request: Record<string, unknown> };
    assert.deepEqual([request['tries'], request['probe']], [2, { only: 'ffprobe' }]);
    const rows = await api.stored.sql('select * from sources where id = $1', [created.id]);
    for (const text of [JSON.stringify(await sources.read(created.id)), JSON.stringify(rows), ...api.log])
      assert.ok(!text.includes('secret@') && !text.includes('token=secret'), text);
    await sources.call(`/${created.id}`, { method: 'DELETE' });
  });

  it('is not there for another account', async () => {
    const { token } = await sources.batches.account('other');
    const { id } = await sources.create({ bucket: { url: 's3://own/' } });
    for (const [path, method] of [
      [`/${id}`, 'GET'],
      [`/${id}`, 'DELETE'],
      [`/${id}/pause`, 'POST'],
    ])
      assert.equal((await sources.call(path!, { method: method! }, token)).status, 404);
    assert.deepEqual(await (await sources.call('', {}, token)).json(), { sources: [], next: null });
    await sources.call(`/${id}`, { method: 'DELETE' });
  });

  for (const [what, fields, text] of [
    ['without a bucket', {}, /^bucket/],
    ['with items', { bucket: { url: 's3://a/' }, items: ['https://a.test/'] }, /^items/],
    ['over an address that is not listed', { bucket: { url: 'https://a/' } }, /^bucket\.url: must begin with s3/],
    ['listed more often than each minute', { bucket: { url: 's3://a/' }, every: 59 }, /^every/],
    ['with a tool that is not there', { bucket: { url: 's3://a/' }, probe: { ffprobe: { version: '1.0' } } }, /^probe/],
  ] as const)
    it(`is refused ${what}`, async () => {
      const response = await sources.post(fields);
      const { error } = (await response.json()) as { error: { message: string } | string };
      assert.equal(response.status, 400);
      assert.match(typeof error === 'string' ? error : error.message, text);
    });
});

it('a source of an account with room for fewer items than are due makes smaller batches', async function () {
  this.timeout(90_000);
  const api = await startApi({ batchMaxItems: 2 });
  try {
    const sources = sourcesOf(api);
    const objects: Bucket = new Map(['a', 'b', 'c'].map((name) => [`${name}.mp4`, '1']));
    const { id } = await sources.create({ bucket: { url: 's3://narrow/' } });
    await sources.run(
      'narrow',
      () => pageOf(objects),
      async () => (await sources.probed(id)).length === 3,
    );
    assert.deepEqual(
      (await sources.batchesOf(id)).map(({ items }) => items),
      [2, 1],
    );
  } finally {
    await api.stop();
  }
});
