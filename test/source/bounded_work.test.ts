import assert from 'node:assert/strict';
import { extensionOf } from '../../src/source/playlist/mapping.ts';
import { rewriteDash } from '../../src/source/playlist/dash.ts';
import { rewriteHls } from '../../src/source/playlist/hls.ts';
import { layoutOf } from '../../src/source/file/layout.ts';
import { outputRedactor } from '../../src/source/output.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { redactor, redactUrl } from '../../src/source/address/redact.ts';
import { challengeOf } from '../../src/source/protocols/rtsp/auth.ts';
import { ChunkedBody } from '../../src/source/http/connection.ts';
import { parseHead } from '../../src/source/http/response_head.ts';
import { assertLinear, filled } from './work.ts';

const place = { requested: 'http://host/b/m.mpd', final: 'http://host/b/m.mpd' };
const roots = { near: '../../../', full: 'http://127.0.0.1:1/x/' };

describe('bounded work: manifests and playlists', function () {
  this.timeout(60_000);
  const manifests: [name: string, text: (size: number) => string][] = [
    ['declarations without a bracket', (size) => `<MPD ${filled('<!>', size)}`],
    ['declarations and one bracket far behind', (size) => `<MPD ${filled('<!>', size)}[`],
    ['one long word in a tag', (size) => `<MPD href=${filled('a', size)}>`],
    ['words and blanks in a tag', (size) => `<MPD href ${filled(`${'a'.repeat(128)}${' '.repeat(4000)}`, size)}>`],
    ['an equals sign and blanks', (size) => `<MPD href ${filled(`a=${' '.repeat(4000)}`, size)}>`],
    ['elements', (size) => `<MPD>${filled('<a/>', size)}`],
    ['unfinished remarks', (size) => `<MPD>${filled('<!--', size)}`],
    ['addresses that end nowhere', (size) => `<MPD>${filled('<BaseURL>&amp;', size)}`],
    ['addresses that end together', (size) => `<MPD>${filled('<BaseURL>&amp;', size)}</`],
    ['quotes', (size) => `<MPD ${filled('"\'', size)}>`],
  ];
  for (const [name, text] of manifests) {
    it(`DASH: time for ${name} grows linearly with their length`, () =>
      assertLinear(name, 1 << 17, (size) => {
        const manifest = text(size);
        return () => rewriteDash(manifest, place, roots);
      }));
  }

  const lists: [name: string, text: (size: number) => string][] = [
    ['lines', (size) => filled('a\n', size)],
    ['addresses', (size) => filled('/\n', size)],
    ['attributes', (size) => `#EXT-X-A:${filled('URI=/,', size)}`],
    ['unclosed quotes', (size) => `#EXT-X-A:${filled('A="', size)}`],
    ['one long name', (size) => `#EXT-X-A:${filled('A', size)}`],
    ['blanks', (size) => `#EXT-X-A:${filled(' ', size)}`],
  ];
  for (const [name, text] of lists) {
    it(`HLS: time for ${name} grows linearly with their length`, () =>
      assertLinear(name, 1 << 16, (size) => {
        const list = `#EXTM3U\n${text(size)}`;
        return () => rewriteHls(list, place, roots);
      }));
  }

  it('time for a long path before a redirect grows linearly', () =>
    assertLinear('path', 1 << 16, (size) => {
      const final = `http://host/${filled('a', size)}/m.m3u8`;
      return () => rewriteHls('#EXTM3U\n', { requested: final, final }, roots);
    }));

  it('many addresses under a base of 8 kB are an error, not seconds of work', () => {
    const final = `http://host/${'p'.repeat(8000)}/m.mpd`;
    assert.throws(
      () =>
        rewriteDash(`<MPD>${filled('<SegmentURL media="/"/>', 1 << 20)}`, { requested: 'http://host/', final }, roots),
      /too many addresses/,
    );
  });

  it('an oversized address in a manifest is rewritten to a refusal', () => {
    const text =
      `<MPD><BaseURL>${'a'.repeat(100_000)}</BaseURL><Location>x</Location>` +
      `<SegmentURL media="${'b'.repeat(100_000)}"/></MPD>`;
    const written = rewriteDash(text, place, roots);
    assert.equal(
      written,
      `<MPD><BaseURL>${roots.near}refused/unreadable</BaseURL><Location>x</Location>` +
        `<SegmentURL media="${roots.near}refused/unreadable"/></MPD>`,
    );
  });

  it('markup inside an address is rewritten once', () => {
    assert.equal(
      rewriteDash('<MPD><BaseURL>http://a/<b href="http://c/"></BaseURL></MPD>', place, roots).split('x/http').length,
      2,
    );
  });
});

describe('bounded work: addresses of 8 kB', function () {
  this.timeout(60_000);
  const units = [
    '@',
    ' ',
    '/.',
    ':',
    '%',
    '%a',
    '.',
    's3.',
    '@s3.amazonaws.com',
    '?a=',
    '#',
    '[',
    '\\',
    '&',
    'a=b&',
    '%41',
    '-a',
  ];
  for (const head of ['https://a:', 'https://', 's3://a:', 's3://b/', 'ftp://h/', 'rtmp://a:', 'srt://h:1?', '']) {
    it(`${head}…: time to parse grows linearly with the length of any content`, () => {
      for (const unit of units) {
        assertLinear(`${head}${unit}`, 2000, (size) => {
          const text = `${head}${filled(unit, size)}x`;
          return () => {
            for (let i = 0; i < 10; i++) {
              redactUrl(text);
              extensionOf({ url: text });
            }
          };
        });
      }
    });
  }

  it('the last @ before a slash separates an S3 key from its host', () => {
    assert.deepEqual(parseSource('https://KEY:a@b/c@d@s3.amazonaws.com/bucket/x').s3, {
      bucket: 'bucket',
      key: 'x',
      accessKey: 'KEY',
      secret: 'a@b/c@d',
      style: 'path',
    });
  });
});

describe('bounded work: output of tools and messages of servers', function () {
  this.timeout(60_000);
  const source = parseSource('https://user:password-of-many@host/a.mp4?token=0123456789abcdef');
  it('schemes and credentials are found in one pass', () => {
    const redact = redactor(source);
    for (const unit of ['a.', 'a://', '://', 'http:\\/\\/', '@'])
      assertLinear(unit, 1 << 18, (size) => () => redact(`${filled(unit, size)}x`));
    assertLinear('a long name', 1 << 19, (size) => () => redact(`${'a.'.repeat(10)}://${filled('x', size)}`));
    assert.equal(redact('see http://me:pass@host/x and rtsp://u@h'), 'see http://host/x and rtsp://h');
  });

  it('one of our addresses that ends in many dots keeps them, and takes linear time', () => {
    const redact = outputRedactor(source, {
      port: 4000,
      rtspPort: 4001,
      id: 'f'.repeat(16),
      main: 'https://host/a.mp4',
      name: 'a.mp4',
    });
    const own = `http://127.0.0.1:4000/${'f'.repeat(32)}/ffprobe/x/https/cdn/`;
    assert.equal(redact(`${own}b.ts.:,`), 'https://cdn/b.ts.:,');
    assertLinear('dots', 1 << 14, (size) => () => redact(`${own}${filled('.', size)}x`));
  });

  for (const [name, unit] of [
    ['headers', 'a: b\r\n'],
    ['headers of one name', 'a:\r\n'],
    ['spaces in a header', ' '],
    ['a connection of many words', 'close,'],
  ] as const)
    it(`HTTP: time for ${name} grows linearly with their length`, () =>
      assertLinear(name, 50_000, (size) => {
        const text = `HTTP/1.1 200 OK\r\nconnection: x${filled(unit, size).replace(/[\r\n]+$/, '')}y:z`;
        return () => parseHead(text);
      }));

  it('HTTP: time for a body of chunks of one byte grows linearly with its length', () =>
    assertLinear('chunks', 100_000, (size) => {
      const bytes = Buffer.from(filled('1\r\na\r\n', size - (size % 6)));
      return () => new ChunkedBody().take(Buffer.from(bytes), () => {});
    }));

  it('an authentication challenge over the maximum length is not parsed', () => {
    assert.equal(challengeOf([['www-authenticate', `Digest ${'a'.repeat(60_000)}`]]), undefined);
    assertLinear(
      'challenge',
      1 << 14,
      (size) => () => challengeOf([['www-authenticate', `Digest ${filled('a', size)}`]]),
    );
    assertLinear(
      'short challenges',
      1 << 14,
      (size) => () =>
        challengeOf(
          filled('Digest aaaaaaaaa', size)
            .split('D')
            .map((text): [string, string] => ['www-authenticate', `D${text}`]),
        ),
    );
  });

  it('a file of empty boxes is walked for a thousand of them', () => {
    const size = 1 << 20;
    const file = Buffer.alloc(size);
    for (let at = 0; at < size; at += 8) file.write('\0\0\0\x08free', at, 'latin1');
    let peeks = 0;
    const layout = layoutOf(file.subarray(0, 192), size)!;
    for (let i = 0; i < 100; i++) layout.step((from, length) => (peeks++, file.subarray(from, from + length)));
    assert.ok(peeks < 1100, `${peeks} boxes`);
  });
});
