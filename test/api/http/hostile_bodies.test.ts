/** Bodies made to confuse, read by the app itself: each is refused with a reason, or read as exactly what it says. */
import assert from 'node:assert/strict';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { startApi, type ApiFixture } from '../fixture.ts';

const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';
const part = (name: string, value: string, more = ''): string =>
  `--bOuNdArY\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const multipart = (...parts: string[]): string => `${parts.join('')}--bOuNdArY--\r\n`;
const MULTI = 'multipart/form-data; boundary=bOuNdArY';
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const utf16 = (text: string): Buffer<ArrayBuffer> => Buffer.from(text, 'utf16le') as Buffer<ArrayBuffer>;

type Case = [
  what: string,
  type: string,
  body: string | Buffer<ArrayBuffer>,
  error: string | RegExp,
  headers?: Record<string, string>,
];
const BAD_URL = /^url must begin with one of /;
const CASES: Case[] = [
  ['an address twice', JSON_TYPE, '{"url":"https://a.test/","url":"file:///x"}', 'url: is given more than once'],
  [
    'an address twice, once in upper case',
    JSON_TYPE,
    '{"url":"https://a.test/","\\u0075rl":"file:///x"}',
    'url: is given more than once',
  ],
  [
    'an option twice',
    JSON_TYPE,
    '{"url":"file:///x","ffprobe":{"version":"7.0","version":"3.3"}}',
    'version: is given more than once',
  ],
  [
    'an option twice in the JSON of a form',
    FORM,
    `url=file:///x&ffprobe=${encodeURIComponent('{"version":"7.0","version":"3.3"}')}`,
    'ffprobe.version: is given more than once',
  ],
  ['a prototype', JSON_TYPE, '{"url":"file:///x","__proto__":{"only":"ffprobe"}}', '__proto__: is unknown'],
  [
    'a prototype of an object',
    JSON_TYPE,
    '{"url":"file:///x","ffprobe":{"__proto__":{"enabled":false}}}',
    /^ffprobe\.__proto__: is unknown/,
  ],
  [
    'a constructor',
    JSON_TYPE,
    '{"url":"file:///x","constructor":{"prototype":{"only":"ffprobe"}}}',
    /^constructor: is unknown/,
  ],
  ['a prototype in a form', FORM, 'url=file:///x&__proto__[only]=ffprobe', /^__proto__: is unknown/],
  [
    'a prototype as a name of an object in a form',
    FORM,
    'url=file:///x&ffprobe[__proto__]=1',
    /^ffprobe\.__proto__: is unknown/,
  ],
  [
    'a prototype in a multipart form',
    MULTI,
    multipart(part('url', 'file:///x'), part('__proto__', '{}')),
    /^__proto__: is unknown/,
  ],
  [
    'a prototype in the JSON of a form',
    FORM,
    `url=file:///x&ffprobe=${encodeURIComponent('{"__proto__":{"a":1}}')}`,
    /^ffprobe\.__proto__: is unknown/,
  ],
  ['an object with a length', JSON_TYPE, '{"url":{"length":5}}', 'url: must be a string'],
  ['an object with a toString', JSON_TYPE, '{"url":{"toString":"x"}}', 'url: must be a string'],
  ['nested objects', JSON_TYPE, `{"url":"file:///x","mediastreamvalidator":${nested(63)}}`, BAD_URL],
  ['nested objects in a field', JSON_TYPE, `{"url":${nested(63)}}`, 'url: must be a string'],
  ['objects that are nested too deeply', JSON_TYPE, `{"url":${nested(64)}}`, 'body: has more than 64 levels'],
  [
    'objects that are nested too deeply in the JSON of a form',
    FORM,
    `url=file:///x&ffprobe=${encodeURIComponent(nested(65))}`,
    'ffprobe: has more than 64 levels',
  ],
  ['nested lists', JSON_TYPE, '['.repeat(500_000) + ']'.repeat(500_000), 'body: has more than 64 levels'],
  ['lists that are never closed', JSON_TYPE, '['.repeat(900_000), 'body: has more than 64 levels'],
  ['objects that are never closed', JSON_TYPE, '{"a":'.repeat(180_000), 'body: has more than 64 levels'],
  [
    'many names',
    JSON_TYPE,
    JSON.stringify(Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`n${index}`, 1]))),
    /^url: is required|is unknown/,
  ],
  [
    'too many names',
    JSON_TYPE,
    JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, index) => [`n${index}`, 1]))),
    'body: has more than 10000 values',
  ],
  [
    'too many values in the JSON of a form, together',
    FORM,
    ['ffprobe', 'mediainfo', 'c2pa']
      .map((name) => `${name}=${JSON.stringify({ show_entries: Array(4_000).fill(1) })}`)
      .join('&'),
    'c2pa: has more than 10000 values',
  ],
  [
    'a name of half a megabyte',
    JSON_TYPE,
    JSON.stringify({ url: 'x', ['n'.repeat(500_000)]: 1 }),
    /^n{64}…: is unknown$/,
  ],
  ['a number that is too large', JSON_TYPE, '{"url":"file:///x","timeout":1e400}', /^timeout: must be/],
  ['a number with many digits', JSON_TYPE, `{"url":"file:///x","timeout":${'9'.repeat(100_000)}}`, /^timeout: must be/],
  ['a number that is not valid JSON', JSON_TYPE, '{"url":"file:///x","timeout":NaN}', 'body: is not valid JSON'],
  ['a negative zero', JSON_TYPE, '{"url":"file:///x","timeout":-0}', 'timeout: must be at least 1'],
  ['comments', JSON_TYPE, '{"url":"file:///x"/*,"only":"ffprobe"*/}', 'body: is not valid JSON'],
  ['a trailing comma', JSON_TYPE, '{"url":"file:///x",}', 'body: is not valid JSON'],
  ['two documents', JSON_TYPE, '{"url":"file:///x"}{"url":"file:///y"}', 'body: is not valid JSON'],
  [
    'NUL in an address',
    JSON_TYPE,
    '{"url":"https://a.test/\\u0000"}',
    'url: must not contain U+0000 or an unpaired surrogate',
  ],
  ['NUL between the members', JSON_TYPE, '{"url":"file:///x"\u0000}', 'body: is not valid JSON'],
  [
    'an unpaired surrogate',
    JSON_TYPE,
    '{"url":"https://a.test/\\ud800"}',
    'url: must not contain U+0000 or an unpaired surrogate',
  ],
  ['UTF-16', JSON_TYPE, utf16('{"url":"file:///x"}'), 'body: is not valid JSON'],
  ['UTF-16 with a byte order mark', JSON_TYPE, utf16('\ufeff{"url":"file:///x"}'), 'body: is not valid UTF-8'],
  [
    'Latin-1',
    JSON_TYPE,
    Buffer.from('{"url":"https://a.test/\xe4"}', 'latin1') as Buffer<ArrayBuffer>,
    'body: is not valid UTF-8',
  ],
  [
    'an overlong UTF-8 character',
    JSON_TYPE,
    Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]),
    'body: is not valid UTF-8',
  ],
  ['UTF-7', `${JSON_TYPE}; charset=utf-7`, '{"url":"file:///x"}', 'body: must be UTF-8'],
  ['an unknown charset', `${JSON_TYPE}; charset=nonsense`, '{"url":"file:///x"}', 'body: must be UTF-8'],
  ['invalid percent encoding', FORM, 'url=%zz', 'url: is not valid percent-encoded UTF-8'],
  ['percent-encoded Latin-1', FORM, 'url=https://a.test/%e4', 'url: is not valid percent-encoded UTF-8'],
  ['a percent-encoded unpaired surrogate', FORM, 'url=%ed%a0%80', 'url: is not valid percent-encoded UTF-8'],
  ['a form with semicolons', FORM, 'url=file:///x;only=ffprobe', BAD_URL],
  ['a form with an address twice', FORM, 'url=https://a.test/&url=file:///x', 'url: is given more than once'],
  ['a form with brackets that do not close', FORM, 'url=file:///x&ffprobe[version=3.3', /is not a valid field name/],
  ['a form with brackets in brackets', FORM, 'url=file:///x&ffprobe[a[b]]=1', /is not a valid field name/],
  ['a list in a form', FORM, 'url[]=https://a.test/', /is not a valid field name/],
  ['JSON that says it is a form', FORM, '{"url":"https://a.test/"}', 'url: is required'],
  ['a form that says it is JSON', JSON_TYPE, 'url=https://a.test/', 'body: is not valid JSON'],
  [
    'a multipart form with an address twice',
    MULTI,
    multipart(part('url', 'https://a.test/'), part('url', 'file:///x')),
    'url: is given more than once',
  ],
  [
    'an unterminated multipart form',
    MULTI,
    part('url', 'file:///x'),
    /^body: is not valid multipart\/form-data$|^url must begin/,
  ],
  [
    'a multipart form without names',
    MULTI,
    '--bOuNdArY\r\nContent-Disposition: form-data\r\n\r\na\r\n--bOuNdArY--\r\n',
    'body: is not valid multipart/form-data',
  ],
  [
    'a multipart form with a file',
    MULTI,
    multipart(part('url', 'file:///x', '; filename="a.txt"')),
    'url: is a file; only text fields are accepted',
  ],
  [
    'a multipart form with 300 fields',
    MULTI,
    multipart(...Array.from({ length: 300 }, (_, index) => part(`n${index}`, '1'))),
    'body: has more than 256 fields',
  ],
  [
    'a multipart form with 15,000 fields',
    MULTI,
    multipart(...Array.from({ length: 15_000 }, (_, index) => part(`n${index}`, ''))),
    'body: has more than 256 fields',
  ],
  [
    'a multipart form with 60,000 parts without a head',
    MULTI,
    multipart(...Array(60_000).fill('--bOuNdArY\r\n\r\n')),
    'body: has more than 256 fields',
  ],
  [
    'a multipart form with 9,000 files',
    MULTI,
    multipart(...Array(9_000).fill(part('url', 'x', '; filename="a.txt"'))),
    'url: is a file; only text fields are accepted',
  ],
  [
    'a multipart form that is not UTF-8',
    MULTI,
    Buffer.from(multipart(part('url', 'https://a.test/\xe4')), 'latin1') as Buffer<ArrayBuffer>,
    'body: is not valid UTF-8',
  ],
  [
    'a multipart form with a line break in a name',
    MULTI,
    multipart(part('url\r\nX: y', 'file:///x')),
    /^body: is not valid multipart|is unknown|is required|^url must begin/,
  ],
  [
    'a body that is not compressed but declared as such',
    JSON_TYPE,
    '{"url":"file:///x"}',
    'body: cannot be read',
    { 'Content-Encoding': 'gzip' },
  ],
  [
    'an unknown content encoding',
    JSON_TYPE,
    '{"url":"file:///x"}',
    'Content-Encoding: must be gzip, deflate, br',
    { 'Content-Encoding': 'nonsense' },
  ],
  [
    'a truncated gzip body',
    JSON_TYPE,
    gzipSync('{"url":"file:///x"}').subarray(0, 20),
    'body: cannot be read',
    { 'Content-Encoding': 'gzip' },
  ],
  [
    'a gzip body of many empty members, which inflate to nothing',
    JSON_TYPE,
    Buffer.concat(Array<Buffer>(100_000).fill(gzipSync(''))) as Buffer<ArrayBuffer>,
    'body: must be at most 1 MB',
    { 'Content-Encoding': 'gzip' },
  ],
  [
    'a gzip bomb',
    JSON_TYPE,
    gzipSync(Buffer.alloc(100_000_000, 0x20)),
    'body: must be at most 1 MB',
    { 'Content-Encoding': 'gzip' },
  ],
  [
    'a deflate bomb',
    JSON_TYPE,
    deflateSync(Buffer.alloc(100_000_000, 0x20)),
    'body: must be at most 1 MB',
    { 'Content-Encoding': 'deflate' },
  ],
  [
    'a brotli bomb',
    JSON_TYPE,
    // As small as with the default quality, which takes a second of CPU.
    brotliCompressSync(Buffer.alloc(100_000_000, 0x20), { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
    /^body: (must be at most 1 MB|cannot be read)$/,
    { 'Content-Encoding': 'br' },
  ],
];

describe('hostile bodies', function () {
  this.timeout(60_000);
  let api: ApiFixture;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  for (const [what, type, body, error, headers = {}] of CASES) {
    it(what, async () => {
      const response = await fetch(`${api.url}/v1/probe/file`, {
        method: 'POST',
        body: typeof body === 'string' ? Buffer.from(body) : body,
        headers: { Authorization: `Bearer ${api.token}`, 'Content-Type': type, ...headers },
      });
      const text = await response.text();
      assert.equal(response.status, 400, text.slice(0, 300));
      const said = (JSON.parse(text) as { error: string }).error;
      assert.deepEqual(Object.keys(JSON.parse(text) as object), ['error']);
      assert.ok(said.length < 1_000, `${said.length} characters`);
      if (typeof error === 'string') assert.equal(said, error);
      else assert.match(said, error);
    });
  }

  it('leave every prototype unchanged, and create no request', async () => {
    assert.equal(({} as Record<string, unknown>)['only'], undefined);
    assert.deepEqual(await api.stored.sql('select id from requests'), []);
    assert.equal((await fetch(`${api.url}/healthz`)).status, 200);
  });

  it('in chunks of one byte are refused after a thousand of them', async () => {
    const { connect } = await import('node:net');
    const socket = connect(api.server.port, '127.0.0.1');
    socket.on('error', () => {});
    const head =
      `POST /v1/probe/file HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ` +
      `${api.token}\r\nContent-Type: ${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    socket.write(`${head}${'1\r\n \r\n'.repeat(2_000)}`);
    let text = '';
    for await (const piece of socket) text += String(piece);
    assert.match(text, /^HTTP\/1\.1 400 /);
    assert.match(text, /"body: is sent in too many short chunks"/);
  });

  it('with a wrong length do not smuggle a second request', async () => {
    const { connect } = await import('node:net');
    const socket = connect(api.server.port, '127.0.0.1');
    const head =
      `POST /v1/probe/file HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ` +
      `${api.token}\r\nContent-Type: ${JSON_TYPE}\r\n`;
    socket.write(
      `${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /readyz HTTP/1.1\r\nHost: a\r\n\r\n`,
    );
    let text = '';
    for await (const piece of socket) {
      text += String(piece);
      if (/\r\n\r\n.*\}$/s.test(text)) break;
    }
    socket.destroy();
    assert.match(text, /^HTTP\/1\.1 400 /);
    assert.ok(!text.includes('"ready"'), text);
  });
});
