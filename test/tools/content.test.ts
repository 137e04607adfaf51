import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { CAUSES, countedCause } from '../../src/base/causes.ts';
import { CONTENT_BYTES, contentOf } from '../../src/media/tools/content.ts';
import { random } from '../source/random.ts';

const latin = (text: string): Buffer => Buffer.from(text, 'latin1');
const html = (head: string): string => `<!DOCTYPE html>\n<html><head>${head}</head><body></body></html>`;

describe('content that is not media', () => {
  const table: [
    what: string,
    bytes: Buffer | string,
    type: string,
    size: number | undefined,
    text: string | undefined,
  ][] = [
    [
      'a login page',
      html('<title>Login</title>'),
      'text/html',
      2_100,
      'an HTML page, text/html, title "Login", 2.1 kB',
    ],
    ['a page of unknown length', html(''), '', undefined, 'an HTML page'],
    ['text in front of a page', `<!-- a --> b --><!-- c -->${html('')}`, '', 9, 'text, 9 B'],
    [
      'XHTML',
      `\ufeff<?xml version="1.0"?><!-- x -->\n<html><head><title>a\n b</title>`,
      '',
      9,
      'an HTML page, title "a b", 9 B',
    ],
    ['a title that misleads', html('<title>\u202eb"c\u0007\u200b</title>'), '', 9, undefined],
    ['a title of bidi characters', html('<title>\u202eb"c\u200bd</title>'), '', 9, `an HTML page, title "b'c d", 9 B`],
    [
      'a long title',
      html(`<title>${'ä'.repeat(500)}</title>`),
      '',
      9,
      `an HTML page, title "${'ä'.repeat(100)}…", 9 B`,
    ],
    ['a type of strangers', html(''), 'text/html <script>', 9, 'an HTML page, 9 B'],
    ['JSON', '{"a": 1}', 'application/json', 8, 'a JSON document, application/json, 8 B'],
    ['a list', '[1, 2]', '', 6, 'a JSON document, 6 B'],
    ['XML', '<?xml version="1.0"?><Error/>', '', 9, 'an XML document, root Error, 9 B'],
    ['text', 'hello there', 'text/plain', 11, 'text, text/plain, 11 B'],
    ['an empty file', '', '', 0, 'an empty file'],
    ['nothing that was read', '', '', 5, undefined],
    ['ZIP', latin('PK\u0003\u0004...'), '', 7, 'a ZIP archive, 7 B'],
    ['gzip', gzipSync('x'), '', 21, 'gzip data, 21 B'],
    ['PDF', '%PDF-1.4', '', 8, 'a PDF document, 8 B'],
    ['PNG', latin('\u0089PNG\r\n\u001a\n'), 'image/png', 8, 'a PNG image, image/png, 8 B'],
    ['a playlist', '#EXTM3U\n#EXT-X-VERSION:3', '', 9, undefined],
    ['a manifest', '<?xml version="1.0"?>\n<MPD xmlns="x"></MPD>', '', 9, undefined],
    ['subtitles', 'WEBVTT\n', '', 7, undefined],
    ['a film', latin('\0\0\0\u0018ftypmp42\0\0\0\0'), 'video/mp4', 16, undefined],
    ['a transport stream', latin(`G@\0\u0010\0${'\u00ff'.repeat(300)}`), '', 305, undefined],
  ];
  for (const [what, bytes, type, size, text] of table)
    it(`${what} is ${text ?? 'not named'}`, () =>
      assert.equal(contentOf(Buffer.from(bytes as string), { type, size })?.text, text));

  it('takes bounded time and text for whatever a stranger sends', () => {
    const pieces = [
      '<!--',
      '-->',
      '<?',
      '?>',
      '<title',
      '>',
      '<',
      '"',
      '\u202e',
      '\0',
      'a',
      ' ',
      '\ud83d\ude00',
      '<html>',
      '{"',
      'ä',
    ];
    const draw = random(7);
    const next = (below: number): number => Math.floor(draw() * below);
    for (let round = 0; round < 3_000; round++) {
      const text = Array.from({ length: next(800) }, () => pieces[next(pieces.length)]!).join('');
      const bytes = Buffer.from(round % 2 ? `<html>${text}` : text).subarray(0, CONTENT_BYTES + next(50));
      const begun = performance.now();
      const shown = contentOf(bytes, { type: text.slice(0, 90), size: next(9) })?.text ?? '';
      assert.ok(performance.now() - begun < 500, JSON.stringify(text));
      assert.ok(shown.length < 400);
      assert.doesNotMatch(shown, /[\p{Cc}\p{Cf}\p{Cs}]/u);
    }
  });
});

describe('codes of causes', () => {
  it('are all in the docs, with their meaning', () => {
    const page = readFileSync(new URL('../../docs/sources.md', import.meta.url), 'utf8');
    const section = page.slice(page.indexOf('## Causes'), page.indexOf('What is not media is named'));
    const rows = [...section.matchAll(/^\| `([a-z-]+(?:NNN)?)`\s*\| (.+?)\s*\|$/gm)].map(([, code, text]) => [
      code,
      text,
    ]);
    assert.deepEqual(Object.fromEntries(rows), CAUSES);
  });

  it('are a bounded label of metrics', () =>
    assert.deepEqual(['dns', 'http-403', 'http-NNN', 'constructor', 'new-one', 'http-40333'].map(countedCause), [
      'dns',
      'http-NNN',
      'http-NNN',
      'other',
      'other',
      'other',
    ]));
});
