import assert from 'node:assert/strict';
import { type IncomingMessage, request } from 'node:http';
import { PAGE_SIZE, PageCache } from '../../src/source/file/cache.ts';
import { PageMemory } from '../../src/source/file/page_memory.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { until } from '../until.ts';
import { ask } from './ask.ts';
import { Cleanup, pattern, sendFile, startOrigin } from './origin.ts';

const filled = (cache: PageCache, key: string, byte: number, length = PAGE_SIZE) => {
  const page = cache.add(key, length);
  page.append(Buffer.alloc(length, byte));
  page.loaded();
  return page;
};

describe('memory of pages', () => {
  it('a dropped page: its memory is the next page’s, and nothing of it is readable through either', () => {
    const memory = new PageMemory();
    const cache = new PageCache(1 << 20, memory);
    const old = filled(cache, 'old', 1);
    const { buffer } = old.bytes;
    cache.remove('old');
    assert.equal(memory.unused, 1);
    assert.equal(old.bytes.length, 0);
    assert.equal(old.lend(0, PAGE_SIZE).bytes.length, 0);

    const next = cache.add('next', 1000);
    assert.equal(next.bytes.buffer, buffer);
    assert.equal(memory.unused, 0);
    next.append(Buffer.alloc(10, 2));
    assert.equal(next.bytes.length, 1000);
    assert.deepEqual(next.lend(0, PAGE_SIZE).bytes, Buffer.alloc(10, 2));
    assert.equal(next.lend(10, PAGE_SIZE).bytes.length, 0);
  });

  for (const [what, hold] of [
    ['a piece of it is lent', { lend: true, load: false }],
    ['a fetch still fills it', { lend: false, load: true }],
    ['both', { lend: true, load: true }],
  ] as const)
    it(`a dropped page keeps its memory while ${what}`, () => {
      const memory = new PageMemory();
      const cache = new PageCache(1 << 20, memory);
      const page = cache.add('a', PAGE_SIZE);
      page.append(Buffer.alloc(100, 1));
      if (!hold.load) page.loaded();
      const piece = hold.lend ? page.lend(0, 50) : undefined;
      cache.remove('a');
      assert.equal(memory.unused, 0);
      filled(cache, 'b', 2);
      if (piece) assert.deepEqual(piece.bytes, Buffer.alloc(50, 1));
      if (hold.load) page.append(Buffer.alloc(100, 3));
      if (piece) assert.deepEqual(piece.bytes, Buffer.alloc(50, 1));
      if (hold.load) page.loaded();
      piece?.release();
      assert.equal(memory.unused, 1);
    });

  it('a piece that is released twice counts once', () => {
    const memory = new PageMemory();
    const cache = new PageCache(1 << 20, memory);
    const page = filled(cache, 'a', 1);
    const [first, second] = [page.lend(0, 10), page.lend(0, 10)];
    cache.remove('a');
    first.release();
    first.release();
    assert.equal(memory.unused, 0);
    second.release();
    second.release();
    assert.equal(memory.unused, 1);
  });

  it('keeps no more than its bound, and nothing some time after the last page', async () => {
    const memory = new PageMemory({ most: 3, keptMs: 50 });
    const cache = new PageCache(1 << 20, memory);
    for (let i = 0; i < 10; i++) filled(cache, String(i), i);
    cache.clear();
    assert.equal(memory.unused, 3);
    await until('no memory is kept', () => memory.unused === 0);
  });

  it('an evicted page’s memory is reused, within a job and by the next one', () => {
    const memory = new PageMemory();
    const cache = new PageCache(1 << 20, memory);
    const buffers = new Set(Array.from({ length: 100 }, (_, i) => filled(cache, String(i), i).bytes.buffer));
    assert.ok(buffers.size <= 17, `${buffers.size} buffers for a cache of 16 pages`);
    cache.clear();
    const next = new PageCache(1 << 20, memory);
    assert.ok(buffers.has(filled(next, 'a', 1).bytes.buffer));
  });
});

describe('pages of a file', () => {
  it('are evicted by their last use, those of its beginning last', () => {
    const cache = new PageCache(1 << 20, new PageMemory());
    for (let i = 0; i < 100; i++) cache.add(`${i}`, PAGE_SIZE, i < 4).loaded();
    const kept = Array.from({ length: 100 }, (_, i) => i).filter((i) => cache.has(`${i}`));
    assert.deepEqual(kept, [0, 1, 2, 3, ...Array.from({ length: 12 }, (_, i) => 88 + i)]);
    for (let i = 0; i < 20; i++) cache.add(`first ${i}`, PAGE_SIZE, true).loaded();
    assert.deepEqual(
      [cache.has('0'), cache.has('99'), cache.has('first 3'), cache.has('first 4')],
      [false, false, false, true],
    );
  });
});

describe('source proxy: memory of pages', function () {
  this.timeout(60_000);
  const cleanup = new Cleanup();
  afterEach(() => cleanup.run());

  /** More than the kernel takes for a tool that does not read. */
  const body = pattern(8 << 20);

  function openSlowly(address: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      request(address, { agent: false }, (response) => resolve(response.pause()))
        .on('error', reject)
        .end();
    });
  }

  async function read(response: IncomingMessage): Promise<Buffer> {
    const parts: Buffer[] = [];
    response.on('data', (part: Buffer) => parts.push(part)).on('error', () => {});
    await new Promise((resolve) => response.once('close', resolve).resume());
    return Buffer.concat(parts);
  }

  it('a tool that reads slowly gets its own bytes while a faster one has their pages evicted', async () => {
    const origin = cleanup.add(await startOrigin((asked, response) => sendFile(body, asked, response)));
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }], cacheBytes: 1 << 20 }));
    const job = cleanup.add(proxy.open({ source: parseSource(`${origin.url}/a`), limits: { maxBytes: 1e10 } }));
    const slow = await openSlowly(job.address('slow'));
    const fast = await ask(job.address('fast'), { deadlineMs: 30_000 });
    assert.ok(fast.body.equals(body));
    assert.ok((await read(slow)).equals(body));
  });

  it('the beginning of a file larger than the cache is read once, also by a reader after the end', async () => {
    const large = pattern(40 << 20);
    const origin = cleanup.add(await startOrigin((asked, response) => sendFile(large, asked, response)));
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }] }));
    const job = cleanup.add(proxy.open({ source: parseSource(`${origin.url}/a`), limits: { maxBytes: 1e10 } }));
    const whole = await ask(job.address('whole'), { deadlineMs: 30_000 });
    assert.ok(whole.body.equals(large));
    const before = job.stats().ioUsage;
    const { body: first } = await ask(job.address('later'), {
      deadlineMs: 30_000,
      range: `bytes=0-${(8 << 20) - 1}`,
    });
    assert.ok(first.equals(large.subarray(0, 8 << 20)));
    assert.equal(job.stats().ioUsage, before);
  });

  for (const ranges of [true, false])
    it(`a job that ends while a tool reads: what the tool still gets is of its file (ranges: ${ranges})`, async () => {
      const other = Buffer.alloc(body.length, 'other');
      const origin = cleanup.add(
        await startOrigin((asked, response, path) => {
          const file = path === '/a' ? body : other;
          if (ranges) sendFile(file, asked, response);
          else response.writeHead(200, { 'content-length': file.length }).end(file);
        }),
      );
      const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }] }));
      const open = (name: string) =>
        cleanup.add(proxy.open({ source: parseSource(`${origin.url}/${name}`), limits: { maxBytes: 1e10 } }));
      const job = open('a');
      const slow = await openSlowly(job.address('slow'));
      await until('the slow tool takes no more', async () => {
        const before = job.stats().ioUsage;
        await new Promise((resolve) => setTimeout(resolve, 50));
        return before > PAGE_SIZE && before === job.stats().ioUsage;
      });
      job.close();
      const { body: next } = await ask(open('b').address('fast'), { deadlineMs: 30_000 });
      assert.ok(next.equals(other));
      const got = await read(slow);
      assert.ok(got.length > PAGE_SIZE && got.length < body.length, `${got.length} bytes`);
      assert.ok(got.equals(body.subarray(0, got.length)), 'bytes of another file');
    });
});
