import assert from 'node:assert/strict';
import { openOrigin } from '../../src/media/hls/origin.ts';
import { declaredParameters, isCredential } from '../../src/source/playlist/parameters.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy, type ProxyOptions } from '../../src/source/proxy.ts';
import { ask } from './ask.ts';
import { Cleanup, sendFile, startOrigin, type Handler, type Origin } from './origin.ts';

const cleanup = new Cleanup();
const SECRET = 'f00dfacecafe0123';
const QUERY = `X-Amz-Signature=${SECRET}&token=tok/${SECRET}&part=one&other=${SECRET}`;
const PLAYLIST = [
  '#EXTM3U',
  '#EXT-X-VERSION:11',
  '#EXT-X-TARGETDURATION:4',
  '#EXT-X-DEFINE:QUERYPARAM="part"',
  '#EXT-X-DEFINE:QUERYPARAM="token"',
  '#EXT-X-DEFINE:QUERYPARAM="X-Amz-Signature"',
  '#EXTINF:4,',
  'a.ts?t={$token}',
  '#EXT-X-ENDLIST',
  '',
].join('\n');

const serving =
  (text: string): Handler =>
  (request, response) =>
    sendFile(Buffer.from(text), request, response);

async function open(
  text: string,
  query = QUERY,
  options: ProxyOptions = {},
): Promise<{ job: Job; origin: Origin; proxy: { port: number } }> {
  const origin = cleanup.add(await startOrigin(serving(text)));
  const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32', port: origin.port }], ...options }));
  return {
    origin,
    proxy,
    job: cleanup.add(
      proxy.open({
        source: parseSource(`${origin.url}/l.m3u8?${query}`),
        limits: { maxBytes: 1e9 },
        tls: { verify: { ffprobe: true, msv: true } },
        readPlaylistsAsTheyAre: ['msv'],
        followsParts: true,
      }),
    ),
  };
}
const wanted = { 'x-source-parameters': 'part,token,X-Amz-Signature,other' };

describe('source proxy: query of the source', () => {
  afterEach(() => cleanup.run());

  it('is withheld from a tool that poses as another, by path or as an HTTP proxy client', async () => {
    const { job, origin, proxy } = await open(PLAYLIST);
    const own = job.address('ffprobe');
    const asMsv = await ask(own.replace('/ffprobe/', '/msv/'), { headers: wanted });
    assert.equal(asMsv.status, 404);
    const { username } = new URL(job.environment('ffprobe')['http_proxy']!);
    const authorization = `Basic ${Buffer.from(`${username}:msv`).toString('base64')}`;
    assert.equal(
      (await ask(`${origin.url}/l.m3u8`, { proxy, headers: { ...wanted, 'proxy-authorization': authorization } }))
        .status,
      407,
    );
    const { headers } = await ask(own, { headers: wanted });
    assert.deepEqual([headers['x-source-parameters'], headers['x-source-place']], [undefined, undefined]);
  });

  it('each tool has its own secret, which ends with the job', async () => {
    const { job } = await open(PLAYLIST);
    const secrets = ['ffprobe', 'msv'].map((tool) => job.address(tool).split('/')[3]);
    assert.equal(new Set(secrets).size, 2);
    assert.equal(job.address('msv').split('/')[3], secrets[1]);
    job.close();
    for (const tool of ['ffprobe', 'msv', 'mediainfo']) assert.equal((await ask(job.address(tool))).status, 404, tool);
  });

  it('the validator gets only names that the playlist declares, and its address without the query', async () => {
    const { job, origin } = await open(PLAYLIST);
    const { headers } = await ask(job.address('msv'), { headers: wanted });
    const told = new URLSearchParams(String(headers['x-source-parameters']));
    assert.deepEqual([...told.keys()], ['part', 'token', 'X-Amz-Signature']);
    assert.equal(told.get('part'), 'one');
    assert.equal(headers['x-source-place'], `${origin.url}/l.m3u8`);
    assert.doesNotMatch(JSON.stringify(headers), new RegExp(SECRET));
  });

  it('a file that is not a playlist declares nothing', async () => {
    const { job } = await open(`RIFF ${PLAYLIST}`);
    assert.equal((await ask(job.address('msv'), { headers: wanted })).headers['x-source-parameters'], '');
  });

  it('a credential is replaced by a stand-in, which works only at the host of the playlist', async () => {
    const { job, origin } = await open(PLAYLIST);
    const elsewhere = cleanup.add(await startOrigin(serving('x')));
    const validator = openOrigin(job.address('msv'));
    const token = (await validator.parameters(undefined, ['token', 'part'])).get('token')!;
    assert.match(token, /^p[0-9a-f]{24}$/);
    assert.equal((await validator.parameters(undefined, ['token'])).get('token'), token);
    const fetched = await validator.fetch(`${origin.url}/${token}/a.ts?t=${token}`, { maxBytes: 1e6 });
    assert.equal(fetched.status, 200);
    assert.equal(origin.requests.at(-1)!.path, `/tok/${SECRET}/a.ts?t=tok/${SECRET}`);
    assert.equal(fetched.place, `${origin.url}/${token}/a.ts`);
    const { job: other } = await open(PLAYLIST, QUERY, { allow: [{ cidr: '127.0.0.1/32' }] });
    const reader = openOrigin(other.address('msv'));
    const mine = (await reader.parameters(undefined, ['token'])).get('token')!;
    await reader.fetch(`${elsewhere.url}/a.ts?t=${mine}`, { maxBytes: 1e6 });
    assert.equal(elsewhere.requests.at(-1)!.path, `/a.ts?t=${mine}`);
  });

  it('names of signatures and logins are credentials', () => {
    for (const name of [
      'X-Amz-Signature',
      'x-amz-security-token',
      'X-Goog-Credential',
      'Signature',
      'Policy',
      'Key-Pair-Id',
      'AWSAccessKeyId',
      'GoogleAccessId',
      'token',
      'access_token',
      'sig',
      'hdnts',
      'hmac',
      'jwt',
      'auth',
      'api_key',
      'md5',
      'sessionid',
      'q-signature',
      'wmsAuthSign',
    ])
      assert.ok(isCredential(name), name);
    for (const name of ['part', 'bitrate', 'video', 'design', 'start', 'id', 'cdn', 'resolution'])
      assert.ok(!isCredential(name), name);
  });

  it('declarations are read from their own tag only, sixteen at most', () => {
    assert.deepEqual(declaredParameters(PLAYLIST), ['part', 'token', 'X-Amz-Signature']);
    assert.deepEqual(declaredParameters('#EXTM3U\n# QUERYPARAM="a"\n#EXT-X-DEFINE:NAME="b",VALUE="c"\n'), []);
    assert.equal(declaredParameters('#EXT-X-DEFINE:QUERYPARAM="a"\n'.repeat(100_000)).length, 16);
  });
});
