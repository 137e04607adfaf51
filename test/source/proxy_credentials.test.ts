import assert from 'node:assert/strict';
import { isSigned, type Access, accessOf } from '../../src/source/http/exchange.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy, type ProxyOptions } from '../../src/source/proxy.ts';
import { signS3 } from '../../src/source/http/sign.ts';
import { targetOf } from '../../src/source/address/target.ts';
import { originUrl } from '../../src/source/protocols/table.ts';
import { ask } from './ask.ts';
import { Cleanup, pattern, sendFile, startOrigin, type Handler } from './origin.ts';

const cleanup = new Cleanup();
const body = pattern(3_000_000);
const file: Handler = (request, response) => sendFile(body, request, response);
const keys = { accessKey: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };

async function open(url: string, options: ProxyOptions = {}): Promise<Job> {
  const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32' }], ...options }));
  return cleanup.add(proxy.open({ source: parseSource(url, { s3Hosts: ['minio.lan'] }), limits: { maxBytes: 1e10 } }));
}

function accessTo(url: string): Access {
  const source = parseSource(url.replace('KEYS', `${keys.accessKey}:${keys.secret}`));
  return accessOf(source, originUrl(source), {})!;
}

describe('signS3', () => {
  // Signatures by another implementation (botocore 1.43.11) for the same time and keys.
  for (const [url, region, signature] of [
    [
      'https://bucket.s3.amazonaws.com/dir/a%20b%2B%C3%BC.mp4',
      'us-east-1',
      'd83ece332703b6180e594d9c8c4f5df68aec18e2b892c9377fd9ab7180bcaa1c',
    ],
    [
      'https://s3.eu-west-1.amazonaws.com/bucket/a//b/../c.mp4?versionId=a%2Fb&x-id=GetObject',
      'eu-west-1',
      'c1d4f481ebf340b6beeb61a2081ae377aa124b50d6da984a107cb76548cb3441',
    ],
    [
      'http://127.0.0.1:9000/bucket/a.mp4',
      'us-east-1',
      '86a28eb9d08e7f1f47688248b801c6ffe1a8c56f65ca089b40c36570103c8fda',
    ],
  ] as const) {
    it(`signs ${url}`, () => {
      const headers = signS3(targetOf(url), keys, region, new Date('2026-11-21T08:30:15Z'));
      assert.equal(headers['x-amz-date'], '20261121T083015Z');
      assert.equal(
        headers['authorization'],
        `AWS4-HMAC-SHA256 Credential=${keys.accessKey}/20261121/${region}/s3/aws4_request, ` +
          `SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=${signature}`,
      );
    });
  }
});

describe('signS3 with a session', () => {
  // By botocore, too.
  it('signs the session token', () => {
    const target = targetOf('https://media.s3.eu-west-1.amazonaws.com/dir/a%20b.mp4');
    const session = { accessKey: 'KEYgranted', secret: 'secret/granted', session: 'session-granted==' };
    const headers = signS3(target, session, 'eu-west-1', new Date('2026-11-21T08:30:15Z'));
    assert.equal(headers['x-amz-security-token'], 'session-granted==');
    assert.match(
      headers['authorization'] ?? '',
      /Signature=ed43bc061a3073755ce93384e2050c132474ec2ddfaa6be86195b2b3517153ab$/,
    );
  });
});

describe('source proxy: credentials', function () {
  this.timeout(10_000);
  afterEach(() => cleanup.run());

  it('sends basic authentication to its own authority alone, also for entries of its playlist', async () => {
    const origin = cleanup.add(
      await startOrigin((request, response, path) => {
        if (path.endsWith('.m3u8'))
          sendFile(Buffer.from('#EXTM3U\n#EXTINF:1,\nseg.ts\n#EXT-X-ENDLIST\n'), request, response);
        else sendFile(body, request, response);
      }),
    );
    const job = await open(`http://us%40er:p%3A%2Fss@127.0.0.1:${origin.port}/l.m3u8`);
    await ask(job.address('a'));
    await ask(job.address('a').replace('l.m3u8', 'seg.ts'));
    assert.deepEqual([...new Set(origin.requests.map(({ path }) => path))], ['/l.m3u8', '/seg.ts']);
    for (const { authorization } of origin.requests)
      assert.equal(authorization, `Basic ${Buffer.from('us@er:p:/ss').toString('base64')}`);
    assert.ok(!job.address('a').includes('us'));
  });

  it('sends it for the file alone, so that a compromised tool cannot read its neighbours', async () => {
    const origin = cleanup.add(
      await startOrigin((request, response, path) => {
        if (path === '/odd') sendFile(Buffer.from('#EXTM3U\n#EXTINF:1,\nseg.ts\n#EXT-X-ENDLIST\n'), request, response);
        else sendFile(body, request, response);
      }),
    );
    const job = await open(`http://user:password@127.0.0.1:${origin.port}/dir/a.mp4`);
    await ask(job.address('a'));
    // A playlist that is not the source gives no access either.
    for (const path of ['b.mp4', `x/http/127.0.0.1:${origin.port}/odd`, `x/http/127.0.0.1:${origin.port}/c.mp4`])
      await ask(job.address('a').replace('a.mp4', path));
    const of = (wanted: string) =>
      origin.requests.filter(({ path }) => path === wanted).map(({ authorization }) => authorization !== undefined);
    assert.deepEqual(
      ['/dir/a.mp4', '/dir/b.mp4', '/odd', '/c.mp4'].map((path) => [path, ...new Set(of(path))]),
      [
        ['/dir/a.mp4', true],
        ['/dir/b.mp4', false],
        ['/odd', false],
        ['/c.mp4', false],
      ],
    );
    const list = await open(`http://user:password@127.0.0.1:${origin.port}/odd`);
    await ask(list.address('a'));
    await ask(list.address('a').replace('odd', 'seg.ts'));
    assert.deepEqual([...new Set(of('/seg.ts'))], [true]);
  });

  it('never sends it to another authority, by redirect or playlist', async () => {
    const other = cleanup.add(await startOrigin(file));
    const origin = cleanup.add(
      await startOrigin((request, response, path) => {
        if (path.endsWith('.m3u8'))
          sendFile(Buffer.from(`#EXTM3U\n#EXTINF:1,\n${other.url}/seg.ts\n#EXT-X-ENDLIST\n`), request, response);
        else response.writeHead(302, { location: `${other.url}/moved` }).end();
      }),
    );
    const moved = await open(`http://user:password@127.0.0.1:${origin.port}/a.mp4`);
    assert.ok((await ask(moved.address('a'))).body.equals(body));
    const list = await open(`http://user:password@127.0.0.1:${origin.port}/l.m3u8`);
    const text = (await ask(list.address('a'))).body.toString();
    assert.ok((await ask(new URL(text.split('\n')[2]!, list.address('a')).href)).body.equals(body));
    assert.ok(origin.requests.every(({ authorization }) => authorization !== undefined));
    assert.ok(other.requests.length >= 2);
    assert.ok(other.requests.every(({ authorization }) => authorization === undefined));
  });

  it('asks the first authority again if its redirect has expired', async () => {
    let tickets = 0;
    const origin = cleanup.add(
      await startOrigin((request, response, path) => {
        if (path === '/a.mp4') {
          response.writeHead(302, { location: `/ticket/${++tickets}`, 'content-length': 0 }).end();
          return;
        }
        // Each ticket is valid for its first request.
        const first = origin.requests.filter((seen) => seen.path === path).length === 1;
        if (first) sendFile(body, request, response);
        else response.writeHead(403, { 'content-length': 0 }).end();
      }),
    );
    const job = await open(`${origin.url}/a.mp4`);
    assert.ok((await ask(job.address('a'))).body.equals(body));
    assert.ok(tickets > 1);
  });

  it('signs for an S3 endpoint of the operator, by path, with dot segments', async () => {
    const origin = cleanup.add(await startOrigin(file));
    const job = await open(`s3://${keys.accessKey}:${keys.secret}@bucket/dir//a+b ü/../f.mp4`, {
      s3: { endpoint: origin.url, region: 'eu-central-1' },
    });
    assert.ok((await ask(job.address('a'))).body.equals(body));
    assert.equal(origin.requests[0]!.path, '/bucket/dir//a%2Bb%20%C3%BC/../f.mp4');
    for (const { authorization, path, headers, host } of origin.requests) {
      const day = String(headers['x-amz-date']);
      const moment = new Date(day.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'));
      assert.ok(Math.abs(moment.getTime() - Date.now()) < 60_000);
      assert.equal(
        authorization,
        signS3(targetOf(`http://${host}${path}`), keys, 'eu-central-1', moment)['authorization'],
      );
    }
  });

  it('sends unsigned requests if the address has no keys', async () => {
    const origin = cleanup.add(await startOrigin(file));
    const job = await open('s3://bucket/f.mp4', { s3: { endpoint: origin.url } });
    assert.ok((await ask(job.address('a'))).body.equals(body));
    assert.ok(origin.requests.every(({ authorization }) => authorization === undefined));
  });

  for (const [how, answer] of [
    [
      'a header',
      (region: string): Parameters<Handler>[1] extends infer R ? (response: R) => void : never =>
        (response) =>
          response.writeHead(301, { 'x-amz-bucket-region': region, 'content-length': 0 }).end(),
    ],
    [
      'its text',
      (region: string) => (response) =>
        response
          .writeHead(400)
          .end(
            `<?xml version="1.0"?><Error><Code>AuthorizationHeaderMalformed</Code><Region>${region}</Region></Error>`,
          ),
    ],
  ] as [string, (region: string) => (response: Parameters<Handler>[1]) => void][]) {
    it(`learns the bucket's region from ${how}, once`, async () => {
      const origin = cleanup.add(
        await startOrigin((request, response) => {
          if (request.headers.authorization?.includes('/eu-west-3/s3/')) sendFile(body, request, response);
          else answer('eu-west-3')(response);
        }),
      );
      const job = await open(`s3://${keys.accessKey}:${keys.secret}@bucket/f.mp4`, { s3: { endpoint: origin.url } });
      assert.ok((await ask(job.address('a'))).body.equals(body));
      // Of a host that is far, which a busy machine is, the end is asked for before the first answer.
      const asked = origin.requests.filter(({ range }) => range?.startsWith('bytes=-') !== true);
      assert.equal(asked.filter(({ authorization }) => authorization!.includes('/us-east-1/')).length, 1);
    });
  }

  it('does not wait for the end of a text that may tell the region', async () => {
    const origin = cleanup.add(
      await startOrigin((_request, response) => void response.writeHead(400).write('<?xml version="1.0"?><Error>')),
    );
    const job = await open(`s3://${keys.accessKey}:${keys.secret}@bucket/f.mp4`, { s3: { endpoint: origin.url } });
    const prepared = await job.prepare();
    assert.equal(!prepared.ok && prepared.failure.message, 'the host stopped sending');
  });

  for (const [how, source] of [
    ['an S3 endpoint of the operator', (_port: number) => 's3://KEYS@bucket/dir/l.m3u8'],
    ['a listed S3 host, by path', (port: number) => `http://KEYS@minio.lan:${port}/bucket/dir/l.m3u8`],
  ] as const) {
    it(`signs what a list names in the caller's bucket, and in no other: ${how}`, async () => {
      const origin = cleanup.add(
        await startOrigin((request, response, path) =>
          sendFile(
            path.endsWith('.m3u8') ? Buffer.from('#EXTM3U\n#EXTINF:1,\na.ts\n#EXT-X-ENDLIST\n') : body,
            request,
            response,
          ),
        ),
      );
      const lookup = async () => [{ address: '127.0.0.1', family: 4 as const }];
      const job = await open(source(origin.port).replace('KEYS', `${keys.accessKey}:${keys.secret}`), {
        s3: { endpoint: origin.url },
        lookup,
      });
      await ask(job.address('a'));
      const host = origin.requests[0]!.host;
      const parts = [
        '/bucket/dir/a.ts',
        '/bucket/b.ts',
        '/other/c.ts',
        '/bucket2/d.ts',
        '/bucket',
        '/bucket/..%2Fother/e.ts',
        '/bucket/%2e%2e%2fother/f.ts',
        '/bucket/x%5C..%5C..%5Cother/g.ts',
      ];
      for (const path of parts) await ask(job.address('a').replace('l.m3u8', `x/http/${host}${path}`));
      const signed = (path: string) =>
        origin.requests
          .filter((request) => request.path === path)
          .map(({ authorization }) => authorization !== undefined);
      assert.deepEqual(
        ['/bucket/dir/l.m3u8', ...parts].map((path) => [path, ...new Set(signed(path))]),
        [['/bucket/dir/l.m3u8', true], ...parts.map((path, at) => [path, at < 2])],
      );
    });
  }

  it("signs at Amazon for the caller's bucket, in each spelling, and for no other", () => {
    const signs = (source: string, address: string): boolean => isSigned(accessTo(source), targetOf(address));
    for (const source of [
      's3://KEYS@my-bucket/l.m3u8',
      'https://KEYS@my-bucket.s3.eu-west-1.amazonaws.com/l.m3u8',
      'https://KEYS@s3.amazonaws.com/my-bucket/l.m3u8',
    ]) {
      for (const good of [
        'https://my-bucket.s3.amazonaws.com/a.ts',
        'https://my-bucket.s3.eu-west-3.amazonaws.com/a.ts',
        'https://s3.eu-west-3.amazonaws.com/my-bucket/a.ts',
      ])
        assert.ok(signs(source, good), `${source} ${good}`);
      for (const bad of [
        'https://other.s3.amazonaws.com/a.ts',
        'https://s3.amazonaws.com/other/a.ts',
        'https://s3.amazonaws.com/my-bucket2/a.ts',
        'https://s3.amazonaws.com/',
        'http://my-bucket.s3.amazonaws.com/a.ts',
        'https://my-bucket.s3.amazonaws.com.evil.example/a.ts',
        'https://s3.amazonaws.com/my-bucket/..%2Fother/a.ts',
      ]) {
        assert.ok(!signs(source, bad), `${source} ${bad}`);
      }
    }
  });

  it('does not sign a presigned address', async () => {
    const origin = cleanup.add(await startOrigin(file));
    const job = await open(`s3://${keys.accessKey}:${keys.secret}@bucket/f.mp4?X-Amz-Signature=abc`, {
      s3: { endpoint: origin.url },
    });
    await ask(job.address('a'));
    assert.ok(
      origin.requests.every(
        ({ authorization, path }) => authorization === undefined && path.includes('X-Amz-Signature=abc'),
      ),
    );
  });

  it('redacts secrets and its own address in the output of a tool', async () => {
    const origin = cleanup.add(await startOrigin(file));
    const job = await open(
      `http://someone:hunter2secret@127.0.0.1:${origin.port}/dir/f.mp4?token=abcdefghijklmnop&x=1`,
    );
    const shown = `http://127.0.0.1:${origin.port}/dir/f.mp4?token=REDACTED&x=REDACTED`;
    const address = job.address('ffprobe');
    const secret = address.split('/')[3]!;
    const port = new URL(address).port;
    for (const [before, after] of [
      [`"filename": "${address}"`, `"filename": "${shown}"`],
      [`<format filename="${address}"/>`, `<format filename="${shown}"/>`],
      [`filename=${address.replaceAll(':', '\\:')}`, `filename=${shown.replace(/[:=]/g, '\\$&')}`],
      [`"@ref":"${address.replaceAll('/', '\\/')}"`, `"@ref":"${shown.replaceAll('/', '\\/')}"`],
      [`Folder : http://127.0.0.1:${port}/${secret}/mediainfo`, `Folder : http://127.0.0.1:${origin.port}/dir`],
      [
        `${address.replace('f.mp4', 'x/https/cdn.example.com/a/s.ts?k=v&l=w')} failed`,
        'https://cdn.example.com/a/s.ts?k=REDACTED&l=REDACTED failed',
      ],
      [
        `<a>${address.replace('f.mp4', 'x/https/cdn.example.com/a?k=v&amp;l=w')}</a>`,
        '<a>https://cdn.example.com/a?k=REDACTED&amp;l=REDACTED</a>',
      ],
      [
        `${address.replace('f.mp4', 'seg/1.ts?k=v')}: Not Found`,
        `http://127.0.0.1:${origin.port}/dir/seg/1.ts?k=REDACTED: Not Found`,
      ],
      [`Connection to tcp://127.0.0.1:${port} failed`, `Connection to tcp://127.0.0.1:${origin.port} failed`],
      [`the secret ${secret} alone`, 'the secret REDACTED alone'],
      ['hunter2secret and abcdefghijklmnop', 'REDACTED and REDACTED'],
      [`format,${address},2,0,"mov,mp4",${address}`, `format,${shown},2,0,"mov,mp4",${shown}`],
      [
        `${address.replace('f.mp4', 'x/https/h.example/a,b;c.ts?k=v,w;x')}: 404, gone`,
        'https://h.example/a,b;c.ts?k=REDACTED: 404, gone',
      ],
      [`${address}|${address}`, `${shown}|${shown}`],
      [
        '"Source": "x/https/cdn.example/a.ts?k=v", "../../x\\/http\\/h\\/a"',
        '"Source": "https://cdn.example/a.ts?k=REDACTED", "http:\\/\\/h\\/a"',
      ],
      ['max/https/x and a/x/http/y', 'max/https/x and a/x/http/y'],
      ['nothing of it', 'nothing of it'],
    ] as const) {
      assert.equal(job.redact(before), after);
    }
  });

  it('reveals no secret in any error', async () => {
    const origin = cleanup.add(
      await startOrigin((_request, response) =>
        response.writeHead(302, { location: 'http://10.0.0.1/hunter2secret?x=hunter2secret' }).end(),
      ),
    );
    const job = await open(`http://someone:hunter2secret@127.0.0.1:${origin.port}/f.mp4?token=abcdefghijklmnop`);
    await job.prepare();
    const reply = await ask(job.address('a'));
    for (const text of [JSON.stringify(job.stats()), JSON.stringify(reply.headers), reply.body.toString()]) {
      for (const word of ['hunter2secret', 'abcdefghijklmnop', 'someone']) assert.ok(!text.includes(word), text);
    }
  });
});
