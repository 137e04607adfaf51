import assert from 'node:assert/strict';
import { readSealed } from '../../../src/service/controller/leader/resolve_job.ts';
import { openSealed } from '../../../src/platform/seal/seal.ts';
import { startApi, tool, type ApiFixture } from '../fixture.ts';

const SECRET = 'Bearer s3cret-t0ken';
const URL = 'https://headers.test/film.mp4';

describe('headers and cookies of a source', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  for (const [path, extra] of [
    ['/v1/probe/file', {}],
    ['/v1/probe/mediastreamvalidator', {}],
    ['/v1/compare', { ffprobe: { versions: ['7.0', '3.3'] } }],
  ] as const)
    it(`${path}: are sealed into the job, and shown by name alone`, async () => {
      const accepted = await fetch(`${api.url}${path}`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${api.token}`,
          'Content-Type': 'application/json',
          Prefer: 'respond-async',
        },
        body: JSON.stringify({
          url: URL,
          headers: { Authorization: SECRET, 'X-One': '1' },
          cookies: { session: 'c00kie-value' },
          ...extra,
        }),
      });
      assert.equal(accepted.status, 202, await accepted.text());
      const job = await api.job('headers.test');
      const id = job.metadata.name;
      assert.ok(!JSON.stringify(job).includes('s3cret') && !JSON.stringify(job).includes('c00kie'));
      const text = openSealed(job.spec.source.sealed!, { requestId: id, tokenId: api.tokenId }, api.privateKeys);
      assert.deepEqual(readSealed(text, []).headers, [
        ['authorization', SECRET],
        ['x-one', '1'],
        ['cookie', 'session=c00kie-value'],
      ]);
      await api.end(id, { close: { reason: 'Cancelled', status: 499, error: 'cancelled' } });
      const detail = await fetch(`${api.url}/v1/media/log/${id}`, {
        headers: { Authorization: `Bearer ${api.token}` },
      });
      const [row] = await api.stored.sql<{ request: { options: object } }>(
        'select request from requests where id = $1',
        [id],
      );
      const kept = JSON.stringify(row!.request);
      for (const shown of [await detail.text(), kept, api.log.join('\n')])
        assert.ok(!shown.includes('s3cret') && !shown.includes('c00kie'), shown.slice(0, 300));
      assert.deepEqual((row!.request.options as { headers: object; cookies: object }).headers, {
        Authorization: 'REDACTED',
        'X-One': 'REDACTED',
      });
      assert.match(kept, /"session": ?"REDACTED"/);
    });

  it('are accepted in a form', async () => {
    const answering = fetch(`${api.url}/v1/probe/file`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${api.token}` },
      body: new URLSearchParams({
        url: 'https://form.test/a.mp4',
        'headers[Authorization]': SECRET,
        cookies: '{"a":"b"}',
      }),
    });
    const job = await api.job('form.test');
    const id = job.metadata.name;
    const text = openSealed(job.spec.source.sealed!, { requestId: id, tokenId: api.tokenId }, api.privateKeys);
    assert.deepEqual(readSealed(text, []).headers, [
      ['authorization', SECRET],
      ['cookie', 'a=b'],
    ]);
    await api.end(id, { result: { tools: [tool('ffprobe', '{}')], ioUsage: 1 } });
    await (await answering).text();
  });

  const many = (count: number, value = 'v'): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, value]));

  for (const [what, fields, expected] of [
    ['a Host', { headers: { Host: 'other.test' } }, 'headers.host: cannot be set'],
    ['a Range', { headers: { Range: 'bytes=0-1' } }, 'headers.range: cannot be set'],
    ['a Content-Length', { headers: { 'Content-Length': '1' } }, 'headers.content-length: cannot be set'],
    ['a Proxy-Authorization', { headers: { 'Proxy-Authorization': 'x' } }, /cannot be set$/],
    ['a line break in a value', { headers: { 'X-A': 'a\r\nHost: b' } }, /^headers\.x-a: must be visible ASCII/],
    ['a line break in a name', { headers: { 'X-A\r\nHost': 'b' } }, /is not a valid header name$/],
    ['U+0000', { headers: { 'X-A': 'a\0' } }, /must not contain U\+0000/],
    ['17 headers', { headers: many(17) }, 'headers: must be at most 16 together'],
    ['9 headers and 8 cookies', { headers: many(9), cookies: many(8) }, 'headers: must be at most 16 together'],
    ['more than 8 KB', { headers: many(3, 'v'.repeat(3_000)) }, 'headers: must have at most 8192 bytes together'],
    ['a name twice', { headers: { 'X-A': '1', 'x-a': '2' } }, 'headers.x-a: is given more than once'],
    [
      'cookies twice',
      { headers: { Cookie: 'a=b' }, cookies: { a: 'b' } },
      'cookies: are given twice: as a header, too',
    ],
    ['a semicolon in a cookie', { cookies: { a: 'b; c=d' } }, /^cookies\.a: must be visible ASCII/],
    ['a number', { headers: { 'X-A': 1 } }, /^headers\.X-A: must be a string$/],
    ['a list', { headers: ['X-A: 1'] }, 'headers: must be an object or null'],
    ['another scheme', { url: 'ftp://one.test/a', headers: many(1) }, /^headers: are only sent to http/],
    [
      'a credential, and dots',
      { url: 's3://bucket/%252e./a', credential: 'x' },
      /^credential: .* has \. or \.\. segments/,
    ],
    ['two credentials', { url: 'https://u:p@one.test/a', headers: { Authorization: 'x' } }, /must not authenticate/],
  ] as const)
    it(`with ${what} are 400`, async () => {
      const response = await api.post({ url: URL, ...fields });
      assert.equal(response.status, 400);
      const { error } = (await response.json()) as { error: string };
      if (typeof expected === 'string') assert.equal(error, expected);
      else assert.match(error, expected);
    });

  it('are not accepted in a query, and not for two hosts', async () => {
    const query = await api.get(`url=${URL}&headers[X-A]=1`);
    assert.equal(query.status, 400);
    assert.match(((await query.json()) as { error: string }).error, /^headers: is only accepted by POST/);
    const two = await fetch(`${api.url}/v1/compare`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${api.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ urls: [URL, 'https://other.test/film.mp4'], headers: { 'X-A': '1' } }),
    });
    assert.equal(two.status, 400);
    assert.match(((await two.json()) as { error: string }).error, /^headers: are sent to one host/);
  });

  it('make another request of the same Idempotency-Key', async () => {
    const send = (headers: object | undefined): Promise<Response> =>
      api.post(
        { url: 'https://again.test/a.mp4', ...(headers ? { headers } : {}) },
        { headers: { 'Idempotency-Key': 'headers-1', Prefer: 'respond-async' } },
      );
    assert.equal((await send({ 'X-A': '1' })).status, 202);
    assert.equal((await send({ 'X-A': '1' })).status, 202);
    assert.equal((await send({ 'X-A': '2' })).status, 400);
    assert.equal((await send(undefined)).status, 400);
  });
});
