/** Batches of a list that the API reads itself, from a real host. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { until } from '../../until.ts';
import { startOrigin, type Origin } from '../../source/origin.ts';
import { startApi, type ApiFixture } from '../fixture.ts';
import { batchesOf, type BatchAnswer } from './fixture.ts';

/** Longer than the API asks a host for what a file is. */
const SLOW_MS = 2_500;

describe('batch: a list at an address', function () {
  this.timeout(120_000);
  const big = Buffer.alloc(4 * 1024 * 1024 + 1, '# remark\n');
  const LISTS: Record<string, string | Buffer> = {
    '/lines.txt': '# all\nhttps://list.test/a.mp4\nhttps://list.test/b.mp4\n',
    '/items.ndjson': '{"url":"https://list.test/a.mp4","ref":"x"}\n"https://list.test/b.mp4"\n',
    '/items.csv': 'ref;url\nx;https://list.test/a.mp4\n;https://list.test/b.mp4\n',
    '/slow.csv': 'url,ref\nhttps://list.test/a.mp4,x\nhttps://list.test/b.mp4\n',
    '/wrong.txt': 'https://list.test/a.mp4\nsecret-line\n',
    '/wrong.ndjson': '{"url":"https://list.test/a.mp4"}\n{"url":"nonsense-secret"}\n',
    '/deep.ndjson': `{"url":${'['.repeat(100_000)}${']'.repeat(100_000)}}\n`,
    '/cell.csv': `url,ref\nhttps://list.test/a.mp4,"${'""'.repeat(2_000_000)}"\n`,
    '/many.txt': 'https://list.test/a.mp4\n'.repeat(10_001),
    '/big.txt': big,
  };
  const hanging: ServerResponse[] = [];
  let origin: Origin;
  let api: ApiFixture;
  let batches: ReturnType<typeof batchesOf>;
  before(async () => {
    origin = await startOrigin((_request, response, path) => {
      if (path === '/never.txt') return void hanging.push(response);
      const list = LISTS[path.split('?')[0]!];
      if (list === undefined) return void response.writeHead(404).end();
      setTimeout(() => response.end(list), path.startsWith('/slow') ? SLOW_MS : 0);
    });
    api = await startApi({ allowSources: [{ cidr: '127.0.0.1/32', port: origin.port }] });
    batches = batchesOf(api);
  });
  after(async () => {
    await api.stop();
    await origin.close();
  });
  const errorOf = async (response: Response): Promise<[number, string]> => [
    response.status,
    ((await response.json()) as { error: string }).error,
  ];

  for (const path of ['/lines.txt?sig=topsecret', '/items.ndjson', '/items.csv', '/slow.csv'])
    it(`is read: ${path}`, async () => {
      const { id, items } = await batches.create({ items_url: `${origin.url}${path}` });
      assert.equal(items, 2);
      const refs = path.startsWith('/lines') ? [null, null] : ['x', null];
      assert.deepEqual(
        (await batches.items(id)).map(({ url, ref }) => [url, ref]),
        ['a', 'b'].map((name, at) => [`https://list.test/${name}.mp4`, refs[at]]),
      );
      const kept = await api.stored.sql<{ text: string }>('select b::text "text" from batches b where id = $1', [id]);
      assert.doesNotMatch(kept[0]!.text, /topsecret|lines\.txt/);
      await batches.act(id, 'cancel');
    });

  for (const [path, error] of [
    ['/none.txt', /^items_url: the host answered 404$/],
    ['/wrong.txt', /^items_url: line 2: is not an address$/],
    ['/wrong.ndjson', /^items\.1\.url must begin/],
    ['/deep.ndjson', /^items_url: line 1: must have at most 9216 characters$/],
    ['/cell.csv', /^items_url: line 2: a quote is not closed within 9216 characters/],
    ['/many.txt', /^items: must have at most 10000 values/],
    ['/big.txt', /^items_url: is larger than 4194304 bytes$/],
  ] as const)
    it(`is refused: ${path}`, async () => {
      const [status, text] = await errorOf(await batches.post({ items_url: `${origin.url}${path}` }));
      assert.equal(status, 400, text);
      assert.match(text, error);
      assert.doesNotMatch(text, /secret/);
    });

  it('is not read again for a call that is repeated, nor where no batch would be created', async () => {
    const fields = { items_url: `${origin.url}/once.txt` };
    const key = { 'Idempotency-Key': 'list-1' };
    LISTS['/once.txt'] = 'https://list.test/a.mp4\n';
    const { id } = (await (await batches.post(fields, key)).json()) as BatchAnswer;
    delete LISTS['/once.txt'];
    const again = await batches.post(fields, key);
    assert.deepEqual([again.status, ((await again.json()) as BatchAnswer).id], [201, id]);
    const other = await errorOf(await batches.post({ ...fields, name: 'x' }, key));
    assert.deepEqual(other, [400, 'Idempotency-Key: was used with another body']);
    await api.stored.sql('update batches set items = items + 1000000 where id = $1', [id]);
    const [status, text] = await errorOf(await batches.post(fields));
    assert.deepEqual([status, /limit of items of batches/.test(text)], [409, true], text);
    await api.stored.sql('update batches set items = items - 1000000 where id = $1', [id]);
    assert.equal(origin.requests.filter(({ path }) => path === '/once.txt').length, 1);
    await batches.act(id, 'cancel');
  });

  it('one of an account at a time, and not for a caller who is gone', async () => {
    const caller = new AbortController();
    const first = batches.call('', {
      method: 'POST',
      body: JSON.stringify({ items_url: `${origin.url}/never.txt` }),
      signal: caller.signal,
    });
    const gone = assert.rejects(first, { name: 'AbortError' });
    await until('its host is asked', () => hanging.length > 0);
    const second = await batches.post({ items_url: `${origin.url}/none.txt` });
    const [status, text] = await errorOf(second);
    assert.deepEqual([status, second.headers.get('retry-after')], [429, '20']);
    assert.match(text, /^an account has one list being read at a time/);
    caller.abort();
    await gone;
    await until('its connection is closed', () => hanging[0]!.destroyed);
    await until('the next one is read', async () => {
      const [next] = await errorOf(await batches.post({ items_url: `${origin.url}/none.txt` }));
      return next === 400;
    });
    assert.equal(api.wired.deps.memory.used(), 0);
  });

  for (const [address, error] of [
    ['http://10.0.0.1/list.txt', /^items_url: /],
    ['http://u:geheim@localhost.private.test/list.txt', /^items_url: /],
    ['s3://bucket/list.txt', /^items_url: must begin with http/],
    ['list.txt', /^items_url must begin/],
  ] as const)
    it(`an address that is not read: ${address}`, async () => {
      const [status, text] = await errorOf(await batches.post({ items_url: address }));
      assert.equal(status, 400, text);
      assert.match(text, error);
      assert.doesNotMatch(text, /geheim/);
    });
});
