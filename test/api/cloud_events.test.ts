/** Webhooks as CloudEvents, read by the package of CloudEvents from what a receiver got. */
import assert from 'node:assert/strict';
import { HTTP, type CloudEvent } from 'cloudevents';
import { Webhook } from 'standardwebhooks';
import { until } from '../until.ts';
import { secretText, startReceiver, type Received, type Receiver } from '../webhooks/receiver.ts';
import { batchesOf } from './batch/fixture.ts';
import { startApi, tool, type ApiFixture } from './fixture.ts';

const asked = [{ name: 'ffprobe' as const }];
const result = { tools: [tool('ffprobe', '{"format":{}}')], ioUsage: 3 };
type Data = Record<string, any>;

describe('webhooks as CloudEvents', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  let receiver: Receiver;
  let batches: ReturnType<typeof batchesOf>;
  let source: string;
  before(async () => {
    [api, receiver] = await Promise.all([
      startApi({ allowWebhooks: [{ cidr: '127.0.0.1/32' }], denyCidrs: [] }),
      startReceiver(),
    ]);
    batches = batchesOf(api);
    source = api.wired.deps.accounts.settings.publicUrl;
  });
  after(async () => {
    await receiver.close();
    await api.stop();
  });
  beforeEach(() => {
    receiver.received.length = 0;
    receiver.answer = (response) => void response.writeHead(204).end();
  });

  const hook = () => ({ webhook_url: `${receiver.url}/hook?key=s3cret`, webhook_format: 'cloudevents' });
  const arrived = (count: number) =>
    until(`${count} webhooks have arrived`, () => (receiver.received.length >= count ? receiver.received : undefined));
  /** Both the signature and every attribute are checked. */
  async function read({ headers, body }: Received): Promise<CloudEvent<Data>> {
    const [row] = await api.stored.sql<{ webhook_secret: Buffer }>('select webhook_secret from tokens where id = $1', [
      api.tokenId,
    ]);
    const key = await api.wired.deps.accounts.openWebhookSecret(row!.webhook_secret, api.tokenId);
    new Webhook(secretText(key)).verify(body, headers as Record<string, string>);
    const event = HTTP.toEvent({ headers, body }) as CloudEvent<Data>;
    assert.ok(event.validate());
    assert.equal(headers['content-type'], 'application/cloudevents+json');
    assert.equal(event.id, headers['webhook-id']);
    assert.deepEqual([event.specversion, event.datacontenttype], ['1.0', 'application/json']);
    return event;
  }
  const probe = async (fields: object): Promise<string> => {
    const response = await api.post({ url: 'https://event.test/a.mp4?key=s3cret', only: 'ffprobe', ...fields });
    assert.equal(response.status, 202);
    return response.headers.get('x-request-id')!;
  };

  it('a request: the plain body is the data, and the id is the same in each attempt', async () => {
    receiver.answer = (response) => void response.writeHead(receiver.received.length > 1 ? 204 : 500).end();
    const id = await probe(hook());
    await api.job('event.test');
    await api.end(id, { result, asked, tell: false });
    await arrived(1);
    await until('the first attempt is recorded', async () => {
      const rows = await api.stored.sql('select id from webhook_outbox where request_id = $1 and step = 1', [id]);
      return rows.length === 1;
    });
    await api.stored.sql('update webhook_outbox set next_at = now() where request_id = $1', [id]);
    const [first, second] = await Promise.all((await arrived(2)).map(read));
    assert.equal(first!.id, second!.id);
    const { type, subject, time, data } = first!;
    assert.deepEqual([type, first!.source, subject], ['dev.probeyard.request.ended', `${source}/v1/probe`, id]);
    assert.equal(time, data!['timestamp']);
    assert.deepEqual([data!['type'], data!['metadata'].request_id], ['probe.completed', id]);
    assert.deepEqual(data!['ffprobe'].response, { format: {} });
    assert.ok(!receiver.received.some(({ body }) => body.includes('s3cret')));
  });

  it('a request without a result is an event, too', async () => {
    const id = await probe(hook());
    await api.job('event.test');
    await api.end(id, { close: { status: 429, reason: 'QueueTimeout' }, tell: false });
    const { data, subject } = await read((await arrived(1))[0]!);
    assert.deepEqual([subject, data!['type'], data!['success']], [id, 'probe.failed', false]);
  });

  it('a batch: its progress, its end, and the result of each item under its ref', async () => {
    const items = Array.from({ length: 181 }, (_, n) => ({ url: `https://events.test/${n}.mp4`, ref: `asset ${n}` }));
    const { id } = await batches.create({
      items: [...items, 'https://events.test/unnamed.mp4'],
      ...hook(),
      webhook_every: 100,
      webhook_items: true,
      rate: 1_000_000,
      per_host: 8,
      concurrency: 4,
    });
    await batches.run(id, 'events.test', ({ metadata }) => batches.success(metadata.name));
    const events = await Promise.all((await arrived(184)).map(read));
    const of = (type: string) => events.filter((event) => event.type === `dev.probeyard.${type}`);
    for (const type of ['batch.ended', 'batch.progress']) {
      const [event, ...others] = of(type);
      assert.deepEqual([others, event!.subject, event!.source], [[], id, `${source}/v1/batch`]);
      assert.deepEqual([event!.data!['id'], event!.data!['type'], event!.time], [id, type, event!.data!['timestamp']]);
      assert.deepEqual([event!.data!['webhook_format'], event!.data!['webhook_items']], ['cloudevents', true]);
    }
    const ended = of('request.ended').toSorted((a, b) => a.data!['item'].n - b.data!['item'].n);
    assert.equal(ended.length, 182);
    const shown = await batches.items(id, 'limit=1000');
    for (const [n, { subject, data }] of ended.entries()) {
      const { ref, request_id } = shown[n]!;
      assert.deepEqual(data!['item'], { batch: id, n, ref });
      assert.deepEqual([data!['metadata'].request_id, subject], [request_id, ref ?? request_id]);
    }
  });

  it('items of a plain batch: sent once, when no other try follows, and not after an erasure', async () => {
    const { id } = await batches.create({
      items: [{ url: 'https://plainly.test/a.mp4', ref: 'a' }, 'https://plainly.test/b.mp4'],
      webhook_url: Object.assign(new URL('/hook', receiver.url), { username: 'me', password: 'pa55word' }).href,
      webhook_items: true,
      tries: 2,
    });
    const first = await api.job('plainly.test');
    await batches.failure(first.metadata.name, { status: 500, reason: 'InternalError', error: 'it broke' });
    await until('it waits again', async () =>
      (await batches.items(id)).some(({ tries, state }) => tries === 1 && state === 'waiting'),
    );
    await api.stored.sql('update batch_items set not_before = now() where batch_id = $1', [id]);
    receiver.answer = (response) => void response.writeHead(500).end();
    await batches.run(id, 'plainly.test', ({ metadata }) => batches.success(metadata.name));
    const received = (await arrived(3)).map(({ body, headers }) => ({ body: JSON.parse(body) as Data, headers }));
    assert.deepEqual(
      received.map(({ body }) => `${body['type']} ${body['item']?.ref ?? body['item']?.n ?? ''}`).toSorted(),
      ['batch.ended ', 'probe.completed 1', 'probe.completed a'],
    );
    for (const { headers } of received)
      assert.equal(headers['authorization'], `Basic ${Buffer.from('me:pa55word').toString('base64')}`);
    const [item] = await batches.items(id);
    const left = async () =>
      (
        await api.stored.sql<{ progress: number }>(
          'select progress from webhook_outbox where request_id = $1 order by 1',
          [id],
        )
      ).map(({ progress }) => progress);
    assert.deepEqual(await left(), [-2, -1, 0]);
    assert.equal(await api.stored.store.eraseRequest(item!.request_id!, 'everyone'), 'erased');
    assert.deepEqual(await left(), [-2, 0]);
  });

  for (const given of [{ webhook_format: 'cloudevents' }, { webhook_items: true }])
    it(`is refused without an address: ${JSON.stringify(given)}`, async () => {
      const response = await batches.post({ items: ['https://never.test/a.mp4'], ...given });
      const [field] = Object.keys(given);
      assert.deepEqual(
        [response.status, await response.json()],
        [400, { error: `${field}: has an effect with webhook_url alone` }],
      );
    });

  for (const [format, error] of [
    ['cloudevents', 'webhook_format: has an effect with webhook_url alone'],
    ['xml', /^webhook_format: /],
  ] as const)
    it(`is refused of a single request: ${format} without an address`, async () => {
      const response = await api.post({ url: 'https://never.test/a.mp4', webhook_format: format });
      const said = ((await response.json()) as { error: string }).error;
      assert.equal(response.status, 400);
      if (typeof error === 'string') assert.equal(said, error);
      else assert.match(said, error);
    });
});
