import assert from 'node:assert/strict';
import { headersProblem, MOST_HEADERS, unfitFor, type SourceHeader } from '../../src/source/headers.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { holdsCredentials, type Source } from '../../src/source/source.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { ask } from './ask.ts';
import { Cleanup, pattern, sendFile, startOrigin, type Handler, type Origin } from './origin.ts';

const cleanup = new Cleanup();
const body = pattern(300_000);
const SENT: SourceHeader[] = [
  ['authorization', 'Bearer s3cret-t0ken'],
  ['cookie', 'session=abcdef123456; other=zyxwvu987654'],
  ['user-agent', 'Player/1.0'],
];

const withHeaders = (url: string, headers = SENT): Source => ({ ...parseSource(url), headers });

async function open(url: string, { followsParts = false } = {}): Promise<Job> {
  const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.0/8' }] }));
  return cleanup.add(proxy.open({ source: withHeaders(url), limits: { maxBytes: 1e10 }, followsParts }));
}

/** Whether each request for a path had the headers. */
const sentTo = ({ requests }: Origin, path: string): boolean[] => [
  ...new Set(
    requests
      .filter((request) => request.path === path)
      .map(({ headers }) => headers.authorization !== undefined || headers.cookie !== undefined),
  ),
];

const playlist = (entry: string): Buffer => Buffer.from(`#EXTM3U\n#EXTINF:1,\n${entry}\n#EXT-X-ENDLIST\n`);
const manifest = (base: string): Buffer =>
  Buffer.from(
    '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT1S">' +
      `<Period><AdaptationSet mimeType="video/mp4"><Representation id="1" bandwidth="1"><BaseURL>${base}</BaseURL>` +
      '</Representation></AdaptationSet></Period></MPD>',
  );

describe('headers of a source', function () {
  this.timeout(60_000);
  afterEach(() => cleanup.run());

  it('are sent with every read of the file, and replace those of the proxy', async () => {
    const origin = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response)));
    const job = await open(`${origin.url}/a.mp4`);
    assert.ok((await ask(job.address('a'))).body.equals(body));
    for (const { headers } of origin.requests) {
      assert.equal(headers.authorization, 'Bearer s3cret-t0ken');
      assert.equal(headers.cookie, 'session=abcdef123456; other=zyxwvu987654');
      assert.equal(headers['user-agent'], 'Player/1.0');
      assert.equal(headers['accept-encoding'], 'identity');
    }
  });

  it('are not sent to another host, port or scheme of a redirect, and again to the own host', async () => {
    const other = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response)));
    const origin = cleanup.add(
      await startOrigin((request, response, path) => {
        if (path === '/own.mp4') sendFile(body, request, response);
        else response.writeHead(302, { location: path === '/a.mp4' ? '/own.mp4' : `${other.url}/moved` }).end();
      }),
    );
    assert.ok((await ask((await open(`${origin.url}/a.mp4`)).address('a'))).body.equals(body));
    assert.deepEqual(sentTo(origin, '/own.mp4'), [true]);
    for (const away of [`${origin.url}/b.mp4`, `http://127.0.0.2:${other.port}/moved`]) {
      const job = await open(away);
      await ask(job.address('a'));
    }
    assert.deepEqual(sentTo(other, '/moved'), [false]);
  });

  for (const [kind, name, text] of [
    ['an HLS playlist', 'l.m3u8', playlist],
    ['a DASH manifest', 'm.mpd', manifest],
  ] as const)
    it(`are sent for the parts of ${kind} on the own host alone`, async () => {
      const other = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response)));
      const serve: Handler = (request, response, path) => {
        if (path === `/own/${name}`) sendFile(text('seg.mp4'), request, response);
        else if (path === `/other/${name}`) sendFile(text(`${other.url}/seg.mp4`), request, response);
        else sendFile(body, request, response);
      };
      const origin = cleanup.add(await startOrigin(serve));
      const own = await open(`${origin.url}/own/${name}`);
      await ask(own.address('a'));
      await ask(own.address('a').replace(name, 'seg.mp4'));
      assert.deepEqual(sentTo(origin, '/own/seg.mp4'), [true]);
      const away = await open(`${origin.url}/other/${name}`);
      await ask(away.address('a'));
      await ask(away.address('a').replace(name, `x/http/127.0.0.1:${other.port}/seg.mp4`));
      assert.deepEqual(sentTo(other, '/seg.mp4'), [false]);
    });

  it('are not sent to the neighbours of a file', async () => {
    const origin = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response)));
    const job = await open(`${origin.url}/dir/a.mp4`);
    await ask(job.address('a'));
    await ask(job.address('a').replace('a.mp4', 'b.mp4'));
    assert.deepEqual(sentTo(origin, '/dir/b.mp4'), [false]);
  });

  it('are struck from the output of a tool, in their parts too', async () => {
    const origin = cleanup.add(await startOrigin((request, response) => sendFile(body, request, response)));
    const job = await open(`${origin.url}/a.mp4`);
    const text = job.redact('Bearer s3cret-t0ken / s3cret-t0ken / abcdef123456 / zyxwvu987654 / Player/1.0');
    assert.equal(text, 'REDACTED / REDACTED / REDACTED / REDACTED / Player/1.0');
  });

  it('make the source one with credentials', () => {
    assert.equal(holdsCredentials(parseSource('https://one.test/a.mp4')), false);
    assert.equal(holdsCredentials(withHeaders('https://one.test/a.mp4')), true);
  });
});

describe('headersProblem', () => {
  const NAMES =
    'host range connection content-length content-encoding transfer-encoding te upgrade proxy-authorization ' +
    'proxy-connection expect accept-encoding if-range x-forwarded-for metadata-flavor metadata trailer keep-alive ' +
    'x-aws-ec2-metadata-token';
  for (const name of [...NAMES.split(' '), '', 'a b', 'a:b', 'a\r\nb', 'ü', 'x'.repeat(129)])
    it(`refuses the name ${JSON.stringify(name).slice(0, 40)}`, () => assert.ok(headersProblem([[name, 'x']])));

  for (const value of ['a\r\nhost: b', 'a\nb', 'a\0b', 'ä', '', ' a', 'a ', 'a\tb', '\u{1f600}'])
    it(`refuses the value ${JSON.stringify(value)}`, () => assert.equal(headersProblem([['x-a', value]])?.name, 'x-a'));

  it('bounds number and size, and refuses a repeated name', () => {
    const many = (count: number, length: number): SourceHeader[] =>
      Array.from({ length: count }, (_, at) => [`x-${at}`, 'v'.repeat(length)]);
    assert.equal(headersProblem(many(MOST_HEADERS, 10)), undefined);
    assert.ok(headersProblem(many(MOST_HEADERS + 1, 10)));
    assert.ok(headersProblem(many(2, 4_100)));
    assert.ok(headersProblem([...many(1, 1), ...many(1, 1)]));
  });

  for (const [url, headers, fits] of [
    ['https://one.test/a', SENT, true],
    ['s3://bucket/a', [['x-a', 'b']], false],
    ['rtmp://one.test/a/b', [['x-a', 'b']], false],
    ['https://u:p@one.test/a', SENT, false],
    ['https://u:p@one.test/a', [['referer', 'https://b.test/']], true],
    ['https://KEY:SECRET@s3.amazonaws.com/bucket/a', [['x-amz-date', '1']], false],
  ] as [string, SourceHeader[], boolean][])
    it(`${fits ? 'allows' : 'refuses'} ${headers[0]![0]} for ${url}`, () =>
      assert.equal(unfitFor(parseSource(url), headers) === undefined, fits));
});
