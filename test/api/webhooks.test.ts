/** Webhooks through the API: the immediate response, and the later delivery. */
import assert from 'node:assert/strict';
import { Webhook } from 'standardwebhooks';
import { PROBE_JOBS } from '../../src/platform/kube/client.ts';
import type { PolicyResult } from '../../src/media/policy/schema.ts';
import { until } from '../until.ts';
import { secretText, startReceiver, type Receiver } from '../webhooks/receiver.ts';
import { startApi, tool, type ApiFixture } from './fixture.ts';

const asked = [{ name: 'ffprobe' as const }];
const result = { tools: [tool('ffprobe', '{"format":{}}')], ioUsage: 3 };

describe('a request with a webhook', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  let receiver: Receiver;
  before(async () => {
    [api, receiver] = await Promise.all([
      startApi({ allowWebhooks: [{ cidr: '127.0.0.1/32' }], allowSources: [{ cidr: '10.9.8.7/32' }] }, { relay: true }),
      startReceiver(),
    ]);
  });
  after(async () => {
    await receiver.close();
    await api.stop();
  });
  beforeEach(() => {
    receiver.received.length = 0;
  });

  const send = (host: string, more: object = {}, headers: Record<string, string> = {}) =>
    api.post(
      { url: `https://${host}/a.mp4`, only: 'ffprobe', webhook_url: `${receiver.url}/hook?key=s3cret`, ...more },
      { headers },
    );
  const accepted = async (response: Response): Promise<string> => {
    const body = (await response.json()) as { success: boolean; metadata: { request_id: string } };
    assert.deepEqual(
      [response.status, body],
      [202, { success: true, metadata: { request_id: response.headers.get('x-request-id') } }],
    );
    assert.ok(response.headers.has('ratelimit'));
    return body.metadata.request_id;
  };
  const arrived = (id: string) =>
    until('the webhook has arrived', () => receiver.received.find(({ body }) => body.includes(id)));
  const manage = (path: string, init: RequestInit = {}, token = api.token) =>
    fetch(`${api.url}/frontend/api/v1/${path}`, { ...init, headers: { Authorization: `Bearer ${token}` } });

  it('is answered with 202 at once, and delivers the envelope even of a request for bare output', async () => {
    const id = await accepted(await send('hook.test', { inject_output: true }));
    assert.equal((await api.job('hook.test')).metadata.name, id);
    await api.end(id, { result, asked, tell: false });
    const { headers, body } = await arrived(id);
    const secret = await until(
      'the token has its secret',
      async () =>
        (
          await api.stored.sql<{ webhook_secret: Buffer | null }>('select webhook_secret from tokens where id = $1', [
            api.tokenId,
          ])
        )[0]?.webhook_secret,
    );
    const key = await api.wired.deps.accounts.openWebhookSecret(secret, api.tokenId);
    const { timestamp, ...envelope } = new Webhook(secretText(key)).verify(
      body,
      headers as Record<string, string>,
    ) as Record<string, unknown>;
    assert.ok(Math.abs(Date.parse(String(timestamp)) - Date.now()) < 60_000);
    assert.deepEqual(envelope, {
      success: true,
      metadata: { request_id: id, queue_time: 7, io_usage: 3 },
      ffprobe: { success: true, duration: 31, usage: 31, response: { format: {} } },
      type: 'probe.completed',
    });
  });

  for (const [what, filler] of [
    ['delivers the verdict of its policy', ''],
    ['delivers the verdict in the truncated form', 'x'.repeat(1_200_000)],
  ] as const)
    it(`with a policy ${what}`, async () => {
      const rules = [{ name: 'wrapper', field: 'container.format', is: 'mp4' }];
      const id = await accepted(await send('judged.test', { policy: { rules } }));
      await api.job('judged.test');
      const policy: PolicyResult = {
        name: null,
        revision: null,
        outcome: 'fail',
        rules: [{ name: 'wrapper', level: 'fail', outcome: 'fail', message: 'container.format is mov; expected mp4' }],
      };
      const tools = [tool('ffprobe', JSON.stringify({ format: {}, filler }))];
      await api.end(id, { result: { ...result, tools, policy }, asked, close: { policy: 'fail' }, tell: false });
      const { body } = await arrived(id);
      const envelope = JSON.parse(body) as Record<string, unknown>;
      assert.deepEqual([envelope['policy'], envelope['type']], [policy, 'probe.completed']);
      assert.equal(envelope['truncated'], filler === '' ? undefined : true);
    });

  it('to an address with credentials: sealed in the record, sent to the receiver, never shown', async () => {
    const address = new URL('/hook', receiver.url);
    const shown = address.href;
    Object.assign(address, { username: 'receiver-7', password: 'pa55word' });
    const id = await accepted(await send('sealed.test', { webhook_url: address.href }));
    await api.job('sealed.test');
    await api.end(id, { result, asked, tell: false });
    const { headers } = await arrived(id);
    assert.equal(headers['authorization'], `Basic ${Buffer.from('receiver-7:pa55word').toString('base64')}`);
    const rows = await api.stored.sql<{ webhook_url: string; url: string }>(
      'select q.webhook_url, w.url from requests q join webhook_outbox w on w.request_id = q.id where q.id = $1',
      [id],
    );
    assert.equal(rows.length, 1);
    assert.ok(!/receiver-7|pa55word/.test(JSON.stringify(rows)));
    const { webhooks } = (await (await manage(`media/webhook?request=${id}`)).json()) as {
      webhooks: { url: string }[];
    };
    assert.deepEqual(
      webhooks.map(({ url }) => url),
      [shown],
    );
  });

  it('is created once per Idempotency-Key: a repeat gets the same response and sends nothing', async () => {
    const headers = { 'Idempotency-Key': 'hook-1' };
    const id = await accepted(await send('once.test', {}, headers));
    assert.equal(await accepted(await send('once.test', {}, headers)), id);
    await api.end(id, { result, asked, tell: false });
    await arrived(id);
    assert.equal(await accepted(await send('once.test', {}, headers)), id);
    const other = await send('once.test', { webhook_url: `${receiver.url}/other` }, headers);
    assert.deepEqual(
      [other.status, await other.json()],
      [400, { error: 'Idempotency-Key: was used with another body' }],
    );
    assert.equal(receiver.received.length, 1);
  });

  it('with the key of one that ended without a result is created anew', async () => {
    const headers = { 'Idempotency-Key': 'hook-2' };
    const first = await accepted(await send('anew.test', {}, headers));
    await api.job('anew.test');
    await api.end(first, { close: { status: 429, reason: 'QueueTimeout' }, tell: false });
    assert.equal(JSON.parse((await arrived(first)).body).type, 'probe.failed');
    const second = await accepted(await send('anew.test', {}, headers));
    assert.notEqual(second, first);
    await api.job('anew.test');
    await api.end(second, { result, asked, tell: false });
    await arrived(second);
  });

  it('continues after its caller has disconnected', async () => {
    const id = await accepted(await send('left.test'));
    const job = await api.job('left.test');
    assert.equal(job.metadata.name, id);
    assert.equal(api.wired.deps.waiting.size(), 0);
    await api.end(id, { result, asked, tell: false });
    await arrived(id);
    assert.ok(await api.kube.get(PROBE_JOBS, id, { namespace: api.namespace }));
  });

  it('is accepted while the API server is away, and its job is created afterwards', async () => {
    api.relay!.refuse(true);
    api.relay!.cut();
    const id = await accepted(await send('away.test'));
    api.relay!.refuse(false);
    assert.equal((await api.job('away.test')).metadata.name, id);
    await api.end(id, { result, asked, tell: false });
    await arrived(id);
  });

  const refused: [string, string, RegExp][] = [
    ['ftp://a.test/', 'another scheme', /^webhook_url: must begin with http:\/\/ or https:\/\/$/],
    ['example.test/hook', 'not an address', /^webhook_url: must begin with/],
    ['http://10.0.0.1/', 'a private address', /^webhook_url: the address is not allowed/],
    ['http://10.9.8.7/', 'one that only sources may have', /^webhook_url: the address is not allowed/],
    ['http://[::1]/', 'localhost', /^webhook_url: the address is not allowed/],
    ['http://0x7f000002/', 'another spelling of localhost', /^webhook_url: the address is not allowed/],
    ['https://KEY:SECRET@s3.amazonaws.com/bucket/x', 'an S3 address', /^webhook_url: must not be an S3 address$/],
    ['http://a.test\\@127.0.0.1/', 'a backslash', /^webhook_url: must not hold a backslash$/],
  ];
  for (const [address, what, expected] of refused) {
    it(`refuses ${what} as a receiver, before anything is created`, async () => {
      const response = await send('never.test', { webhook_url: address });
      const { error } = (await response.json()) as { error: string };
      assert.equal(response.status, 400);
      assert.match(error, expected);
      assert.ok(!error.includes('SECRET'));
    });
  }
  it('may not be a GET', async () => {
    const response = await api.get(`url=https://get.test/a&webhook_url=${encodeURIComponent(receiver.url)}`);
    assert.deepEqual(
      [response.status, await response.json()],
      [400, { error: 'webhook_url: is accepted in a POST only' }],
    );
  });

  it('is listed with its attempts and a redacted address, and can be sent again; by its owner alone', async () => {
    receiver.answer = (response) => void response.writeHead(410).end();
    const id = await accepted(await send('list.test'));
    await api.job('list.test');
    await api.end(id, { result, asked, tell: false });
    const list = async (query: string, token?: string) =>
      (await (await manage(`media/webhook?${query}`, {}, token)).json()) as {
        webhooks: Record<string, any>[];
        pagination: { total: number };
        filter: object;
      };
    const failed = await until(
      'the delivery has failed for good',
      async () => (await list(`state=failed&request=${id}`)).webhooks[0],
    );
    assert.deepEqual(
      {
        ...failed,
        created: '',
        ended: '',
        id: '',
        attempts: failed['attempts'].map(({ status, error }: Record<string, unknown>) => ({ status, error })),
      },
      {
        id: '',
        request: id,
        url: `${receiver.url}/hook?key=REDACTED`,
        state: 'failed',
        created: '',
        ended: '',
        attempts: [{ status: 410, error: 'the receiver answered 410' }],
        'user-id': api.userId,
        'token-id': api.tokenId,
      },
    );
    const [other] = await api.stored.sql<{ id: string }>(
      `insert into users (email, status, role, permissions) values ('hook@example.org', ` +
        `'active', 'user', array['read:media', 'write:media', 'write:webhook']) returning id`,
    );
    const { token, id: tokenId } = await api.newToken();
    await api.stored.sql('update tokens set user_id = $1 where id = $2', [other!.id, tokenId]);
    assert.equal((await list('', token)).pagination.total, 0);
    assert.equal((await manage(`media/webhook/${failed['id']}/retry`, { method: 'POST' }, token)).status, 404);
    for (const wrong of ['0192f0c1-0000-7000-8000-000000000001', 'x', '1'])
      assert.equal((await manage(`media/webhook/${wrong}/retry`, { method: 'POST' })).status, 404);
    receiver.answer = (response) => void response.writeHead(204).end();
    const again = await manage(`media/webhook/${failed['id']}/retry`, { method: 'POST' });
    assert.equal(again.status, 200);
    const delivered = await until(
      'it is delivered',
      async () => (await list(`state=delivered&request=${id}`)).webhooks[0],
    );
    assert.deepEqual(
      delivered['attempts'].map(({ status }: Record<string, unknown>) => status),
      [410, 204],
    );
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    assert.deepEqual(ids, [failed['id'], failed['id']]);
  });

  it("leaves no secret of the receiver's address in the log", () => {
    assert.ok(api.log.some((line) => line.includes('webhook sent')));
    assert.ok(!api.log.join('\n').includes('s3cret'));
  });
});
