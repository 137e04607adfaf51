import assert from 'node:assert/strict';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy, type JobOptions } from '../../src/source/proxy.ts';
import { until } from '../until.ts';
import { ask } from './ask.ts';
import { Cleanup, pattern, sendFile, startOrigin, type Handler, type Origin } from './origin.ts';

const cleanup = new Cleanup();
const media = pattern(700_000);
const FAR = 0;
const NEAR = 60_000;

const list = (...lines: string[]): Buffer => Buffer.from(`#EXTM3U\n${lines.join('\n')}\n`);
const ended = (...segments: string[]): Buffer =>
  list(...segments.flatMap((name) => ['#EXTINF:6,', name]), '#EXT-X-ENDLIST');

describe('parts of a far playlist, fetched ahead', function () {
  this.timeout(20_000);
  afterEach(() => cleanup.run());

  async function open(
    files: Record<string, Buffer>,
    {
      nearMs = FAR,
      name = Object.keys(files)[0]!,
      ...options
    }: Partial<JobOptions> & { nearMs?: number; name?: string } = {},
    handler?: Handler,
  ): Promise<{ origin: Origin; job: Job; paths: () => string[] }> {
    const origin = cleanup.add(
      await startOrigin((request, response, path) => {
        const body = files[path.slice(1)];
        if (handler !== undefined && body === undefined) handler(request, response, path);
        else if (body === undefined) response.writeHead(404).end();
        else sendFile(body, request, response);
      }),
    );
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32', port: origin.port }], nearMs }));
    const job = cleanup.add(
      proxy.open({
        source: parseSource(`${origin.url}/${name}`),
        limits: { maxBytes: 1e9 },
        tls: { verify: { ffprobe: true, mediainfo: true } },
        live: ['ffprobe'],
        ...options,
      }),
    );
    return { origin, job, paths: () => origin.requests.map(({ path }) => path) };
  }

  it('come before a tool asks: streams, and the first segment of each', async () => {
    const { job, paths } = await open({
      'main.m3u8': list('#EXT-X-STREAM-INF:BANDWIDTH=2', 'a/list.m3u8', '#EXT-X-STREAM-INF:BANDWIDTH=1', 'b/list.m3u8'),
      'a/list.m3u8': ended('0.ts', '1.ts'),
      'b/list.m3u8': ended('0.ts', '1.ts'),
      'a/0.ts': media,
      'b/0.ts': media,
    });
    await job.prepare();
    const first = ['/main.m3u8', '/a/list.m3u8', '/b/list.m3u8', '/a/0.ts', '/b/0.ts'];
    await until('all are asked for', () => first.every((path) => paths().includes(path)));
    const segment = await ask(job.address('ffprobe').replace('main.m3u8', 'a/0.ts'), { range: 'bytes=0-1000' });
    assert.ok(segment.body.equals(media.subarray(0, 1001)));
    assert.deepEqual(paths().toSorted(), first.toSorted());
  });

  it('count to a tool, and add up to what was read', async () => {
    const { job, paths } = await open({ 'main.m3u8': ended('0.ts'), '0.ts': media });
    await job.prepare();
    await until('the segment is there', () => paths().includes('/0.ts') && job.stats().ioUsage > 524_288);
    const { origin, ioUsage } = job.stats();
    assert.equal(
      Object.values(origin).reduce((sum, { bytes }) => sum + bytes, 0),
      ioUsage,
    );
    assert.ok(ioUsage < 600_000, `${ioUsage} bytes`);
  });

  it('do not come from a near origin', async () => {
    const { job, paths } = await open({ 'main.m3u8': ended('0.ts'), '0.ts': media }, { nearMs: NEAR });
    await job.prepare();
    await ask(job.address('ffprobe'));
    assert.deepEqual(paths(), ['/main.m3u8']);
  });

  it('of DASH have media only for a tool that decodes', async () => {
    const mpd = Buffer.from(
      '<MPD><Period><AdaptationSet><SegmentTemplate initialization="i$RepresentationID$" media="m$RepresentationID$-' +
        '$Number$"/><Representation id="v"/><Representation id="a"/></AdaptationSet></Period></MPD>',
    );
    for (const [live, expected] of [
      [['ffprobe'], ['/ia', '/iv', '/ma-1', '/mv-1']],
      [[], ['/ia', '/iv']],
    ] as const) {
      const { job, paths } = await open(
        { 'main.mpd': mpd, iv: media, ia: media, 'mv-1': media, 'ma-1': media },
        { live },
      );
      await job.prepare();
      await until('all are asked for', () => expected.every((path) => paths().includes(path)));
      assert.deepEqual(paths().toSorted(), [...expected, '/main.mpd'].toSorted());
    }
  });

  it('are few of a playlist that names many, and those that it names first', async () => {
    const names = Array.from({ length: 2000 }, (_value, i) => `${i}.m3u8`);
    const { job, paths, origin } = await open(
      { 'main.m3u8': list(...names.flatMap((name) => ['#EXT-X-STREAM-INF:BANDWIDTH=1', name])) },
      {},
      (_request, response) =>
        response.writeHead(200).end(list(...names.flatMap((name) => ['#EXTINF:6,', `${name}.ts`]))),
    );
    await job.prepare();
    await until('sixteen are asked for', () => paths().length === 17);
    await ask(`${job.address('ffprobe')}.none`);
    assert.equal(origin.requests.length, 18);
    // On several connections they may overtake one another.
    assert.deepEqual(new Set(paths().slice(1, 17)), new Set(names.slice(0, 16).map((name) => `/${name}`)));
  });

  it('are checked like what a tool asks for, and a refusal is only recorded when it does', async () => {
    const { job, paths } = await open({ 'main.m3u8': ended('http://127.0.0.2:1/0.ts') });
    await job.prepare();
    assert.equal((await ask(job.address('ffprobe'))).status, 200);
    assert.deepEqual(job.stats().refused, []);
    const address = job.address('ffprobe').replace('main.m3u8', 'x/http/127.0.0.2:1/0.ts');
    assert.equal((await ask(address)).status, 403);
    assert.equal(job.stats().refused.length, 1);
    assert.deepEqual(paths(), ['/main.m3u8']);
  });

  it('have the credentials of the source on its host, and none elsewhere', async () => {
    const other = cleanup.add(await startOrigin((request, response) => sendFile(media, request, response)));
    const { origin, job } = await open(
      {
        'main.m3u8': list('#EXT-X-KEY:METHOD=AES-128,URI="key"', '#EXTINF:6,', `${other.url}/0.ts`, '#EXT-X-ENDLIST'),
        key: media.subarray(0, 16),
      },
      {
        allow: [{ cidr: '127.0.0.1/32' }],
      },
    );
    job.close();
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }], nearMs: FAR }));
    const again = cleanup.add(
      proxy.open({
        source: parseSource(`${origin.url.replace('://', '://user:word@')}/main.m3u8`),
        limits: { maxBytes: 1e9 },
      }),
    );
    await again.prepare();
    await until(
      'both parts are asked for',
      () => other.requests.length > 0 && origin.requests.some(({ path }) => path === '/key'),
    );
    assert.ok(origin.requests.every(({ authorization }) => authorization !== undefined));
    assert.equal(other.requests[0]!.authorization, undefined);
  });

  it('end with the job', async () => {
    const { job, paths } = await open(
      { 'main.m3u8': ended('0.ts') },
      {},
      (_request, response) => void response.flushHeaders(),
    );
    await job.prepare();
    await until('the segment is asked for', () => paths().includes('/0.ts'));
    job.close();
    assert.deepEqual(job.stats().failures, {});
  });

  it('are read from their beginning: nothing is asked for at their ends', async () => {
    const { job, origin } = await open({ 'main.m3u8': ended('0.mp4'), '0.mp4': media });
    await job.prepare();
    await ask(job.address('mediainfo').replace('main.m3u8', '0.mp4'), { range: 'bytes=0-1000' });
    assert.ok(
      origin.requests.every(({ range }) => range === 'bytes=0-524287'),
      origin.requests.map(({ range }) => range).join(),
    );
  });
});
