/** Listings of buckets: pages by table, hosts that lie, and a real S3 server. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { encodeKey } from '../../src/source/address/s3.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { isSourceError } from '../../src/source/error.ts';
import { ANYTHING, isWanted, listBucket, type Listed, type Listing } from '../../src/source/listing/listing.ts';
import { versionOf } from '../../src/source/listing/object_version.ts';
import { azurePage, s3Page } from '../../src/source/listing/page.ts';
import { withCredential } from '../../src/source/named_credential.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { missingPeer, type Peer, startS3 } from '../streams/peers.ts';

const ALL: Listing = {
  include: [],
  exclude: [],
  minBytes: null,
  maxBytes: null,
  modifiedAfter: null,
  modifiedBefore: null,
  cursor: null,
};

const s3 = (names: readonly string[], more = false, encoded = false): string =>
  `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>films</Name>` +
  `${encoded ? '<EncodingType>url</EncodingType>' : ''}<IsTruncated>${more}</IsTruncated>` +
  names
    .map(
      (name) =>
        `<Contents><Key>${name}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>&quot;1&quot;</ETag>` +
        `<Size>7</Size><Owner><ID>x</ID></Owner></Contents>`,
    )
    .join('') +
  '<CommonPrefixes><Prefix>x/</Prefix></CommonPrefixes></ListBucketResult>';

const azure = (names: readonly string[], marker = ''): string =>
  `\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="c"><Blobs>` +
  names
    .map(
      (name) =>
        `<Blob><Name>${name}</Name><Properties><Last-Modified>Fri, 02 Jan 2026 03:04:05 GMT</Last-Modified>` +
        `<Content-Length>7</Content-Length></Properties><OrMetadata /></Blob>`,
    )
    .join('') +
  `</Blobs>${marker === '' ? '<NextMarker />' : `<NextMarker>${marker}</NextMarker>`}</EnumerationResults>`;

describe('a page of a listing', () => {
  const modified = Date.UTC(2026, 0, 2, 3, 4, 5);
  for (const [what, page, names, isLast] of [
    ['of S3', s3Page(s3(['a.mp4', 'b/c.mp4'])), ['a.mp4', 'b/c.mp4'], true],
    ['of S3 that goes on', s3Page(s3(['a'], true)), ['a'], false],
    ['of S3, with encoded names', s3Page(s3(['a+b%2B%E2%98%83%0A'], false, true)), ['a b+☃\n'], true],
    ['of S3, with entities and spaces', s3Page(s3([' a&amp;b&#x26;&lt; '])), [' a&b&< '], true],
    ['of S3, without objects', s3Page(s3([])), [], true],
    ['of Azure', azurePage(azure(['a.mp4', 'b c'])), ['a.mp4', 'b c'], true],
    ['of Azure that goes on', azurePage(azure(['a'], '2!76!x')), ['a'], false],
    [
      'of Azure, with an encoded name',
      azurePage(azure(['x']).replace('<Name>x', '<Name Encoded="true">x%EF%BF%BE')),
      ['x\ufffe'],
      true,
    ],
  ] as const)
    it(what, () => {
      assert.ok(page);
      assert.deepEqual(
        page.objects.map(({ name }) => name),
        names,
      );
      assert.equal(page.isLast, isLast);
      for (const one of page.objects)
        assert.deepEqual([one.bytes, one.modified, one.etag], [7, modified, what.includes('Azure') ? '' : '"1"']);
    });

  it('counts a name that cannot be decoded', () => {
    const page = s3Page(s3(['a', '%ff', 'b'], false, true))!;
    assert.deepEqual([page.objects.length, page.unreadable], [2, 1]);
  });

  for (const [what, text] of [
    ['nothing', ''],
    ['a text', 'AccessDenied'],
    ['a page of the web', '<!doctype html><html><body>hello</body></html>'],
    ['an error', '<Error><Code>AccessDenied</Code></Error>'],
    ['half a page', s3(['a', 'b']).slice(0, -60)],
  ] as const)
    it(`is none: ${what}`, () => assert.deepEqual([s3Page(text), azurePage(text)], [undefined, undefined]));

  it('never throws, whatever is cut out or put into it', () => {
    let seed = 1;
    const random = (most: number): number => (seed = (seed * 48_271) % 2_147_483_647) % most;
    for (const [text, read] of [
      [s3(['a&amp;b', 'c%20'], true, true), s3Page],
      [azure(['a', 'b'], 'm'), azurePage],
    ] as const)
      for (let round = 0; round < 2_000; round++) {
        const [at, to] = [random(text.length), random(text.length)];
        const put = ['', '<', '>', '"', '&#xD800;', '<Key>', '</Contents>', '<![CDATA[', '\u0000'][random(9)]!;
        const page = read(text.slice(0, at) + put + text.slice(Math.max(at, to)));
        for (const { name } of page?.objects ?? []) assert.equal(typeof name, 'string');
      }
  });
});

describe('the version of an object', () => {
  const version = (etag: string, bytes = 7, modified = 1_000_500) => versionOf({ etag, bytes, modified });
  it('is its ETag, however that is written', () => {
    assert.match(version('"1"'), /^[\w-]{22}$/);
    assert.deepEqual(
      ['1', 'W/"1"', '&quot;1&quot;'].map((one) => version(one) === version('"1"')),
      [true, true, false],
    );
    assert.equal(version('"1"', 8, 2), version('"1"'));
    assert.notEqual(version('"2"'), version('"1"'));
  });
  it('is its size and time to the second, without an ETag', () => {
    assert.equal(version('', 7, 1_000_000), version(''));
    assert.notEqual(version('', 8), version(''));
    assert.notEqual(version('', 7, 1_001_000), version(''));
  });
});

describe('what is wanted of a bucket', () => {
  const object = { name: 'dir/film one.mp4', bytes: 100, modified: 1_000 };
  for (const [what, filter, expected] of [
    ['without a filter', {}, true],
    ['a suffix', { include: ['*.mp4'] }, true],
    ['one of two', { include: ['*.mkv', 'film*'] }, true],
    ['another suffix', { include: ['*.mkv'] }, false],
    ['its whole name', { include: ['film one.mp4'] }, true],
    ['parts of it', { include: ['f*l*o*.mp4'] }, true],
    ['parts in another order', { include: ['*one*film*'] }, false],
    ['parts that overlap', { include: ['film one.mp*p4'] }, false],
    ['excluded', { include: ['*.mp4'], exclude: ['*one*'] }, false],
    ['as large as the smallest', { minBytes: 100 }, true],
    ['too small', { minBytes: 101 }, false],
    ['too large', { maxBytes: 99 }, false],
    ['as old as the first', { modifiedAfter: 1_000 }, true],
    ['too old', { modifiedAfter: 1_001 }, false],
    ['too new', { modifiedBefore: 1_000 }, false],
  ] as const)
    it(what, () => assert.equal(isWanted(object, { ...ALL, ...filter }, 4), expected));
  it('not a folder', () => assert.equal(isWanted({ ...object, name: 'dir/' }, ALL, 0), false));
  it('not one of unknown size or time, where that counts', () => {
    assert.equal(isWanted({ ...object, bytes: NaN }, { ...ALL, maxBytes: 5 }, 0), false);
    assert.equal(isWanted({ ...object, modified: NaN }, { ...ALL, modifiedBefore: 5 }, 0), false);
  });
});

describe('a listing', () => {
  const list = async (url: string, main: string, pages: (address: URL, at: number) => string, change = {}) => {
    const asked: URL[] = [];
    const listed = await listBucket(
      parseSource(`${url}${ANYTHING}`),
      { ...ALL, ...change },
      `${main}${ANYTHING}`,
      async (address) => {
        asked.push(new URL(address));
        return pages(asked.at(-1)!, asked.length - 1);
      },
    );
    return { listed, asked };
  };
  const ofS3 = (pages: (address: URL, at: number) => string, change = {}) =>
    list('s3://films/a%20b/', 'https://films.s3.amazonaws.com/a%20b/', pages, change);
  const ofAzure = (pages: (address: URL, at: number) => string, change = {}) =>
    list('az://account/films/dir/', 'https://account.blob.core.windows.net/films/dir/', pages, change);
  const numbered = (from: number, count: number): string[] =>
    Array.from({ length: count }, (_, at) => `a b/${String(from + at).padStart(9, '0')}.mp4`);

  it('of S3 goes on after the last name', async () => {
    const { listed, asked } = await ofS3((_, at) => s3(numbered(1_000 * at, 1_000), at < 2));
    assert.equal(asked.length, 3);
    const [first, second] = asked;
    assert.equal(first!.origin + first!.pathname, 'https://films.s3.amazonaws.com/');
    assert.equal(first!.searchParams.get('prefix'), 'a b/');
    assert.equal(first!.searchParams.has('start-after'), false);
    assert.equal(second!.searchParams.get('start-after'), 'a b/000000999.mp4');
    assert.deepEqual([listed.names.length, listed.found, listed.next], [3_000, 3_000, null]);
  });

  it('leaves the rest to another job', async () => {
    const { listed, asked } = await ofS3((_, at) => s3(numbered(1_000 * at, 1_000), true));
    assert.deepEqual([asked.length, listed.names.length, listed.next], [4, 4_000, 'a b/000003999.mp4']);
    const again = await ofS3((address) => s3(address.searchParams.get('start-after') ? [] : ['x']), {
      cursor: listed.next,
    });
    assert.equal(again.listed.next, null);
  });

  it('leaves the rest to another job when nothing is wanted', async () => {
    const { listed } = await ofS3((_, at) => s3(numbered(1_000 * at, 1_000), true), { include: ['*.mkv'] });
    assert.deepEqual([listed.found, listed.filtered, listed.names], [20_000, 20_000, []]);
  });

  it('of Azure goes on with the marker', async () => {
    const { asked, listed } = await ofAzure((_, at) => azure(at === 1 ? [] : [`dir/${at}`], at < 2 ? `m${at}` : ''));
    assert.equal(asked[0]!.pathname, '/films');
    assert.deepEqual(
      asked.map(({ searchParams }) => searchParams.get('marker')),
      [null, 'm0', 'm1'],
    );
    assert.deepEqual(listed.names, ['dir/0', 'dir/2']);
  });

  it('of Azure keeps its signature', async () => {
    const source = withCredential(
      parseSource('az://account/films/...'),
      { name: 'x', kind: 'az', accounts: ['*'], buckets: [] },
      { sas: 'sv=1&sig=a%2Bb' },
    )!;
    let asked = '';
    await listBucket(source, ALL, source.url.replace('az://account', 'https://account.test'), async (url) => {
      asked = url;
      return azure([]);
    });
    assert.match(asked, /^https:\/\/account\.test\/films\?restype=container&.*prefix=&sv=1&sig=a%2Bb$/);
  });

  for (const [what, run, message] of [
    ['repeats a page', () => ofS3(() => s3(['a b/1', 'a b/2'], true)), /names are not in order/],
    ['lists names out of order', () => ofS3(() => s3(['a b/2', 'a b/1'])), /names are not in order/],
    ['repeats what came before', () => ofS3(() => s3(['a b/1']), { cursor: 'a b/1' }), /names are not in order/],
    ['has an empty page that is not the last', () => ofS3(() => s3([], true)), /says that there is more/],
    ['lists another place', () => ofS3(() => s3(['b/1'])), /names are of another place/],
    ['lists more than was asked for', () => ofS3(() => s3(numbered(0, 1_001))), /more names than were asked for/],
    ['has an endless name', () => ofS3(() => s3([`a b/${'x'.repeat(6_141)}`])), /has more than 6144 characters/],
    ['has an endless marker', () => ofAzure(() => azure([], 'm'.repeat(6_145))), /has more than 6144 characters/],
    ['answers with an error as 200', () => ofS3(() => '<Error/>'), /it is no XML of one/],
    ['repeats its marker', () => ofAzure(() => azure(['dir/1'], 'm')), /each page names itself/],
    ['has empty pages without an end', () => ofAzure((_, at) => azure([], `m${at}`)), /says that there is more/],
  ] as const)
    it(`fails with a host that ${what}`, () =>
      assert.rejects(run(), (error: unknown) => {
        assert.ok(isSourceError(error));
        assert.equal(error.reason, 'protocol');
        assert.match(error.message, message);
        return true;
      }));
});

const AWKWARD = [
  'a b.mp4',
  'a#b?c.mp4',
  '100%.mp4',
  '%41.mp4',
  'ünï ☃ 🎬.mp4',
  'a+b&c=d.mp4',
  "q'(*)!.mp4",
  'x;y,z.mp4',
];

describe('a listing of a real S3 server', function () {
  this.timeout(120_000);
  const KEYS = { accessKey: 'archive-key', secretKey: 'a/secret+with=signs' };
  let folder = '';
  let server: Peer | undefined;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  const put = (name: string): void => {
    const path = join(folder, 'films', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'x');
  };
  before(async function () {
    const missing = await missingPeer('versitygw');
    if (missing !== undefined) return this.skip();
    folder = mkdtempSync(join(tmpdir(), 'listing-'));
    for (let at = 0; at < 2_500; at++) put(`many/${at % 10}/${String(at).padStart(5, '0')}.mp4`);
    for (const name of AWKWARD) put(`awkward/${name}`);
    server = await startS3(folder, KEYS.accessKey, KEYS.secretKey, 'eu-central-1');
    proxy = await startProxy({
      allow: [{ cidr: '127.0.0.1/32' }],
      s3: { endpoint: `http://127.0.0.1:${server.port}`, region: 'eu-central-1' },
    });
  });
  after(async () => {
    await proxy?.close();
    await server?.close();
    if (folder !== '') rmSync(folder, { recursive: true, force: true });
  });

  async function list(
    prefix: string,
    change: Partial<Listing> = {},
    secret: Record<string, string> = KEYS,
  ): Promise<Listed> {
    const credential = {
      name: 'x',
      kind: 's3',
      accounts: ['*' as const],
      buckets: ['films'],
      region: 'eu-central-1',
    } as const;
    const source = withCredential(parseSource(`s3://${prefix}${ANYTHING}`), credential, secret)!;
    const job = proxy.open({ source, limits: { maxBytes: 1 << 30 } });
    try {
      return await job.list('ffprobe', { ...ALL, ...change }, AbortSignal.timeout(30_000));
    } finally {
      job.close();
    }
  }

  it('has each object once, in several pages', async () => {
    const { names, found, next } = await list('films/many/');
    assert.deepEqual([names.length, new Set(names).size, found, next], [2_500, 2_500, 2_500, null]);
  });

  it('goes on from a name, and finds what appeared after it', async () => {
    const { names } = await list('films/many/');
    put('many/5/new.mp4');
    put('many/0/00000.too-late.mp4');
    const rest = await list('films/many/', { cursor: names[1_199]! });
    assert.deepEqual(
      rest.names.filter((name) => !name.includes('new')),
      names.slice(1_200),
    );
    assert.ok(rest.names.includes('many/5/new.mp4'));
    assert.ok(!rest.names.includes('many/0/00000.too-late.mp4'));
  });

  it('has awkward names, each of which is read by the address that is made of it', async () => {
    const { names } = await list('films/awkward/');
    assert.deepEqual(names.toSorted(), AWKWARD.map((name) => `awkward/${name}`).toSorted());
    for (const name of names) assert.equal(parseSource(`s3://films/${encodeKey(name)}`).s3?.key, name);
  });

  it('fails with the status of a bucket that does not exist, and of wrong keys', async () => {
    const status = (expected: number) => (error: unknown) => isSourceError(error) && error.status === expected;
    await assert.rejects(list('nothing/x'), status(404));
    await assert.rejects(list('films/', {}, { ...KEYS, secretKey: 'wrong' }), status(403));
  });
});
