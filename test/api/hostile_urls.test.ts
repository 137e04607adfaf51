/**
 * Addresses made to be read in two ways. The error of a refused one repeats no part of it; an accepted one leads to one
 * host and shows no secret.
 */
import assert from 'node:assert/strict';
import { ApiError } from '../../src/service/api/errors.ts';
import { makeReader } from '../../src/service/api/http/input/read_fields.ts';
import { ProbeFileSchema, type ProbeFile } from '../../src/service/api/probe/file_request.ts';
import { readSource } from '../../src/service/api/probe/request_source.ts';
import { hideQuery } from '../../src/base/hide_query.ts';
import { displaySource } from '../../src/source/address/redact.ts';

const read = makeReader<ProbeFile>(ProbeFileSchema);
const source = (url: string) =>
  readSource(read({ form: 'json', value: { url } }).url!, {
    allow: [],
    deny: [],
    s3Hosts: ['minio.example.com', 'minio.example.com:9000'],
  });
const NOT_ALLOWED = 'url: the address is not allowed: it is private, local or reserved';
const SCHEMES = /^url must begin with one of http:\/\/ /;
const CONTROL = 'url must not hold control characters';
const NOT_KEPT = 'url: must not contain U+0000 or an unpaired surrogate';

const REFUSED: [what: string, url: string, message: string | RegExp][] = [
  ['no address', 'film.mp4', SCHEMES],
  ['a path', '/etc/passwd', SCHEMES],
  ['a file', 'file:///etc/passwd', SCHEMES],
  ['a file without slashes', 'file:/etc/passwd', SCHEMES],
  ['a protocol of ffmpeg', 'concat:http://a.test/1|http://a.test/2', SCHEMES],
  ['a protocol in a protocol', 'crypto+file:///etc/passwd', SCHEMES],
  ['a cache of a file', 'cache:file:///etc/passwd', SCHEMES],
  ['data', 'data:text/plain,abc', SCHEMES],
  ['a pipe', 'pipe:0', SCHEMES],
  ['a subfile', 'subfile,,start,0,end,10,,:/etc/passwd', SCHEMES],
  ['a leading dash', '-i', SCHEMES],
  ['a leading dash before an address', '-http://a.test/', SCHEMES],
  ['two dashes', '--Output=file:///x', SCHEMES],
  ['a file of arguments', '@/etc/passwd', SCHEMES],
  ['an address after a file of arguments', '@http://a.test/', SCHEMES],
  ['a scheme in mixed case', 'ｈttp://a.test/', SCHEMES],
  ['gopher', 'gopher://a.test:70/_GET', SCHEMES],
  ['javascript', 'javascript://a.test/%0aalert(1)', SCHEMES],
  ['spaces alone', '   ', 'url must not be empty'],
  ['a line break', 'http://a.test/\r\nHost: b.test', CONTROL],
  ['a line break in the host', 'http://a.test\r\n.b.test/', CONTROL],
  ['a line feed at the end', 'http://a.test/x\n', CONTROL],
  ['a tab, which browsers drop', 'ht\ttp://a.test/', CONTROL],
  ['NUL', 'http://a.test/\u0000.mp4', NOT_KEPT],
  ['NUL in the host', 'http://a.test\u0000.b.test/', NOT_KEPT],
  ['a line separator', 'http://a.test/\u2028x', CONTROL],
  ['an unpaired surrogate', 'http://a.test/\ud800', NOT_KEPT],
  ['no host', 'http:///x', /^url: |^url does not name a valid host/],
  ['a user without a host', 'http://user:pw@/x', /valid host/],
  ['a port without a host', 'http://:80/x', /valid host/],
  ['a port that is not a number', 'http://a.test:99999/', /valid host and port/],
  ['port 0', 'http://a.test:0/', /valid host and port/],
  ['a port of letters', 'http://a.test:http/', /valid host and port/],
  ['a backslash for a slash', 'http:\\\\a.test\\x', SCHEMES],
  ['a backslash before the host', 'http://a.test\\@127.0.0.1/', 'url must not hold a backslash'],
  ['a backslash in the host', 'http://a.test\\.b.test/', 'url must not hold a backslash'],
  ['an open bracket', 'http://[::1/', /valid host/],
  ['a malformed host name', 'http://a b.test/', /valid host/],
  ['a percent in the host', 'http://a%00.test/', /valid host/],
  ['a slash in the host', 'http://a%2fb.test/', /valid host/],
  ['an encoded at sign in the host', 'http://a.test%40127.0.0.1/', /valid host/],
  ['64 kB', `http://a.test/${'x'.repeat(65_536)}`, 'url: must be at most 8192 characters long'],
  ['64 kB of user info', `http://${'x'.repeat(65_536)}@a.test/`, 'url: must be at most 8192 characters long'],
  ['loopback behind user info', 'http://good.test@127.0.0.1/', NOT_ALLOWED],
  ['loopback behind user info with a port', 'http://good.test:80@127.0.0.1/', NOT_ALLOWED],
  ['loopback behind two at signs', 'http://a@good.test@127.0.0.1/', NOT_ALLOWED],
  ['loopback as one number', 'http://2130706433/', NOT_ALLOWED],
  ['loopback in octal', 'http://0177.0.0.1/', NOT_ALLOWED],
  ['loopback in hexadecimal', 'http://0x7f000001/', NOT_ALLOWED],
  ['loopback, shortened', 'http://127.1/', NOT_ALLOWED],
  ['loopback in wide digits', 'http://１２７.０.０.１/', NOT_ALLOWED],
  ['loopback in circled digits', 'http://①②⑦.⓪.⓪.①/', NOT_ALLOWED],
  ['loopback with ideographic dots', 'http://127。0。0。1/', NOT_ALLOWED],
  ['loopback with encoded dots', 'http://127%2e0%2e0%2e1/', NOT_ALLOWED],
  ['loopback with a dot at the end', 'http://127.0.0.1./', NOT_ALLOWED],
  ['any address', 'http://0/', NOT_ALLOWED],
  ['any address of IPv6', 'http://[::]/', NOT_ALLOWED],
  ['loopback of IPv6', 'http://[::1]/', NOT_ALLOWED],
  ['loopback of IPv6 in full', 'http://[0:0:0:0:0:0:0:1]/', NOT_ALLOWED],
  ['IPv4 in IPv6', 'http://[::ffff:127.0.0.1]/', NOT_ALLOWED],
  ['IPv4 in IPv6, in hexadecimal', 'http://[::ffff:7f00:1]/', NOT_ALLOWED],
  ['IPv4-compatible IPv6', 'http://[::127.0.0.1]/', NOT_ALLOWED],
  ['IPv4 through NAT64', 'http://[64:ff9b::7f00:1]/', NOT_ALLOWED],
  ['IPv4 through 6to4', 'http://[2002:7f00:1::]/', NOT_ALLOWED],
  ['link-local of IPv6', 'http://[fe80::1]/', NOT_ALLOWED],
  ['unique local of IPv6', 'http://[fd00::1]/', NOT_ALLOWED],
  ['a zone', 'http://[fe80::1%25eth0]/', /valid host/],
  ['metadata', 'http://169.254.169.254/latest/meta-data/', NOT_ALLOWED],
  ['metadata as a number', 'http://2852039166/latest/', NOT_ALLOWED],
  ['a private address', 'https://10.0.0.1/', NOT_ALLOWED],
  ['a shared address', 'http://100.64.0.1/', NOT_ALLOWED],
  ['a multicast address', 'http://224.0.0.1/', NOT_ALLOWED],
  ['broadcast', 'http://255.255.255.255/', NOT_ALLOWED],
  ['loopback by ftp', 'ftp://127.0.0.1/x', NOT_ALLOWED],
  ['loopback by rtmp', 'rtmp://127.0.0.1/live/key', NOT_ALLOWED],
  ['loopback by rtsp', 'rtsp://[::1]/x', NOT_ALLOWED],
  ['loopback by srt', 'srt://127.0.0.1:9000', NOT_ALLOWED],
  ['an srt that listens', 'srt://0.0.0.0:9000?mode=listener', /mode=caller/],
  ['a bucket that is a path', 's3://../../etc/passwd', 'url does not name a valid bucket'],
  ['a bucket without a path', 's3://bucket', /bucket and a path/],
  ['a key with a line break', 's3://KEY%0d%0aX:secret@bucket/a.mp4', /access key|control characters/],
  ['a key with a comma', 's3://KEY,x:secret@bucket/a.mp4', /access key/],
  ['a line break in a user', 'http://a%0d%0ab:c@a.test/', /control characters/],
  ['a colon in a user', 'http://a%3ab:c@a.test/', /colon/],
];

const ACCEPTED: [what: string, url: string, address: string, secrets: string[]][] = [
  ['a user that looks like a host', 'http://127.0.0.1@good.test/a.mp4', 'http://good.test/a.mp4', []],
  ['a password with an at sign', 'http://user:pa@ss@good.test/a.mp4', 'http://good.test/a.mp4', ['pa@ss']],
  [
    'an encoded password',
    'https://user:p%40ss%2Fword@good.test/a.mp4',
    'https://good.test/a.mp4',
    ['p@ss/word', 'p%40ss'],
  ],
  ['an at sign in the path', 'http://good.test/@127.0.0.1/a.mp4', 'http://good.test/@127.0.0.1/a.mp4', []],
  ['an at sign in the query', 'http://good.test/a.mp4?x=@127.0.0.1', 'http://good.test/a.mp4?x=REDACTED', []],
  ['an at sign in the fragment', 'http://good.test/a.mp4#@127.0.0.1/', 'http://good.test/a.mp4', []],
  ['an international name', 'http://bücher.test/ä.mp4', 'http://xn--bcher-kva.test/%C3%A4.mp4', []],
  ['a name in capitals', 'HTTP://GOOD.TEST/A.MP4', 'http://good.test/A.MP4', []],
  ['a host name with a soft hyphen, which is ignored', 'http://go\u00adod.test/', 'http://good.test/', []],
  ['a public address of IPv6', 'http://[2606:4700:0:0::1111]/a.mp4', 'http://[2606:4700::1111]/a.mp4', []],
  ['dot segments in the path', 'http://good.test/a/../../../etc/passwd', 'http://good.test/etc/passwd', []],
  ['a leading dash in the host', 'http://-good.test/-i', 'http://-good.test/-i', []],
  [
    'a query of secrets',
    'https://good.test/a.mp4?X-Amz-Signature=s3cret&X-Amz-Credential=key',
    'https://good.test/a.mp4?X-Amz-Signature=REDACTED&X-Amz-Credential=REDACTED',
    ['s3cret', '=key'],
  ],
  [
    'keys with slashes',
    's3://AKIAEXAMPLE:se/cr+et/x@bucket/dir/a.mp4',
    's3://bucket/dir/a.mp4',
    ['se/cr', 'AKIAEXAMPLE'],
  ],
  [
    'keys with slashes in an address',
    'https://AKIAEXAMPLE:12/34/ab@s3.amazonaws.com/bucket/a.mp4',
    'https://s3.amazonaws.com/bucket/a.mp4',
    ['12/34', 'AKIAEXAMPLE'],
  ],
  [
    'keys with slashes before a host of the operator',
    'https://KEYEXAMPLE:9/34/ab@minio.example.com:9000/bucket/a.mp4',
    'https://minio.example.com:9000/bucket/a.mp4',
    ['9/34', 'KEYEXAMPLE'],
  ],
];

describe('hostile addresses', () => {
  for (const [what, url, message] of REFUSED) {
    it(`${what} is refused: ${JSON.stringify(url).slice(0, 60)}`, () => {
      assert.throws(
        () => source(url),
        (error: unknown) => {
          assert.ok(error instanceof ApiError, String(error));
          assert.equal(error.status, 400);
          if (typeof message === 'string') assert.equal(error.message, message);
          else assert.match(error.message, message);
          return true;
        },
      );
    });
  }
  for (const [what, url, address, secrets] of ACCEPTED) {
    it(`${what} leads to ${address.slice(0, 60)}`, () => {
      const read_ = source(url);
      const shown = hideQuery(read_.url);
      assert.equal(shown, address);
      for (const secret of secrets)
        assert.ok(!shown.includes(secret) && !displaySource(read_).includes(secret), secret);
    });
  }
});
