import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isFinalDash, rewriteDash } from '../../src/source/playlist/dash.ts';
import { isFinalHls, rewriteHls } from '../../src/source/playlist/hls.ts';
import { fromPath, isNatural, nameOf, rewriteReference, rootsOf, toPath } from '../../src/source/playlist/mapping.ts';
import { corpus } from '../corpus.ts';
import { random } from './random.ts';

const prefix = 'http://127.0.0.1:9/s/t';
const roots = { near: `${prefix}/`, full: `${prefix}/` };
const here = 'https://origin.example/live/show/list.m3u8?token=abc';
const stay = { requested: here, final: here };
const moved = { requested: here, final: 'https://edge.example/x/y/list.m3u8?e=1' };

describe('references in playlists', () => {
  for (const [reference, natural] of [
    ['a.ts', true],
    ['sub/a.ts?x=1', true],
    ['a..ts', true],
    ['./a.ts', true],
    ['a%20b.ts', true],
    ['', false],
    ['../a.ts', false],
    ['sub/../../a.ts', false],
    ['..', false],
    ['%2e%2e/a', false],
    ['/a.ts', false],
    ['//h/a.ts', false],
    ['?x=1', false],
    ['#f', false],
    ['http://h/a', false],
    ['HTTPS://h/a', false],
    ['file:///a', false],
    ['data:,x', false],
    ['x/https/h/a', false],
    ['refused/a', false],
    ['a\\b', false],
    ['\\\\h\\a', false],
  ] as const) {
    it(`${natural ? 'leaves' : 'rewrites'} ${JSON.stringify(reference)}`, () =>
      assert.equal(isNatural(reference), natural));
  }

  for (const [reference, result] of [
    ['https://cdn.example:8443/a/b.ts?c=d', 'x/https/cdn.example:8443/a/b.ts?c=d'],
    ['//cdn.example/a', 'x/https/cdn.example/a'],
    ['/root.ts', 'x/https/origin.example/root.ts'],
    ['../up.ts', 'x/https/origin.example/live/up.ts'],
    ['../../../../up.ts', 'x/https/origin.example/up.ts'],
    ['?q=1', 'x/https/origin.example/live/show/list.m3u8?q=1'],
    ['http://u:p@h/a', 'x/http/h/a'],
    ['http://2130706433/a', 'x/http/127.0.0.1/a'],
    ['seg-$Number%05d$.m4s', 'x/https/origin.example/live/show/seg-$Number%05d$.m4s'],
    ['file:///etc/passwd', 'refused/file'],
    ['concat:a|b', 'refused/concat'],
    ['crypto+http://h/a', 'refused/crypto+http'],
    ['rtmp://h/a', 'refused/rtmp'],
    ['http://[', 'refused/http'],
  ] as const) {
    it(`rewrites ${reference} to ${result}`, () =>
      assert.equal(rewriteReference(reference, here, `${prefix}/`), `${prefix}/${result}`));
  }
  it('keeps data and key system addresses', () => {
    for (const reference of ['data:text/plain;base64,AAAA', 'skd://key', 'urn:uuid:1'])
      assert.equal(rewriteReference(reference, here, `${prefix}/`), reference);
  });

  it('every rewritten path leads back to its address', () => {
    const place = { main: here, name: nameOf(here) };
    for (const url of [
      'https://cdn.example:8443/a/b.ts?c=d',
      'http://h/',
      'http://[::1]:80/a'.replace(':80', ''),
      'https://h/a%2Fb?x=%26',
      'https://h/a/$Number$.m4s',
    ])
      assert.equal(fromPath(toPath(url), place), url);
    assert.equal(fromPath('list.m3u8', place), here);
    assert.equal(fromPath('a.ts?x=1', place), 'https://origin.example/live/show/a.ts?x=1');
    assert.equal(fromPath('sub/a.ts', place), 'https://origin.example/live/show/sub/a.ts');
    assert.equal(fromPath('x/http/h%3A81/a', place), 'http://h:81/a');
    assert.equal(fromPath('x/http/%5B2001:db8::1%5D%3A81/a', place), 'http://[2001:db8::1]:81/a');
    for (const path of [
      'x/http/u%40h/a',
      'x/http/h%2Fx/a',
      'x/http/h:x/a',
      'x/http/h%5Cx/a',
      'x/http/h:99999/a',
      'x/http/%zz/a',
    ])
      assert.equal(fromPath(path, place), undefined, path);
    assert.equal(fromPath('x/ftp/h/a', place), undefined);
    assert.equal(fromPath('x/http/', place), undefined);
  });
});

describe('HLS rewriting', () => {
  const lines = [
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    '# a remark with http://h/x',
    '#EXT-X-KEY:METHOD=AES-128,URI="https://keys.example/k?a=b",IV=0x1',
    '#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="skd://x"',
    '#EXT-X-MAP:URI="init.mp4",BYTERANGE="10@0"',
    '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="b, c",URI="/audio/a.m3u8"',
    '#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="../i.m3u8"',
    '#EXT-X-PART:DURATION=1,URI="part.mp4"',
    '#EXT-X-PRELOAD-HINT:TYPE=PART,URI="//cdn.example/p.mp4"',
    '#EXT-X-DATERANGE:ID="x",X-ASSET-URI="https://ads.example/a.m3u8",X-ASSET-LIST="https://ads.example/l.json"',
    '#EXT-X-KEY:METHOD=AES-128,URI=https://keys.example/bare',
    '#EXTINF:4,title, http://not.a/uri',
    'seg1.ts',
    ' seg2.ts ',
    '\thttps://cdn.example/seg3.ts',
    '../seg4.ts',
    '',
    '#EXT-X-ENDLIST',
    '',
  ];
  it('changes addresses and nothing else', () => {
    assert.deepEqual(rewriteHls(lines.join('\n'), stay, roots).split('\n'), [
      '#EXTM3U',
      '#EXT-X-VERSION:7',
      '# a remark with http://h/x',
      `#EXT-X-KEY:METHOD=AES-128,URI="${prefix}/x/https/keys.example/k?a=b",IV=0x1`,
      '#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="skd://x"',
      '#EXT-X-MAP:URI="init.mp4",BYTERANGE="10@0"',
      `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="b, c",URI="${prefix}/x/https/origin.example/audio/a.m3u8"`,
      `#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="${prefix}/x/https/origin.example/live/i.m3u8"`,
      '#EXT-X-PART:DURATION=1,URI="part.mp4"',
      `#EXT-X-PRELOAD-HINT:TYPE=PART,URI="${prefix}/x/https/cdn.example/p.mp4"`,
      '#EXT-X-DATERANGE:ID="x",' +
        `X-ASSET-URI="${prefix}/x/https/ads.example/a.m3u8",` +
        `X-ASSET-LIST="${prefix}/x/https/ads.example/l.json"`,
      `#EXT-X-KEY:METHOD=AES-128,URI=${prefix}/x/https/keys.example/bare`,
      '#EXTINF:4,title, http://not.a/uri',
      'seg1.ts',
      ' seg2.ts ',
      `${prefix}/x/https/cdn.example/seg3.ts`,
      `${prefix}/x/https/origin.example/live/seg4.ts`,
      '',
      '#EXT-X-ENDLIST',
      '',
    ]);
  });
  it('writes them relative to the playlist, at the same length', () => {
    const text = '#EXTM3U\nhttps://cdn.example/a.ts?b=c\nhttp://h/d.ts\n';
    const result = rewriteHls(text, stay, rootsOf('list.m3u8', prefix));
    assert.equal(result, '#EXTM3U\nx/https/cdn.example/a.ts?b=c\nx/http/h/d.ts\n');
    assert.equal(result.length, text.length);
    const nested = rewriteHls(
      '#EXTM3U\nhttps://cdn.example/a.ts\n',
      stay,
      rootsOf('x/https/h/a/b.m3u8?c=d/e', prefix),
    ).split('\n')[1]!;
    assert.equal(new URL(nested, `${prefix}/x/https/h/a/b.m3u8?c=d/e`).href, `${prefix}/x/https/cdn.example/a.ts`);
  });
  it('keeps line endings', () => assert.equal(rewriteHls('#EXTM3U\r\na.ts\r\n', stay, roots), '#EXTM3U\r\na.ts\r\n'));
  it('rewrites relative addresses too after a redirect to another place', () => {
    assert.equal(
      rewriteHls('#EXTM3U\nsub/a.ts\n', moved, roots),
      `#EXTM3U\n${prefix}/x/https/edge.example/x/y/sub/a.ts\n`,
    );
  });
  it('recognises final playlists', () => {
    assert.equal(isFinalHls('#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\na\n'), true);
    assert.equal(isFinalHls('#EXTM3U\n#EXTINF:1,\na\n#EXT-X-ENDLIST'), true);
    assert.equal(isFinalHls('#EXTM3U\n#EXTINF:1,\na\n'), false);
  });

  it('leaves no address of another host in real playlists', function () {
    const folder = corpus(this, 'hls');
    let seen = 0;
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.m3u8'),
    )) {
      const text = readFileSync(join(folder, name), 'utf8');
      const result = rewriteHls(text, stay, roots);
      seen++;
      assert.equal(result.split('\n').length, text.split('\n').length, name);
      for (const line of result.split(/\r?\n/)) {
        if (line.startsWith('#') || line.trim() === '') continue;
        assert.ok(isNatural(line.trim()) || line.startsWith(`${prefix}/`), `${name}: ${line}`);
      }
      assert.equal(
        rewriteHls(result, stay, roots).replaceAll(`${prefix}/x/http/127.0.0.1:9/s/t/`, `${prefix}/`),
        result,
        name,
      );
    }
    assert.ok(seen > 40, `${seen} playlists`);
  });
});

describe('DASH rewriting', () => {
  const manifest = 'https://origin.example/vod/a/manifest.mpd';
  const place = { requested: manifest, final: manifest };
  for (const [what, before, after] of [
    [
      'keeps relative references',
      '<MPD><BaseURL>sub/</BaseURL><Period><SegmentTemplate ' +
        'media="$Number$.m4s" initialization="init.mp4"/></Period></MPD>',
      undefined,
    ],
    [
      'an absolute BaseURL',
      '<MPD><BaseURL>https://cdn.example/a/</BaseURL></MPD>',
      `<MPD><BaseURL>${prefix}/x/https/cdn.example/a/</BaseURL></MPD>`,
    ],
    [
      'a BaseURL with white space, entities and attributes',
      '<MPD><BaseURL serviceLocation="x>y">\n https://cdn.example/a?b=1&amp;c=2 \n</BaseURL></MPD>',
      `<MPD><BaseURL serviceLocation="x>y">${prefix}/x/https/cdn.example/a?b=1&amp;c=2</BaseURL></MPD>`,
    ],
    [
      'a BaseURL in CDATA',
      '<MPD><BaseURL><![CDATA[https://cdn.example/a/]]></BaseURL></MPD>',
      `<MPD><BaseURL>${prefix}/x/https/cdn.example/a/</BaseURL></MPD>`,
    ],
    [
      'a BaseURL spelled in character references',
      '<MPD><BaseURL>&#104;ttps&#x3a;//cdn.example/</BaseURL></MPD>',
      `<MPD><BaseURL>${prefix}/x/https/cdn.example/</BaseURL></MPD>`,
    ],
    [
      'addresses below a BaseURL of another host',
      '<MPD><BaseURL>https://cdn.example/a/</BaseURL><Period><AdaptationSet><SegmentTemplate ' +
        'media="/m/$Number$.m4s" initialization="../i.mp4" index="ok.idx"/></AdaptationSet></Period></MPD>',
      `<MPD><BaseURL>${prefix}/x/https/cdn.example/a/</BaseURL><Period><AdaptationSet>` +
        `<SegmentTemplate media="${prefix}/x/https/cdn.example/m/$Number$.m4s" ` +
        `initialization="${prefix}/x/https/cdn.example/i.mp4" index="ok.idx"/></AdaptationSet>` +
        '</Period></MPD>',
    ],
    [
      'nested BaseURLs',
      '<MPD><Period><BaseURL>p/</BaseURL><AdaptationSet><BaseURL>/q/</BaseURL>' +
        '<Representation><BaseURL>../r/f.mp4</BaseURL></Representation></AdaptationSet>' +
        '<AdaptationSet><BaseURL>../s/</BaseURL></AdaptationSet></Period></MPD>',
      '<MPD><Period><BaseURL>p/</BaseURL><AdaptationSet>' +
        `<BaseURL>${prefix}/x/https/origin.example/q/</BaseURL><Representation>` +
        `<BaseURL>${prefix}/x/https/origin.example/r/f.mp4</BaseURL></Representation>` +
        '</AdaptationSet><AdaptationSet>' +
        `<BaseURL>${prefix}/x/https/origin.example/vod/a/s/</BaseURL></AdaptationSet></Period>` +
        '</MPD>',
    ],
    [
      'segment lists',
      '<MPD><SegmentList><Initialization sourceURL="http://h/i"/><SegmentURL ' +
        'media=\'http://h/1\' index="2"/><RepresentationIndex ' +
        'sourceURL="/x"/></SegmentList></MPD>',
      '<MPD><SegmentList><Initialization ' +
        `sourceURL="${prefix}/x/http/h/i"/><SegmentURL media='${prefix}/x/http/h/1' ` +
        'index="2"/><RepresentationIndex ' +
        `sourceURL="${prefix}/x/https/origin.example/x"/></SegmentList></MPD>`,
    ],
    [
      'links to other documents',
      '<MPD xmlns:xlink="http://www.w3.org/1999/xlink"><Period ' +
        'xlink:href="https://h/period.xml" ' +
        'xlink:actuate="onLoad"/><Location>https://h/new.mpd</Location></MPD>',
      '<MPD xmlns:xlink="http://www.w3.org/1999/xlink"><Period ' +
        `xlink:href="${prefix}/x/https/h/period.xml" ` +
        `xlink:actuate="onLoad"/><Location>${prefix}/x/https/h/new.mpd</Location></MPD>`,
    ],
    [
      'prefixed names',
      '<m:MPD xmlns:m="urn:mpeg:dash:schema:mpd:2011"><m:BaseURL>http://h/</m:BaseURL></m:MPD>',
      `<m:MPD xmlns:m="urn:mpeg:dash:schema:mpd:2011"><m:BaseURL>${prefix}/x/http/h/</m:BaseURL></m:MPD>`,
    ],
    [
      'another scheme',
      '<MPD><BaseURL>file:///etc/</BaseURL></MPD>',
      `<MPD><BaseURL>${prefix}/refused/file</BaseURL></MPD>`,
    ],
    [
      'nothing in comments, other elements and other attributes',
      '<!-- <BaseURL>http://h/</BaseURL> --><MPD schemaLocation="http://h/x"><ProgramInformation ' +
        'moreInformationURL="http://h/"/><UTCTiming value="2026-01-01T00:00:00Z"/></MPD>',
      undefined,
    ],
  ] as const) {
    it(`${after === undefined ? '' : 'rewrites '}${what}`, () =>
      assert.equal(rewriteDash(before, place, roots), after ?? before));
  }

  it('gives the manifest a base after a redirect to another place', () => {
    const away = { requested: manifest, final: 'https://edge.example/e/f/m.mpd?x=1' };
    assert.equal(
      rewriteDash('<?xml version="1.0"?><MPD type="static"><Period/></MPD>', away, roots),
      `<?xml version="1.0"?><MPD type="static"><BaseURL>${prefix}/x/https/edge.example/e/f/</BaseURL><Period/></MPD>`,
    );
    assert.equal(
      rewriteDash('<MPD><BaseURL>dir/</BaseURL><Period><BaseURL>p/</BaseURL></Period></MPD>', away, roots),
      `<MPD><BaseURL>${prefix}/x/https/edge.example/e/f/dir/</BaseURL><Period><BaseURL>p/</BaseURL></Period></MPD>`,
    );
  });
  it('writes addresses relative to the manifest, but in full below a BaseURL', () => {
    const text =
      '<MPD><BaseURL>https://cdn.example/a/</BaseURL><Period>' +
      '<BaseURL>https://other.example/</BaseURL><SegmentTemplate media="/m"/>' +
      '</Period></MPD>';
    assert.equal(
      rewriteDash(text, place, rootsOf('m.mpd', prefix)),
      '<MPD><BaseURL>x/https/cdn.example/a/</BaseURL><Period>' +
        `<BaseURL>${prefix}/x/https/other.example/</BaseURL><SegmentTemplate ` +
        `media="${prefix}/x/https/other.example/m"/></Period></MPD>`,
    );
  });
  it('recognises final manifests', () => {
    assert.equal(isFinalDash('<MPD type="static">'), true);
    assert.equal(isFinalDash('<MPD minBufferTime="x" type="dynamic">'), false);
  });

  it('lets no absolute address through, for any text', () => {
    const next = random(5);
    const parts = [
      '<MPD>',
      '</MPD>',
      '<Period>',
      '</Period>',
      '<BaseURL>',
      '</BaseURL>',
      '<BaseURL/>',
      'http://evil.example/',
      'sub/',
      '/abs',
      '../',
      '<SegmentTemplate media="http://evil.example/$Number$" ',
      '/>',
      '>',
      '<',
      '"',
      "'",
      '&amp;',
      '&#x68;ttp://evil.example/',
      '<!--',
      '-->',
      '<![CDATA[',
      ']]>',
      '<?x',
      '?>',
      ' xlink:href="http://evil.example/"',
      '\n',
      "<SegmentURL media='http://evil.example/1'/>",
      '<!DOCTYPE MPD [<!ENTITY e "http://evil.example/">]>',
    ];
    for (let i = 0; i < 5000; i++) {
      const text = Array.from(
        { length: Math.floor(next() * 25) },
        () => parts[Math.floor(next() * parts.length)]!,
      ).join('');
      const result = rewriteDash(text, place, roots);
      const hls = rewriteHls(text, stay, roots);
      assert.equal(typeof result + typeof hls, 'stringstring');
      // Well-formed text must contain no such address.
      const base = /<BaseURL>\s*(http:\/\/evil[^<]*)<\/BaseURL>/.exec(
        result.replace(/<!--[\s\S]*?(?:-->|$)|<!\[CDATA\[[\s\S]*?(?:\]\]>|$)|<\?[\s\S]*?(?:\?>|$)/g, ''),
      );
      if (isWellFormed(text)) assert.equal(base, null, text);
    }
  });

  it('takes time proportional to the text', function () {
    this.timeout(60_000);
    const hostile: [what: string, piece: string][] = [
      ['open brackets', '<'],
      ['tags', '<a '],
      ['quotes', '<a b="'],
      ['bases', '<BaseURL>'],
      ['closed bases', '<BaseURL>a/</BaseURL>'],
      ['nested bases', '<P><BaseURL>a/</BaseURL>'],
      ['remarks', '<!--'],
      ['CDATA', '<![CDATA['],
      ['types', '<!DOCTYPE ['],
      ['attributes', 'b= '],
      ['whole tags', '<SegmentURL media="a"/>'],
      ['keys', 'URI='],
      ['open quotes', 'URI="'],
      ['capitals', 'A'],
      ['commas', ','],
      ['names', 'A='],
    ];
    // CPU time, so that other load does not matter. With quadratic work, each of these would take minutes.
    for (const [what, piece] of hostile) {
      const text = piece.repeat(Math.ceil(300_000 / piece.length));
      const begin = process.cpuUsage();
      rewriteDash(`<MPD ${text}`, place, roots);
      rewriteDash(text, place, roots);
      rewriteHls(`#EXT-X-KEY:${text}`, stay, roots);
      rewriteHls(text, stay, roots);
      const spent = process.cpuUsage(begin).user / 1000;
      assert.ok(spent < 5000, `${what}: ${spent.toFixed(0)} ms`);
    }
  });

  it('limits the growth of a short text', () => {
    assert.throws(() => rewriteHls(`/${'a'.repeat(4000)}\n`.repeat(5000), stay, roots), {
      code: 'cut',
      reason: 'limit',
    });
    assert.throws(() => rewriteDash(`<MPD>${`<BaseURL>/${'a'.repeat(4000)}</BaseURL>`.repeat(5000)}`, place, roots), {
      code: 'cut',
      reason: 'limit',
    });
  });
});

/** Sufficient for the parts above: balanced tags with nothing unusual between them. */
function isWellFormed(text: string): boolean {
  const open: string[] = [];
  const rest = text.replace(/<(\/?)(MPD|Period|BaseURL)(\/?)>/g, (_all, close: string, name: string, self: string) => {
    if (self === '/') return '';
    if (close !== '/') open.push(name);
    else if (open.pop() !== name) open.push('broken', 'broken');
    return '';
  });
  return open.length === 0 && !/[<>"']/.test(rest);
}
