/** The webhook of a batch: sent once when it has ended, signed as those of requests. */
import assert from 'node:assert/strict';
import { Webhook } from 'standardwebhooks';
import { until } from '../../until.ts';
import { secretText, startReceiver, type Receiver } from '../../webhooks/receiver.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { batchesOf, type BatchAnswer } from './fixture.ts';

describe('batch: its webhook', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  let receiver: Receiver;
  let batches: ReturnType<typeof batchesOf>;
  before(async () => {
    [api, receiver] = await Promise.all([
      startApi({ allowWebhooks: [{ cidr: '127.0.0.1/32' }], denyCidrs: [] }),
      startReceiver(),
    ]);
    batches = batchesOf(api);
  });
  after(async () => {
    await receiver.close();
    await api.stop();
  });

  const arrived = (id: string) =>
    until('the webhook has arrived', () => receiver.received.find(({ body }) => body.includes(id)));
  const signed = async ({ headers, body }: Awaited<ReturnType<typeof arrived>>) => {
    const [row] = await api.stored.sql<{ webhook_secret: Buffer }>('select webhook_secret from tokens where id = $1', [
      api.tokenId,
    ]);
    const key = await api.wired.deps.accounts.openWebhookSecret(row!.webhook_secret, api.tokenId);
    return new Webhook(secretText(key)).verify(body, headers as Record<string, string>) as BatchAnswer &
      Record<'type' | 'timestamp' | 'webhook_url' | 'ended_at', string>;
  };
  const items = ['https://hooked.test/a.mp4', 'https://hooked.test/b.mp4'];

  it('is the batch, once, when its last item has ended', async () => {
    const { id } = await batches.create({ items, webhook_url: `${receiver.url}/hook?key=s3cret` });
    const first = await api.job('hooked.test');
    await batches.success(first.metadata.name);
    await until('one has ended', async () => (await api.stored.store.readBatch(id))?.counts.success === 1);
    assert.deepEqual(await api.stored.sql('select id from webhook_outbox where request_id = $1', [id]), []);
    await batches.run(id, 'hooked.test', ({ metadata }) => batches.success(metadata.name));
    const { type, timestamp, ...batch } = await signed(await arrived(id));
    assert.equal(type, 'batch.ended');
    assert.equal(timestamp, batch.ended_at);
    assert.deepEqual(batch, await batches.read(id));
    assert.deepEqual([batch.reason, batch.counts['success']], ['Completed', 2]);
    assert.equal(batch.webhook_url, `${receiver.url}/hook?key=REDACTED`);
    assert.equal(receiver.received.filter(({ body }) => body.includes('batch.ended')).length, 1);
    const rows = await api.stored.sql('select state from webhook_outbox where request_id = $1', [id]);
    assert.equal(rows.length, 1);
  });

  it('is also sent once for each so many items that have ended', async () => {
    const { id } = await batches.create({
      items: Array.from({ length: 230 }, (_, n) => `https://every.test/${n}.mp4`),
      webhook_url: `${receiver.url}/hook`,
      webhook_every: 100,
      concurrency: 4,
      per_host: 8,
      rate: 1_000_000,
    });
    await batches.run(id, 'every.test', ({ metadata }) => batches.success(metadata.name));
    const sent = () => receiver.received.filter(({ body }) => body.includes(id));
    await until('three have arrived', () => sent().length === 3);
    const all = (await Promise.all(sent().map(signed))) as unknown as Record<string, unknown>[];
    assert.deepEqual(
      all.map(({ type, progress = 0, webhook_every: every }) => `${type} ${progress} of ${every}`).toSorted(),
      ['batch.ended 0 of 100', 'batch.progress 100 of 100', 'batch.progress 200 of 100'],
    );
    const rows = await api.stored.sql('select progress from webhook_outbox where request_id = $1 order by 1', [id]);
    assert.deepEqual(rows, [{ progress: 0 }, { progress: 100 }, { progress: 200 }]);
  });

  it('to an address with credentials: sealed in the record, sent to the receiver, never shown', async () => {
    const address = Object.assign(new URL('/hook', receiver.url), { username: 'receiver-7', password: 'pa55word' });
    const { id } = await batches.create({ items: ['https://sealed.test/a.mp4'], webhook_url: address.href });
    // The cancellation deletes its job.
    const { metadata } = await api.job('sealed.test');
    await batches.act(id, 'cancel');
    await batches.failure(metadata.name, { status: 499, reason: 'Cancelled', error: 'cancelled' });
    const { headers, body } = await arrived(id);
    assert.equal(headers['authorization'], `Basic ${Buffer.from('receiver-7:pa55word').toString('base64')}`);
    assert.equal((JSON.parse(body) as BatchAnswer).reason, 'Cancelled');
    const rows = await api.stored.sql('select b.*, w.* from batches b join webhook_outbox w on w.request_id = b.id');
    assert.ok(!/receiver-7|pa55word/.test(JSON.stringify([rows, await batches.read(id), api.log])));
  });

  for (const [given, error] of [
    [{ webhook_every: 100 }, 'webhook_every: has an effect with webhook_url alone'],
    [{ webhook_every: 99, webhook_url: 'https://receiver.test/' }, /^webhook_every: /],
  ] as const)
    it(`is refused: ${JSON.stringify(given)}`, async () => {
      const response = await batches.post({ items, ...given });
      assert.equal(response.status, 400);
      const said = ((await response.json()) as { error: string }).error;
      if (typeof error === 'string') assert.equal(said, error);
      else assert.match(said, error);
    });

  for (const [url, error] of [
    ['ftp://receiver.test/', /^webhook_url: must begin with http:\/\/ or https:\/\/$/],
    ['nonsense', /^webhook_url: must begin with http/],
    ['http://169.254.169.254/', /^webhook_url: the address is not allowed/],
  ] as const)
    it(`is refused: ${url}`, async () => {
      const response = await batches.post({ items, webhook_url: url });
      assert.equal(response.status, 400);
      assert.match(((await response.json()) as { error: string }).error, error);
    });
});
