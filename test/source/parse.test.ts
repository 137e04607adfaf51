import assert from 'node:assert/strict';
import { isSourceError } from '../../src/source/error.ts';
import { LONGEST_SOURCE, parseSource } from '../../src/source/address/parse.ts';
import type { Source } from '../../src/source/source.ts';
import { random } from './random.ts';

type Good = [text: string, url: string, rest?: Partial<Source>];

const good: Good[] = [
  ['http://example.com', 'http://example.com/', { scheme: 'http', class: 'file' }],
  ['HTTP://EXAMPLE.com/A', 'http://example.com/A'],
  ['  https://example.com/a.mp4  ', 'https://example.com/a.mp4', { class: 'file' }],
  ['https://example.com:443/a', 'https://example.com/a'],
  ['https://example.com:8443/a', 'https://example.com:8443/a'],
  ['http://example.com:080/a', 'http://example.com/a'],
  ['http://example.com?x=1', 'http://example.com/?x=1'],
  ['http://example.com/a?x=1#part', 'http://example.com/a?x=1'],
  ['http://example.com/a b.mp4', 'http://example.com/a%20b.mp4'],
  ['http://example.com/a%20b.mp4', 'http://example.com/a%20b.mp4'],
  ['http://example.com/ü.mp4', 'http://example.com/%C3%BC.mp4'],
  ['http://example.com/a/../b', 'http://example.com/b'],
  ['http://example.com/a?x=a\\b', 'http://example.com/a?x=a\\b'],
  ['http://bücher.example/a', 'http://xn--bcher-kva.example/a'],
  ['http://[2001:DB8::1]/a', 'http://[2001:db8::1]/a'],
  ['http://[2001:db8::1]:8080/a', 'http://[2001:db8::1]:8080/a'],
  ['http://2130706433/', 'http://127.0.0.1/'],
  ['http://0x7f.1/', 'http://127.0.0.1/'],
  ['http://017700000001/', 'http://127.0.0.1/'],
  ['http://127.1/', 'http://127.0.0.1/'],
  ['http://①②⑦.0.0.1/', 'http://127.0.0.1/'],
  ['http://%31%32%37.0.0.1/', 'http://127.0.0.1/'],
  ['http://127。0。0。1/', 'http://127.0.0.1/'],
  ['http://[::ffff:7f00:1]/', 'http://[::ffff:7f00:1]/'],
  ['https://example.com/live/a.m3u8', 'https://example.com/live/a.m3u8', { class: 'hls' }],
  ['https://example.com/live/A.M3U8?x=1', 'https://example.com/live/A.M3U8?x=1', { class: 'hls' }],
  ['https://example.com/a.mpd', 'https://example.com/a.mpd', { class: 'dash' }],
  ['https://example.com/a.mp4?b=x.m3u8', 'https://example.com/a.mp4?b=x.m3u8', { class: 'file' }],
  ['https://example.com/m3u8', 'https://example.com/m3u8', { class: 'file' }],
  ['https://user:pass@example.com/a', 'https://example.com/a', { credentials: { user: 'user', password: 'pass' } }],
  ['https://user@example.com/a', 'https://example.com/a', { credentials: { user: 'user', password: '' } }],
  ['https://user:@example.com/a', 'https://example.com/a', { credentials: { user: 'user', password: '' } }],
  ['https://:pass@example.com/a', 'https://example.com/a', { credentials: { user: '', password: 'pass' } }],
  ['https://@example.com/a', 'https://example.com/a'],
  ['https://u:p@ss:w@example.com/a', 'https://example.com/a', { credentials: { user: 'u', password: 'p@ss:w' } }],
  [
    'https://u%40x:p%2Fq%3A%40@example.com/a',
    'https://example.com/a',
    { credentials: { user: 'u@x', password: 'p/q:@' } },
  ],
  ['https://u:100%@example.com/a', 'https://example.com/a', { credentials: { user: 'u', password: '100%' } }],
  ['https://u:p;$&+,=!~@example.com/a', 'https://example.com/a', { credentials: { user: 'u', password: 'p;$&+,=!~' } }],
  ['https://u:pässword@example.com/a', 'https://example.com/a', { credentials: { user: 'u', password: 'pässword' } }],
  ['https://example.com/a@b:c', 'https://example.com/a@b:c'],
  ['https://example.com?a@b', 'https://example.com/?a@b'],
  ['https://u:p@[::1]:81/a', 'https://[::1]:81/a', { credentials: { user: 'u', password: 'p' } }],
  // presigned: contains no credentials for us, and all of it is hidden where it is shown
  [
    'https://b.s3.amazonaws.com/k.mp4?X-Amz-Signature=abc&X-Amz-Credential=A%2Fb',
    'https://b.s3.amazonaws.com/k.mp4?X-Amz-Signature=abc&X-Amz-Credential=A%2Fb',
    { scheme: 'https' },
  ],
  // gs://
  ['gs://bucket/path/a.mp4', 'gs://bucket/path/a.mp4', { scheme: 'gs', class: 'file' }],
  ['GS://bucket/a.m3u8', 'gs://bucket/a.m3u8', { class: 'hls' }],
  ['gs://bucket/a b/ü+%20.mpd', 'gs://bucket/a%20b/%C3%BC%2B%20.mpd', { class: 'dash' }],
  ['gs://bucket/a//b/../c.mp4', 'gs://bucket/a//b/../c.mp4'],
  ['gs://bucket/x:y@z#1.mp4', 'gs://bucket/x%3Ay%40z%231.mp4'],
  ['gs://bucket/a.mp4?generation=7', 'gs://bucket/a.mp4?generation=7'],
  ['gs://my.dotted_bucket/a', 'gs://my.dotted_bucket/a'],
  // s3://
  ['s3://bucket/path/a.mp4', 's3://bucket/path/a.mp4', { s3: { bucket: 'bucket', key: 'path/a.mp4' }, class: 'file' }],
  ['S3://bucket/a.m3u8', 's3://bucket/a.m3u8', { s3: { bucket: 'bucket', key: 'a.m3u8' }, class: 'hls' }],
  [
    's3://AKIAX:sEcReT@bucket/a.mp4',
    's3://bucket/a.mp4',
    { s3: { bucket: 'bucket', key: 'a.mp4', accessKey: 'AKIAX', secret: 'sEcReT' } },
  ],
  [
    's3://AKIAX:wJal/XUtn/K7MD+b=@bucket/a.mp4',
    's3://bucket/a.mp4',
    { s3: { bucket: 'bucket', key: 'a.mp4', accessKey: 'AKIAX', secret: 'wJal/XUtn/K7MD+b=' } },
  ],
  [
    's3://AKIAX:wJal%2FXUtn%2Bb%3D@bucket/a.mp4',
    's3://bucket/a.mp4',
    { s3: { bucket: 'bucket', key: 'a.mp4', accessKey: 'AKIAX', secret: 'wJal/XUtn+b=' } },
  ],
  [
    's3://AKIAX:a/b@bucket/x@y:z/a.mp4',
    's3://bucket/x%40y%3Az/a.mp4',
    { s3: { bucket: 'bucket', key: 'x@y:z/a.mp4', accessKey: 'AKIAX', secret: 'a/b' } },
  ],
  ['s3://bucket/x:y@z.mp4', 's3://bucket/x%3Ay%40z.mp4', { s3: { bucket: 'bucket', key: 'x:y@z.mp4' } }],
  ['s3://bucket/a b/ü+%20.mp4', 's3://bucket/a%20b/%C3%BC%2B%20.mp4', { s3: { bucket: 'bucket', key: 'a b/ü+ .mp4' } }],
  ['s3://bucket/a//b/../c.mp4', 's3://bucket/a//b/../c.mp4', { s3: { bucket: 'bucket', key: 'a//b/../c.mp4' } }],
  ['s3://bucket/a#b.mp4', 's3://bucket/a%23b.mp4', { s3: { bucket: 'bucket', key: 'a#b.mp4' } }],
  ['s3://bucket/a.mp4?versionId=7', 's3://bucket/a.mp4?versionId=7', { s3: { bucket: 'bucket', key: 'a.mp4' } }],
  ['s3://my.dotted.bucket/a', 's3://my.dotted.bucket/a', { s3: { bucket: 'my.dotted.bucket', key: 'a' } }],
  ['s3://bucket/100%.mp4', 's3://bucket/100%25.mp4', { s3: { bucket: 'bucket', key: '100%.mp4' } }],
  // S3 over https
  [
    'https://AK:sec@s3.amazonaws.com/bucket/p/a.mp4',
    'https://s3.amazonaws.com/bucket/p/a.mp4',
    { s3: { bucket: 'bucket', key: 'p/a.mp4', accessKey: 'AK', secret: 'sec', style: 'path' } },
  ],
  [
    'https://AK:s/e/c@s3.amazonaws.com/bucket/a.mp4',
    'https://s3.amazonaws.com/bucket/a.mp4',
    { s3: { bucket: 'bucket', key: 'a.mp4', accessKey: 'AK', secret: 's/e/c', style: 'path' } },
  ],
  [
    'https://AK:1/c@s3.amazonaws.com/bucket/a.mp4',
    'https://s3.amazonaws.com/bucket/a.mp4',
    { s3: { bucket: 'bucket', key: 'a.mp4', accessKey: 'AK', secret: '1/c', style: 'path' } },
  ],
  [
    'https://AK:s?e#c@s3.amazonaws.com/bucket/a.mp4',
    'https://s3.amazonaws.com/bucket/a.mp4',
    { s3: { bucket: 'bucket', key: 'a.mp4', accessKey: 'AK', secret: 's?e#c', style: 'path' } },
  ],
  [
    'https://AK:s/c@s3.eu-west-1.amazonaws.com/bucket/a@b.mp4',
    'https://s3.eu-west-1.amazonaws.com/bucket/a%40b.mp4',
    { s3: { bucket: 'bucket', key: 'a@b.mp4', accessKey: 'AK', secret: 's/c', region: 'eu-west-1', style: 'path' } },
  ],
  [
    'https://AK:s/c@bucket.s3.amazonaws.com/a.mp4',
    'https://bucket.s3.amazonaws.com/a.mp4',
    { s3: { bucket: 'bucket', key: 'a.mp4', accessKey: 'AK', secret: 's/c', style: 'host' } },
  ],
  [
    'https://AK:s/c@my.bucket.s3.us-gov-west-1.amazonaws.com/d/a.mpd',
    'https://my.bucket.s3.us-gov-west-1.amazonaws.com/d/a.mpd',
    {
      s3: {
        bucket: 'my.bucket',
        key: 'd/a.mpd',
        accessKey: 'AK',
        secret: 's/c',
        region: 'us-gov-west-1',
        style: 'host',
      },
      class: 'dash',
    },
  ],
  [
    'https://AK:s@s3-eu-west-1.amazonaws.com/bucket/a',
    'https://s3-eu-west-1.amazonaws.com/bucket/a',
    { s3: { bucket: 'bucket', key: 'a', accessKey: 'AK', secret: 's', region: 'eu-west-1', style: 'path' } },
  ],
  [
    'https://AK:s@s3.dualstack.eu-west-1.amazonaws.com/bucket/a',
    'https://s3.dualstack.eu-west-1.amazonaws.com/bucket/a',
    { s3: { bucket: 'bucket', key: 'a', accessKey: 'AK', secret: 's', region: 'eu-west-1', style: 'path' } },
  ],
  [
    'https://AK:s@s3.cn-north-1.amazonaws.com.cn/bucket/a',
    'https://s3.cn-north-1.amazonaws.com.cn/bucket/a',
    { s3: { bucket: 'bucket', key: 'a', accessKey: 'AK', secret: 's', region: 'cn-north-1', style: 'path' } },
  ],
  [
    'http://AK:s@S3.AMAZONAWS.COM/bucket/a//b',
    'http://s3.amazonaws.com/bucket/a//b',
    { scheme: 'http', s3: { bucket: 'bucket', key: 'a//b', accessKey: 'AK', secret: 's', style: 'path' } },
  ],
  [
    'https://AK:a/b@minio.lan:9000/bucket/a',
    'https://minio.lan:9000/bucket/a',
    { s3: { bucket: 'bucket', key: 'a', accessKey: 'AK', secret: 'a/b', style: 'path' } },
  ],
  [
    'https://AK:a/b@bucket.store.lan/a',
    'https://bucket.store.lan/a',
    { s3: { bucket: 'bucket', key: 'a', accessKey: 'AK', secret: 'a/b', style: 'host' } },
  ],
  [
    'https://AK:s@notlisted.lan/bucket/a',
    'https://notlisted.lan/bucket/a',
    { credentials: { user: 'AK', password: 's' } },
  ],
  [
    'https://AK:s@s3.amazonaws.com.evil.example/bucket/a',
    'https://s3.amazonaws.com.evil.example/bucket/a',
    { credentials: { user: 'AK', password: 's' } },
  ],
  [
    'https://host.example:8080/p@s3.amazonaws.com/b/a',
    'https://host.example:8080/p@s3.amazonaws.com/b/a',
    { scheme: 'https' },
  ],
  ['https://s3.amazonaws.com/bucket/a', 'https://s3.amazonaws.com/bucket/a', { scheme: 'https' }],
  // the others
  ['ftp://example.com/a.mp4', 'ftp://example.com/a.mp4', { scheme: 'ftp', class: 'file' }],
  ['ftp://u:p@example.com:2121/a.mp4', 'ftp://example.com:2121/a.mp4', { credentials: { user: 'u', password: 'p' } }],
  ['rtmp://example.com/app/key', 'rtmp://example.com/app/key', { scheme: 'rtmp', class: 'stream' }],
  ['rtmps://example.com:443/app/key?a=b', 'rtmps://example.com:443/app/key?a=b', { class: 'stream' }],
  ['rtmp://EXAMPLE.com:80/app/mp4:dir/f.mp4', 'rtmp://example.com:80/app/mp4:dir/f.mp4', { class: 'stream' }],
  ['rtsp://u:p@example.com:554/cam', 'rtsp://example.com:554/cam', { credentials: { user: 'u', password: 'p' } }],
  ['rtsps://127.1/cam', 'rtsps://127.0.0.1/cam', { class: 'stream' }],
  [
    'srt://example.com:9000?streamid=x&passphrase=y&latency=200',
    'srt://example.com:9000?streamid=x&passphrase=y&latency=200',
    { class: 'stream' },
  ],
  ['srt://[2001:db8::5]:9000?mode=caller', 'srt://[2001:db8::5]:9000?mode=caller'],
];

const bad: [text: string, code: string, message?: RegExp][] = [
  ['', 'source-invalid', /empty/],
  ['   ', 'source-invalid'],
  ['file:///etc/passwd', 'source-scheme', /must begin with one of http:\/\//],
  ['/etc/passwd', 'source-scheme'],
  ['a.mp4', 'source-scheme'],
  ['concat:http://a/b|file:///etc/passwd', 'source-scheme'],
  ['data:text/plain,abc', 'source-scheme'],
  ['pipe:0', 'source-scheme'],
  ['crypto+http://a/b', 'source-scheme'],
  ['crypto:http://a/b', 'source-scheme'],
  ['subfile,,start,0,end,5,,:http://a/b', 'source-scheme'],
  ['async:http://a/', 'source-scheme'],
  ['cache:http://a/', 'source-scheme'],
  ['tcp://a:1', 'source-scheme'],
  ['udp://a:1', 'source-scheme'],
  ['rtp://a:1', 'source-scheme'],
  ['rtmpt://a/b', 'source-scheme'],
  ['rtmpe://a/b', 'source-scheme'],
  ['gopher://a/', 'source-scheme'],
  ['ws://a/', 'source-scheme'],
  ['javascript:alert(1)', 'source-scheme'],
  ['//example.com/a', 'source-scheme'],
  ['http:example.com', 'source-scheme'],
  ['http:/example.com', 'source-scheme'],
  ['http:\\\\example.com', 'source-scheme'],
  ['-http://a/', 'source-scheme'],
  ['@http://a/', 'source-scheme'],
  ['sftp://a/b', 'source-scheme'],
  ['hls+http://a/b', 'source-scheme'],
  ['mmsh://a/b', 'source-scheme'],
  ['ftps://a/b', 'source-scheme'],
  ['http://', 'source-invalid'],
  ['http:///a', 'source-invalid'],
  ['http://?a', 'source-invalid'],
  ['http://#a', 'source-invalid'],
  ['http://:80/', 'source-invalid'],
  ['http://u:p@/a', 'source-invalid'],
  ['http://a:0/', 'source-invalid'],
  ['http://a:65536/', 'source-invalid'],
  ['http://a:8x/', 'source-invalid'],
  ['http://a:-1/', 'source-invalid'],
  ['http://a b/', 'source-invalid'],
  ['http://a%20b/', 'source-invalid'],
  ['http://a%00b/', 'source-invalid'],
  ['http://a<b/', 'source-invalid'],
  ['http://a^b/', 'source-invalid'],
  ['http://[::1/', 'source-invalid'],
  ['http://[::1]x/', 'source-invalid'],
  ['http://[::g]/', 'source-invalid'],
  ['http://[fe80::1%25eth0]/', 'source-invalid'],
  ['http://256.1.1.1/', 'source-invalid'],
  ['http://1.2.3.4.5/', 'source-invalid'],
  ['http://0x100000000/', 'source-invalid'],
  ['http://a\\b/', 'source-invalid', /backslash/],
  ['http://a/b\\c', 'source-invalid', /backslash/],
  ['http://good.example\\@evil.example/', 'source-invalid', /backslash/],
  ['http://a/\r\nHost: b', 'source-invalid', /control/],
  ['http://a/\tb', 'source-invalid', /control/],
  ['http://a/b\n', 'source-invalid', /control/],
  ['http://a/\u0000', 'source-invalid', /control/],
  ['http://a/\u007f', 'source-invalid', /control/],
  ['http://a/\u2028', 'source-invalid', /control/],
  ['ht\ntp://a/', 'source-invalid'],
  ['http://a/\ud800', 'source-invalid', /well-formed/],
  ['http://u%0d%0a:p@a/', 'source-invalid', /control/],
  ['http://u:p%00@a/', 'source-invalid', /control/],
  ['http://u%3Ax:p@a/', 'source-invalid', /colon/],
  ['https://user:pa/ss@example.com/a', 'source-invalid'],
  ['https://user:pa?ss@example.com/a', 'source-invalid'],
  ['gs://', 'source-invalid'],
  ['gs://bucket', 'source-invalid', /gs:\/\/BUCKET\/PATH/],
  ['gs://bucket/', 'source-invalid'],
  ['gs:///key', 'source-invalid'],
  ['gs://a..b/key', 'source-invalid'],
  ['gs://user:password@bucket/a', 'source-invalid'],
  ['gs://evil.com:80/key', 'source-invalid'],
  ['gs://bucket/a%0d%0ab', 'source-invalid', /control/],
  ['s3://', 'source-invalid'],
  ['s3://bucket', 'source-invalid'],
  ['s3://bucket/', 'source-invalid'],
  ['s3:///key', 'source-invalid'],
  ['s3://buc ket/key', 'source-invalid'],
  ['s3://b/key', 'source-invalid'],
  ['s3://a..b/key', 'source-invalid'],
  ['s3://evil.com:80/key', 'source-invalid'],
  ['s3://AK:@bucket/a', 'source-invalid', /secret/],
  ['s3://AK:x@', 'source-invalid'],
  ['s3://AK@bucket/a', 'source-invalid'],
  ['s3://A,K:x@bucket/a', 'source-invalid', /access key/],
  ['s3://bucket/a%0d%0ab', 'source-invalid', /control/],
  ['s3://AK:a%0ab@bucket/a', 'source-invalid', /control/],
  ['s3://-x/a', 'source-invalid'],
  ['s3://bucket?x/a', 'source-invalid'],
  ['s3://bucket#x/a', 'source-invalid'],
  ['https://AK:s@s3.amazonaws.com/', 'source-invalid'],
  ['https://AK:s@s3.amazonaws.com/bucket', 'source-invalid'],
  ['https://AK:s@s3.amazonaws.com/bucket/', 'source-invalid'],
  ['ftp://a/b%0d%0aDELE%20x', 'source-invalid', /control/],
  ['ftp://a:99999/b', 'source-invalid'],
  ['rtmp://u%0a:p@a/b', 'source-invalid'],
  ['rtsp://', 'source-invalid'],
  ['rtsp:///a', 'source-invalid'],
  ['rtmp://a\\b/c', 'source-invalid'],
  ['srt://example.com', 'source-invalid', /port/],
  ['srt://:9000', 'source-invalid'],
  ['srt://:9000?mode=listener', 'source-invalid'],
  ['srt://a:9000?mode=listener', 'source-invalid', /call/],
  ['srt://a:9000?mode=rendezvous', 'source-invalid', /call/],
  ['srt://a:9000?mode=%6cistener', 'source-invalid', /call/],
];

const s3Hosts = ['minio.lan:9000', '.store.lan'];

describe('parseSource', () => {
  for (const [text, url, rest] of good) {
    it(`reads ${text}`, () => {
      const source = parseSource(text, { s3Hosts });
      assert.equal(source.url, url);
      for (const [name, value] of Object.entries(rest ?? {}))
        assert.deepEqual(source[name as keyof Source], value, name);
      if (rest?.credentials === undefined) assert.equal(source.credentials, undefined);
      if (rest?.s3 === undefined) assert.equal(source.s3, undefined);
      assert.deepEqual(JSON.parse(JSON.stringify(source)), source, 'is plain data');
    });
  }

  for (const [text, code, message] of bad) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(
        () => parseSource(text, { s3Hosts }),
        (error: unknown) => {
          assert.ok(isSourceError(error));
          assert.equal(error.code, code);
          if (message) assert.match(error.message, message);
          return true;
        },
      );
    });
  }

  it('accepts 8192 characters and no more', () => {
    const base = 'http://example.com/';
    assert.equal(parseSource(base + 'a'.repeat(LONGEST_SOURCE - base.length)).url.length, LONGEST_SOURCE);
    assert.throws(() => parseSource(base + 'a'.repeat(LONGEST_SOURCE - base.length + 1)), {
      code: 'source-too-long',
      message: 'url must have at most 8192 characters',
    });
  });

  it('refuses anything but a string', () => {
    for (const value of [undefined, null, 7, {}, []])
      assert.throws(() => parseSource(value as unknown as string), { code: 'source-invalid' });
  });

  it('reads its own normal form unchanged', () => {
    for (const [text] of good) {
      const once = parseSource(text, { s3Hosts });
      assert.equal(parseSource(once.url, { s3Hosts }).url, once.url, text);
    }
  });

  it('answers any text with a source or a SourceError that does not repeat it', () => {
    const next = random(20261121);
    const parts = [
      'http://',
      'https://',
      's3://',
      'srt://',
      'rtmp://',
      'ftp://',
      'user',
      ':',
      '@',
      'hunter2secret',
      '/',
      '//',
      '?',
      '#',
      '%',
      '%2',
      '%2F',
      '%0d',
      '[',
      ']',
      '::1',
      's3.amazonaws.com',
      'bucket',
      '.',
      '..',
      '\\',
      ' ',
      'ü',
      '\u0001',
      '\ud800',
      ':80',
      '127.1',
      'a.m3u8',
      '|',
      ',',
      '+',
    ];
    for (let i = 0; i < 20000; i++) {
      const text =
        (i % 4 === 0 ? '' : parts[Math.floor(next() * 6)]!) +
        Array.from({ length: Math.floor(next() * 12) }, () => parts[Math.floor(next() * parts.length)]!).join('');
      try {
        const source = parseSource(text);
        assert.ok(!/^[a-z0-9]+:\/\/[^/?#]*@/.test(source.url), `user info stays in ${source.url}`);
        assert.ok(!/[\s]/.test(source.url), source.url);
        assert.equal(parseSource(source.url).url, source.url, `not a normal form: ${text} gives ${source.url}`);
      } catch (error) {
        if (!isSourceError(error)) throw error;
        assert.ok(!error.message.includes('hunter2'), error.message);
      }
    }
  });
});
