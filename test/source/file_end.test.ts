import assert from 'node:assert/strict';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { until } from '../until.ts';
import { ask } from './ask.ts';
import { assertRead, Cleanup, pattern, sendFile, startOrigin, type Handler, type Origin } from './origin.ts';

const cleanup = new Cleanup();
const body = pattern(3_000_000);
const HEAD = 'bytes=0-524287';
const END = 'bytes=-131072';
const FAR = 0;
const NEAR = 60_000;

/** With the ranges that count from the end. */
const file: Handler = (request, response) => {
  const last = /^bytes=-(\d+)$/.exec(request.headers.range ?? '')?.[1];
  if (last !== undefined) request.headers.range = `bytes=${Math.max(0, body.length - Number(last))}-`;
  sendFile(body, request, response);
};

describe('the end of a file, asked for beside its head', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  async function open(handler: Handler, nearMs: number, name = 'a.mp4'): Promise<{ origin: Origin; job: Job }> {
    const origin = cleanup.add(await startOrigin(handler));
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }], nearMs }));
    const source = parseSource(`${origin.url}/${name}?sig=a.bin`);
    return { origin, job: cleanup.add(proxy.open({ source, limits: { maxBytes: 1e10 } })) };
  }
  const ranges = ({ requests }: Origin): (string | undefined)[] => requests.map(({ range }) => range);
  const readEnd = async (job: Job): Promise<void> => {
    const reply = await ask(job.address('a'), { range: 'bytes=2950000-2999999' });
    assert.ok(reply.body.equals(body.subarray(2_950_000)));
  };

  it('is asked for before the head is answered, and read without another request', async () => {
    const both = Promise.withResolvers<void>();
    const { origin, job } = await open(async (...exchange) => {
      if (exchange[0].headers.range === END) both.resolve();
      await both.promise;
      file(...exchange);
    }, FAR);
    await readEnd(job);
    assert.deepEqual(ranges(origin).toSorted(), [END, HEAD]);
  });

  it('counts to the tool that opened the file', async () => {
    const { job } = await open(file, FAR);
    await readEnd(job);
    await until('all of it has arrived', () => job.stats().ioUsage >= 524_288 + 131_072);
    const { origin, ioUsage, requests } = job.stats();
    assertRead(origin['a']!, 524_288 + 131_072);
    assert.deepEqual([origin['a']!.bytes, origin['a']!.requests], [ioUsage, requests]);
  });

  it('is read with the rest of the file as one', async () => {
    const { job } = await open(file, FAR);
    assert.ok((await ask(job.address('a'))).body.equals(body));
  });

  for (const [title, nearMs, name] of [
    ['of a near origin', NEAR, 'a.mp4'],
    ['where nothing is needed early', FAR, 'a.ts'],
    ['where the format is unknown', FAR, 'a'],
  ] as const)
    it(`is not asked for ${title}`, async () => {
      const { origin, job } = await open(file, nearMs, name);
      await readEnd(job);
      assert.ok(!ranges(origin).includes(END), ranges(origin).join(', '));
    });

  const answers: Record<string, Handler> = {
    'the whole file': (_request, response) =>
      response.writeHead(200, { 'content-length': body.length, etag: '"one"' }).end(body),
    refused: (_request, response) => response.writeHead(416).end(),
    'a broken connection': (_request, response) => response.destroy(),
    'of another file': (request, response) => {
      request.headers.range = `bytes=${body.length - 131_072}-`;
      sendFile(Buffer.alloc(body.length), request, response, { etag: '"two"' });
    },
    'another range': (request, response) => {
      request.headers.range = 'bytes=100-131171';
      sendFile(body, request, response);
    },
    'shorter than declared': (_request, response) => {
      const from = body.length - 131_072;
      response.writeHead(206, {
        'content-length': 131_072,
        'content-range': `bytes ${from}-${body.length - 1}/${body.length}`,
        etag: '"one"',
      });
      response.write(body.subarray(from, from + 60_000), () => response.destroy());
    },
  };
  for (const [title, answer] of Object.entries(answers))
    it(`is asked for again as any part if the answer is ${title}`, async () => {
      const { job } = await open(
        (...exchange) => (exchange[0].headers.range === END ? answer(...exchange) : file(...exchange)),
        FAR,
      );
      await readEnd(job);
      assert.ok((await ask(job.address('b'))).body.equals(body));
      assert.equal(job.stats().failure, undefined);
    });

  it('of a small file is left, because the head has it', async () => {
    const small = body.subarray(0, 560_000);
    const { origin, job } = await open((request, response) => {
      if (request.headers.range === END) request.headers.range = `bytes=${small.length - 131_072}-`;
      sendFile(small, request, response);
    }, FAR);
    assert.ok((await ask(job.address('a'))).body.equals(small));
    await until('every request is there', () => ranges(origin).length >= 3);
    // One read of a socket had arrived before it was left.
    assert.ok(job.stats().ioUsage <= small.length + 65_536 + 2_000, `${job.stats().ioUsage} bytes`);
  });

  it('of a file without ranges is left', async () => {
    const { job } = await open(
      (_request, response) => response.writeHead(200, { 'content-length': body.length }).end(body),
      FAR,
    );
    assert.ok((await ask(job.address('a'))).body.equals(body));
    // One read of a socket had arrived before the end was left.
    assert.ok(job.stats().ioUsage <= body.length + 65_536 + 1_000, `${job.stats().ioUsage} bytes`);
  });
});
