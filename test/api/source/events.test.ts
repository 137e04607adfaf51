/** Events of a bucket: which objects they name, who may send them, and that they are listed no second time. */
import assert from 'node:assert/strict';
import pg from 'pg';
import type { Filter } from '../../../src/source/listing/listing.ts';
import { objectIn, placeOf, recordsIn } from '../../../src/service/api/source/events.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { until } from '../../until.ts';
import { pageOf, sourcesOf, type Bucket } from './fixture.ts';

const NOW = Date.UTC(2026, 10, 27, 18);
const ANY: Filter = {
  include: ['*.mp4'],
  exclude: [],
  minBytes: null,
  maxBytes: 100,
  modifiedAfter: null,
  modifiedBefore: null,
};

const record = (
  key: string,
  { bucket = 'films', object = {}, of = {}, ...more }: Record<string, object | string> = {},
) => ({
  eventName: 'ObjectCreated:Put',
  eventTime: '2026-11-27T17:59:00.000Z',
  s3: {
    bucket: { name: bucket, arn: 'arn:aws:s3:::films', ...(of as object) },
    object: { key, size: 7, eTag: '1', ...(object as object) },
  },
  ...more,
});

describe('an event of a bucket', () => {
  const named = (one: unknown) => objectIn(one, placeOf('s3://films/in/'), ANY, NOW)?.name ?? null;
  for (const [what, one, name] of [
    ['of a new object', record('in/a.mp4'), 'in/a.mp4'],
    ['with the prefix s3 in its name', record('in/a.mp4', { eventName: 's3:ObjectCreated:Copy' }), 'in/a.mp4'],
    ['with an encoded key', record('in/a+b%2B%C3%BC%25.mp4'), 'in/a b+ü%.mp4'],
    ['with a plain key', record('in/a b+ü%.mp4'), 'in/a b+ü%.mp4'],
    [
      'with a plain key that could be encoded',
      record('in/a+b.mp4', { of: { arn: 'arn:aws:s3:::/films/in/a+b.mp4' } }),
      'in/a+b.mp4',
    ],
    ['with a key that cannot be decoded', record('in/%ff.mp4'), 'in/%ff.mp4'],
    ['of a removed object', record('in/a.mp4', { eventName: 'ObjectRemoved:Delete' }), null],
    ['of another bucket', record('in/a.mp4', { bucket: 'other' }), null],
    ['outside of the prefix', record('out/a.mp4'), null],
    ['that is not wanted', record('in/a.txt'), null],
    ['that is too large', record('in/a.mp4', { object: { size: 101 } }), null],
    ['without an ETag', record('in/a.mp4', { object: { eTag: null } }), null],
    ['with a name that climbs', record('in/../a.mp4'), null],
    ['without a key', { ...record('x'), s3: { bucket: { name: 'films' } } }, null],
    ['that is a text', 'in/a.mp4', null],
  ] as const)
    it(what, () => assert.equal(named(one), name));

  it('is not from the future', () => {
    const at = (eventTime: string) =>
      objectIn(record('in/a.mp4', { eventTime }), placeOf('s3://films/in/'), ANY, NOW)?.at;
    assert.deepEqual(
      ['2026-11-27T17:59:00.000Z', '2099-01-01T00:00:00Z', 'soon', '1969-01-01T00:00:00Z'].map(at),
      [NOW - 60_000, NOW, NOW, 0].map((time) => new Date(time)),
    );
  });

  const one = record('in/a.mp4');
  for (const [what, message, count] of [
    ['of S3', { Records: [one, one] }, 2],
    ['that is a record', one, 1],
    ['that is a CloudEvent of a record', { specversion: '1.0', data: one }, 1],
    ['that is a CloudEvent of records', { data: { Records: [one] } }, 1],
    ['of SNS', { Type: 'Notification', Message: JSON.stringify({ Records: [one] }) }, 1],
    ['of SNS, which asks for a confirmation', { Type: 'SubscriptionConfirmation', Message: 'You have chosen' }, 0],
    ['of SNS within SNS', { Message: JSON.stringify({ Message: JSON.stringify(one) }) }, 0],
    ['that is a test', { Event: 's3:TestEvent', Bucket: 'films' }, 0],
  ] as const)
    it(`comes in a message ${what}`, () => assert.equal(recordsIn(message).length, count));
});

describe('events of a source', function () {
  this.timeout(90_000);
  let api: ApiFixture;
  let sources: ReturnType<typeof sourcesOf>;
  before(async () => {
    api = await startApi();
    sources = sourcesOf(api);
  });
  after(() => api.stop());

  const send = (path: string, message: unknown, headers: Record<string, string> = {}) =>
    fetch(`${api.url}/v1/source/${path}`, {
      method: 'POST',
      body: typeof message === 'string' ? message : JSON.stringify(message),
      headers: { 'Content-Type': 'application/json', ...headers },
    });
  const event = (bucket: string, key: string, eTag: string) => ({
    Records: [record(key, { bucket, object: { eTag } })],
  });

  it('are probed once, whether they come again or are listed', async () => {
    const objects: Bucket = new Map();
    const { id, events_key: key } = await sources.create({ bucket: { url: 's3://events/' } });
    await sources.run(
      'events',
      () => pageOf(objects),
      async () => (await api.stored.store.readSource(id))?.lastListing !== null,
    );
    objects.set('a.mp4', '"1"');
    for (let time = 1; time <= 3; time++) {
      const answer = await send(`${id}/events?key=${key}`, event('events', 'a.mp4', '1'));
      assert.deepEqual([answer.status, await answer.json()], [200, { noted: 1, ignored: 0 }]);
    }
    const probed = async (count: number) =>
      (await sources.probed(id)).length === count && (await api.stored.store.openBatchesOf(id)).length === 0;
    await sources.run(
      'events',
      () => pageOf(objects),
      () => probed(1),
    );
    await sources.act(id, 'list');
    const { at } = (await sources.read(id)).last_listing!;
    await sources.run(
      'events',
      () => pageOf(objects),
      async () => (await sources.read(id)).last_listing!.at !== at && (await probed(1)),
    );
    await send(`${id}/events?key=${key}`, event('events', 'b.mp4', '1'), { 'Content-Type': 'text/plain' });
    await sources.run(
      'events',
      () => pageOf(objects),
      () => probed(2),
    );
    assert.deepEqual(await sources.probed(id), ['a.mp4', 'b.mp4']);
    const { events } = (await sources.read(id)) as unknown as { events: { noted: number; ignored: number } };
    assert.deepEqual([events.noted, events.ignored], [4, 0]);
  });

  it('are taken from who has the key or a token of the user, and from nobody else', async () => {
    const { id, events_key: key } = await sources.create({
      bucket: { url: 's3://senders/' },
      every: null,
      existing: false,
    });
    const other = await sources.create({ bucket: { url: 's3://senders/' }, every: null, existing: false });
    const { token } = await sources.batches.account('sender');
    const message = event('senders', 'a.mp4', '1');
    const bearer = (text: string) => ({ Authorization: `Bearer ${text}` });
    for (const [path, headers, status] of [
      [`${id}/events?key=${key}`, {}, 200],
      [`${id}/events`, bearer(api.token), 200],
      [`${id}/events?token=${api.token}`, {}, 200],
      [`${id}/events`, {}, 401],
      [`${id}/events?key=${other.events_key}`, {}, 401],
      [`${id}/events?key=${key}&key=${key}`, {}, 401],
      [`${id}/events?key=`, bearer(api.token), 401],
      [`01937c5e-8a00-7000-8000-000000000001/events?key=${key}`, {}, 401],
      [`x/events?key=${key}`, {}, 401],
      [`${id}/events`, bearer(token), 404],
    ] as const)
      assert.equal((await send(path, message, headers)).status, status, path);
    assert.ok(!api.log.some((line) => line.includes(key)));
    const [row] = await api.stored.sql<{ text: string }>('select s::text text from sources s where id = $1', [id]);
    assert.ok(!row!.text.includes(key));
  });

  it('are refused of a key that was replaced, and on record is whom a key was shown', async () => {
    const { id, events_key: old } = await sources.create({ bucket: { url: 's3://leaked/' }, every: null });
    const { token } = await sources.batches.account('no-owner');
    assert.equal((await sources.call(`/${id}/key`, { method: 'POST' }, token)).status, 404);
    const renewed = await sources.act(id, 'key');
    const { events_key: key } = (await renewed.json()) as { events_key: string };
    assert.equal(renewed.status, 200);
    const sent = async (secret: string) =>
      (await send(`${id}/events?key=${secret}`, event('leaked', 'a.mp4', '1'))).status;
    assert.deepEqual([await sent(old), await sent(key)], [401, 200]);
    const entries = await api.stored.sql('select action, changes from audit where subject = $1 order by id', [
      `source/${id}`,
    ]);
    const [changed, seen] = ['changed', 'shown'].map((redacted) => ({ field: 'events_key', redacted }));
    assert.deepEqual(entries, [
      { action: 'createSource', changes: [seen] },
      { action: 'renewSourceKey', changes: [changed, seen] },
    ]);
    await sources.call(`/${id}`, { method: 'DELETE' });
    assert.equal((await sources.act(id, 'key')).status, 409);
  });

  it('of an object that is not there: it is forgotten after a while', async () => {
    const { id, events_key: key } = await sources.create({
      bucket: { url: 's3://invented/' },
      every: null,
      existing: false,
    });
    await send(`${id}/events?key=${key}`, event('invented', 'a.mp4', '1'));
    const leaving = `select from source_objects where source_id = $1 and leaves_at < now() + interval '2 hours'`;
    await until(
      'it has failed',
      async () => {
        for (const { metadata } of await sources.batches.jobs('invented')) await sources.fails(metadata.name, 404);
        return (await api.stored.sql(leaving, [id])).length > 0;
      },
      60_000,
    );
    assert.equal((await sources.read(id)).objects, 1);
    await api.stored.sql('update source_objects set leaves_at = now() where source_id = $1', [id]);
    await until('it is forgotten', async () => (await sources.read(id)).objects === 0);
    await sources.call(`/${id}`, { method: 'DELETE' });
  });

  it('of SNS, which asks for a confirmation: it is shown, and its address neither opened nor kept', async () => {
    const { id, events_key: key } = await sources.create({ bucket: { url: 's3://topic/' }, every: null });
    const confirmation = async () => {
      const { events } = (await sources.read(id)) as unknown as { events: Record<string, unknown> };
      return [events['confirmation_waiting'], events['confirmation_host']];
    };
    const message = {
      Type: 'SubscriptionConfirmation',
      Token: 'geheim',
      SubscribeURL: 'https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=geheim',
    };
    assert.deepEqual(await confirmation(), [false, null]);
    for (const _ of [1, 2])
      assert.equal((await send(`${id}/events?key=${key}`, message, { 'Content-Type': 'text/plain' })).status, 200);
    assert.deepEqual(await confirmation(), [true, 'sns.eu-west-1.amazonaws.com']);
    assert.equal(api.log.filter((line) => line.includes('SNS waits') && line.includes(id)).length, 1);
    const [row] = await api.stored.sql<{ text: string }>('select s::text text from sources s where id = $1', [id]);
    assert.ok(!row!.text.includes('geheim') && !api.log.some((line) => line.includes('geheim')));
    await send(`${id}/events?key=${key}`, { ...message, SubscribeURL: 'https://a b/' });
    assert.deepEqual(await confirmation(), [true, null]);
    const notified = { Type: 'Notification', Message: JSON.stringify(event('topic', 'a.mp4', '1')) };
    await send(`${id}/events?key=${key}`, notified);
    assert.deepEqual(await confirmation(), [false, null]);
    await send(`${id}/events?key=${key}`, message);
    await send(`${id}/events?key=${key}`, event('topic', 'a.mp4', '2'));
    assert.deepEqual(await confirmation(), [true, 'sns.eu-west-1.amazonaws.com'], 'this may be of another sender');
    await send(`${id}/events?key=${key}`, event('topic', 'a.mp4', '3'), { 'x-amz-sns-rawdelivery': 'true' });
    assert.deepEqual(await confirmation(), [false, null]);
    await sources.call(`/${id}`, { method: 'DELETE' });
  });

  it('leave connections of the pool to others while their source is locked', async () => {
    const { id, events_key: key } = await sources.create({
      bucket: { url: 's3://locked/' },
      every: null,
      existing: false,
    });
    const client = new pg.Client({ connectionString: api.stored.server.url });
    await client.connect();
    const [{ max }, waits] = [
      api.stored.store.connections(),
      async () => {
        const { rows } = await client.query(
          `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return rows.length;
      },
    ];
    await client.query('begin');
    await client.query('select from sources where id = $1 for update', [id]);
    const sent = Array.from({ length: 2 * max }, (_, n) =>
      send(`${id}/events?key=${key}`, event('locked', `${n}.mp4`, '1')),
    );
    try {
      await until('one waits', async () => (await waits()) > 0);
      assert.equal((await sources.read(id)).id, id);
      assert.ok((await waits()) < max / 2);
      const large = { ...event('locked', 'large.mp4', '1'), more: 'x'.repeat(250_000) };
      const refused = Promise.race(
        Array.from({ length: 40 }, async () => {
          const { status } = await send(`${id}/events?key=${key}`, large);
          return status;
        }),
      );
      assert.equal(await refused, 429, 'what waits is held in memory');
    } finally {
      await client.query('rollback');
      await client.end();
    }
    assert.deepEqual(new Set((await Promise.all(sent)).map(({ status }) => status)), new Set([200]));
    await sources.call(`/${id}`, { method: 'DELETE' });
  });

  it('count by themselves against the rate of the account, however many a message has', async () => {
    const { token } = await sources.batches.account('loud');
    const { id, events_key: key } = await sources.create({ bucket: { url: 's3://loud/' }, every: null }, token);
    const message = { Records: Array.from({ length: 100 }, () => 1) };
    let status = 200;
    for (let sent = 0; status === 200 && sent < 200; sent++)
      ({ status } = await send(`${id}/events?key=${key}`, message));
    assert.equal(status, 429);
  });

  it('wait in a paused source, and are probed when it is resumed', async () => {
    const { id, events_key: key } = await sources.create({
      bucket: { url: 's3://later/' },
      every: null,
      existing: false,
    });
    await sources.act(id, 'pause');
    assert.equal((await send(`${id}/events?key=${key}`, event('later', 'a.mp4', '1'))).status, 200);
    await sources.act(id, 'resume');
    await sources.run(
      'later',
      () => 403,
      async () => (await sources.probed(id)).length === 1,
    );
    await sources.call(`/${id}`, { method: 'DELETE' });
    await until('it is gone', async () => (await send(`${id}/events?key=${key}`, {})).status === 401);
  });

  for (const [what, message, status] of [
    ['no JSON', '{', 400],
    ['a list', [], 400],
    ['more records than it may', { Records: Array.from({ length: 101 }, () => 1) }, 400],
    ['a larger message than it may', `{"x": "${'x'.repeat(256 * 1024)}"}`, 400],
    ['nothing', {}, 200],
  ] as const)
    it(`a message that is ${what} is answered with ${status}`, async () => {
      const { id, events_key: key } = await sources.create({
        bucket: { url: 's3://odd/' },
        every: null,
        existing: false,
      });
      assert.equal((await send(`${id}/events?key=${key}`, message)).status, status);
      await sources.call(`/${id}`, { method: 'DELETE' });
      await until('it is gone', async () => (await api.stored.store.readSource(id)) === null);
    });
});
