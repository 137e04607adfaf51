/** Which requests the cache of results has a part in, and which of them are equal. */
import assert from 'node:assert/strict';
import { cacheAsked, unfitForCache, type CacheableRequest } from '../../../src/service/api/probe/cache_key.ts';
import { parseSource } from '../../../src/source/address/parse.ts';

const ADDRESS = 'https://media.example/film.mp4';
const MAX_AGE_S = 60;

const addressed = (address: string) => ({
  sources: [parseSource(address)] as CacheableRequest['sources'],
  secrets: [address] as const,
});
const aRequest = (change: Partial<CacheableRequest> = {}): CacheableRequest => ({
  kind: 'file',
  ...addressed(ADDRESS),
  tools: [
    { name: 'ffprobe', version: '7.0', options: { show_format: 'true' } },
    { name: 'mediainfo', version: '24.06' },
  ],
  report: { enabled: true },
  limits: { queueTimeoutMs: 60_000, timeoutMs: 60_000 },
  ...change,
});

const aPolicy = (change: object) =>
  ({ name: null, revision: null, digest: 'a', policy: {}, ...change }) as CacheableRequest['policy'];

const token = { rootUserId: 1, allow: [] };
const catalog = { exactly: (name: string, version: string): string | undefined => `${name} ${version} sha256:1` };
const secret = Buffer.alloc(32, 1);
const keyOf = (change: Partial<CacheableRequest> = {}, asking: Partial<Parameters<typeof cacheAsked>[2]> = {}) =>
  cacheAsked(aRequest(change), MAX_AGE_S, { token, catalog, secret, ...asking })?.key.toString('hex');

describe('the key of a cached result', () => {
  const UNFIT: [string, Partial<CacheableRequest>][] = [
    ['a playlist', addressed('https://media.example/list.m3u8')],
    ['a manifest', addressed('https://media.example/list.mpd')],
    ['a stream', addressed('rtmp://media.example/live/key')],
    ['a live stream of SRT', addressed('srt://media.example:9000')],
    ['a file by FTP', addressed('ftp://media.example/film.mp4')],
    ['an object by the scheme of its bucket', addressed('s3://bucket/film.mp4')],
    ['keys of a bucket', addressed('https://AKIAEXAMPLE:secret@bucket.s3.amazonaws.com/film.mp4')],
    ['headers', { secrets: [JSON.stringify({ address: ADDRESS, headers: [['cookie', 'a=b']] })] }],
    ['a credential', { secrets: [JSON.stringify({ address: ADDRESS, credential: 'mine' })] }],
    ['a file that was sent', { upload: {} as CacheableRequest['upload'] }],
    ['two sources', { sources: [parseSource(ADDRESS), parseSource(ADDRESS)] }],
  ];
  for (const [what, change] of UNFIT)
    it(`does not exist with ${what}`, () => {
      assert.equal(keyOf(change), undefined);
      assert.notEqual(unfitForCache(aRequest(change)), undefined);
    });

  it('does not exist if the image of a tool has no digest', () =>
    assert.equal(
      keyOf({}, { catalog: { exactly: (name) => (name === 'mediainfo' ? undefined : 'exact') } }),
      undefined,
    ));

  it('is the same for what makes no difference', () => {
    const { tools } = aRequest();
    assert.match(keyOf() ?? '', /^[0-9a-f]{64}$/);
    for (const change of [
      { tools: tools.toReversed() },
      { limits: { queueTimeoutMs: 5, timeoutMs: 60_000 } },
      addressed(`${ADDRESS}#part`),
      { timeline: false },
    ])
      assert.equal(keyOf(change), keyOf());
  });

  it('differs by account, by what the token may reach, and by everything that the result depends on', () => {
    const { tools } = aRequest();
    const keys = [
      keyOf(),
      keyOf({}, { token: { ...token, rootUserId: 2 } }),
      keyOf({}, { token: { ...token, allow: [{ cidr: '10.0.0.0/8' }] } }),
      keyOf({}, { catalog: { exactly: (name, version) => `${name} ${version} sha256:2` } }),
      keyOf({}, { secret: Buffer.alloc(32, 2) }),
      keyOf(addressed('http://media.example/film.mp4')),
      keyOf(addressed(`${ADDRESS}?signature=a`)),
      keyOf(addressed(`${ADDRESS}?signature=b`)),
      keyOf(addressed('https://me:one@media.example/film.mp4')),
      keyOf(addressed('https://me:two@media.example/film.mp4')),
      keyOf({ tools: tools.slice(1) }),
      keyOf({ tools: tools.map((tool) => ({ ...tool, options: {} })) }),
      keyOf({ tools: tools.map((tool) => ({ ...tool, timeoutMs: 5 })) }),
      keyOf({ report: { enabled: false } }),
      keyOf({ timeline: true }),
      keyOf({ policy: aPolicy({}) }),
      keyOf({ policy: aPolicy({ digest: 'b' }) }),
      keyOf({ policy: aPolicy({ name: 'mine', revision: 1 }) }),
      keyOf({ policy: aPolicy({ name: 'mine', revision: 2 }) }),
      keyOf({ limits: { queueTimeoutMs: 60_000, timeoutMs: 5 } }),
    ];
    assert.ok(!keys.includes(undefined));
    assert.equal(new Set(keys).size, keys.length);
  });
});
