import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parsePlaylist } from '../../src/media/hls/parse.ts';
import { Host, type Answer } from './serve.ts';
import { vod, aMain, aVariant } from './examples/playlists.ts';
import { shownLine } from '../../src/media/hls/shown_text.ts';
import { textReport } from '../../src/media/hls/report.ts';
import { UnreadableError } from '../../src/media/hls/validate.ts';
import { fuzzHls } from './fuzz.ts';

const HEAD = '#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-TARGETDURATION:6\n';

describe('invalid playlists', function () {
  this.timeout(60_000);
  let host: Host;
  before(async () => {
    host = await new Host().start();
  });
  after(() => host.stop());

  const table: [string, Answer, string[], string[]?][] = [
    [
      'a page of HTML',
      { body: '<!DOCTYPE html>\n<html>\n<p>Sign in</p>\n</html>\n', type: 'text/html' },
      ['not-a-playlist'],
      ['playlist-empty', 'extinf-missing'],
    ],
    ['nothing', { body: '' }, ['playlist-empty']],
    [
      'UTF-16, little endian',
      { body: Buffer.from(`\ufeff${vod()}`, 'utf16le') },
      ['encoding-utf8'],
      ['not-a-playlist', 'targetduration-missing'],
    ],
    [
      'UTF-16, big endian',
      { body: Buffer.from(`\ufeff${vod()}`, 'utf16le').swap16() },
      ['encoding-utf8'],
      ['not-a-playlist'],
    ],
    [
      'bytes that are no UTF-8',
      {
        body: Buffer.concat([
          Buffer.from(`${HEAD}#EXTINF:6,`),
          Buffer.from([0xe9, 0xff]),
          Buffer.from('\na.ts\n#EXT-X-ENDLIST\n'),
        ]),
      },
      ['encoding-utf8'],
      ['targetduration-missing'],
    ],
    ['a byte order mark', { body: `\ufeff${vod()}` }, ['encoding-bom'], ['not-a-playlist']],
    [
      'lines that end with CR LF here and LF there',
      { body: vod().replace('\n', '\r\n') },
      [],
      ['line-ending', 'not-a-playlist'],
    ],
    ['an empty first line', { body: `\n${vod()}` }, ['not-a-playlist']],
    ['a line of 2 MB', { body: `${HEAD}#EXTINF:6,${'x'.repeat(2 << 20)}\na.ts\n#EXT-X-ENDLIST\n` }, ['line-too-long']],
    [
      'an attribute list of 100,000',
      { body: `${HEAD}#EXT-X-DATERANGE:${'X-A="1",'.repeat(100_000)}\n#EXTINF:6,\na.ts\n#EXT-X-ENDLIST\n` },
      ['attribute-duplicate', 'attribute-syntax'],
    ],
    [
      'variables that double with each line',
      {
        body:
          `${HEAD}#EXT-X-DEFINE:NAME="v0",VALUE="0123456789"\n` +
          Array.from({ length: 60 }, (_, n) => `#EXT-X-DEFINE:NAME="v${n + 1}",VALUE="{$v${n}}{$v${n}}"\n`).join('') +
          '#EXTINF:6,\n{$v60}\n#EXT-X-ENDLIST\n',
      },
      ['line-too-long'],
    ],
    [
      '20,000 faults of one kind',
      { body: `${HEAD}${'#EXTINF:9,\na.ts\n'.repeat(20_000)}#EXT-X-ENDLIST\n` },
      ['extinf-over-target'],
    ],
  ];
  for (const [what, answer, expected, unexpected = []] of table) {
    it(`${what}: ${expected.join(', ') || 'nothing wrong'}`, async () => {
      const report = await host.report(host.put(`/bad/${what.replaceAll(/[^a-z0-9]/gi, '-')}.m3u8`, answer));
      const codes = report.messages.map(({ code }) => code);
      for (const code of expected) assert.ok(codes.includes(code), codes.join());
      for (const code of unexpected) assert.ok(!codes.includes(code), codes.join());
      if (expected.length === 0) assert.equal(report.success, true);
      assert.ok(report.messages.length < 60 && textReport(report).length < 30_000);
    });
  }

  it('a recording whose end is misspelt is not live, and the finding names the tag that is meant', async () => {
    const report = await host.report(host.put('/end.m3u8', { body: `${HEAD}#EXTINF:6,\na.ts\n#EXT-X-ENDLIS\n` }));
    assert.equal(report.summary.live, false);
    assert.deepEqual(
      report.messages.map(({ level, code, line, message }) => [level, code, line, message.split(': ')[1]]),
      [['should-fix', 'tag-spelling', 6, '"EXT-X-ENDLIS"; did you mean EXT-X-ENDLIST?']],
    );
  });

  const names: [string, string | undefined][] = [
    ['#EXT-X-ENDLIS', 'EXT-X-ENDLIST'],
    ['#EXT_X_ENDLIST', 'EXT-X-ENDLIST'],
    ['#EXT-X-endlist', 'EXT-X-ENDLIST'],
    ['#ext-x-endlist', 'EXT-X-ENDLIST'],
    ['# EXT-X-ENDLIST', 'EXT-X-ENDLIST'],
    ['#EXT-X-DISCONTINUTY', 'EXT-X-DISCONTINUITY'],
    ['#EXT-X-MEDIA-SEQENCE:1', 'EXT-X-MEDIA-SEQUENCE'],
    ['#EXT-X-STREAMINF:BANDWIDTH=1', 'EXT-X-STREAM-INF'],
    ['#EXTINFO:6,', 'EXTINF'],
    ...[
      '#EXT-X-CUE',
      '#EXT-X-CUE-OUT:30',
      '#EXT-X-CUE-IN',
      '#EXT-X-SCTE35:CUE="A"',
      '#EXT-OATCLS-SCTE35:A',
      '#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=1',
      '#EXT-X-IMAGES-ONLY',
      '#EXT-X-TILES:A=1',
      '#EXT-X-PREFETCH:a.ts',
      '#EXT-X-ASSET:A=1',
      '#EXT-X-SIGNAL:A=1',
      '#EXT-X-MARKER:A=1',
      '#EXTVLCOPT:a=b',
      '#EXTIMG:a',
      '#EXTGRP:a',
    ].map((line): [string, undefined] => [line, undefined]),
  ];
  for (const [line, meant] of names)
    it(`${line}: ${meant === undefined ? 'is a tag of its own' : `may be ${meant}`}`, () => {
      const found: [string, string | undefined][] = [];
      const at = { url: 'http://h/a.m3u8', base: 'http://h/a.m3u8' };
      parsePlaylist(`${HEAD}${line}\n`, at, (rule, _line, detail) => found.push([rule, detail]));
      const said = found.find(([rule]) => rule === 'tag-spelling' || rule === 'tag-unknown');
      assert.equal(said?.[0], meant === undefined ? 'tag-unknown' : 'tag-spelling');
      assert.equal(/did you mean (.*)\?$/.exec(said?.[1] ?? '')?.[1], meant);
    });

  it('of unknown tags the first hundred are compared with known ones', () => {
    const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    const tags = letters.flatMap((first) => letters.map((second) => `#EXT-X-ENDLIS${first}${second}\n`));
    const rules: string[] = [];
    const at = { url: 'http://h/a.m3u8', base: 'http://h/a.m3u8' };
    parsePlaylist(`${HEAD}${tags.join('')}`, at, (rule) => rules.push(rule));
    assert.equal(rules.filter((rule) => rule === 'tag-spelling').length, 100);
    assert.equal(rules.filter((rule) => rule === 'tag-unknown').length, 576);
  });

  it('many faults of one kind are counted, and listed ten times', async () => {
    const report = await host.report(
      host.put('/many.m3u8', { body: `${HEAD}${'#EXTINF:9,\na.ts\n'.repeat(200)}#EXT-X-ENDLIST\n` }),
    );
    const found = report.messages.filter(({ code }) => code === 'extinf-over-target');
    assert.deepEqual([found.length, found.at(-1)?.count, report.summary.must_fix], [10, 200, 200]);
    assert.match(report.error ?? '', /^200 must-fix: /);
  });

  it('a playlist is read up to its limit, and the report says so', async () => {
    const report = await host.report(
      host.put('/long.m3u8', { body: `${HEAD}${'#EXTINF:6,\na.ts\n'.repeat(200_000)}` }),
      { limits: { playlistBytes: 1 << 20 } },
    );
    assert.ok(report.messages.some(({ code }) => code === 'analysis-cut'));
    assert.deepEqual([report.playlists[0]?.bytes, report.success, report.summary.live], [1 << 20, true, false]);
  });

  it('an endless playlist is read up to its limit, and then disconnected', async () => {
    const gone = Promise.withResolvers<void>();
    const endless = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/vnd.apple.mpegurl' }).write(HEAD);
      const more = (): void => {
        while (!response.destroyed && response.write('#EXTINF:6,\na.ts\n'.repeat(1_000)));
      };
      response.on('drain', more).on('close', gone.resolve);
      more();
    }).listen(0, '127.0.0.1');
    await once(endless, 'listening');
    try {
      const report = await host.report(`http://127.0.0.1:${(endless.address() as AddressInfo).port}/live.m3u8`, {
        limits: { playlistBytes: 1 << 20 },
      });
      assert.ok(report.messages.some(({ code }) => code === 'analysis-cut'));
      await gone.promise;
    } finally {
      endless.close();
      endless.closeAllConnections();
    }
  });

  it('1,300,000 empty lines end at the limit of lines', async () => {
    const report = await host.report(host.put('/lines.m3u8', { body: `${HEAD}${'a\n'.repeat(1_300_000)}` }));
    assert.ok(report.messages.some(({ code }) => code === 'analysis-cut'));
    assert.equal(report.playlists[0]?.lines, 1_200_000);
  });

  it('lines and bytes of all playlists together are limited', async () => {
    const long = `${HEAD}${'#EXTINF:6,\na.ts\n'.repeat(3_000)}#EXT-X-ENDLIST\n`;
    const list = Array.from({ length: 12 }, (_, n) => aVariant({ BANDWIDTH: String(2_000_000 + n) }, `long-${n}.m3u8`));
    for (let n = 0; n < 12; n++) host.put(`/long-${n}.m3u8`, { body: long });
    const address = host.put('/many-long.m3u8', { body: aMain(...list) });
    for (const limits of [{ presentationLines: 20_000 }, { presentationBytes: 2 * long.length }]) {
      const report = await host.report(address, { limits });
      assert.ok(report.playlists.length > 1 && report.playlists.length < 10, String(report.playlists.length));
      assert.match(report.messages.find(({ code }) => code === 'playlists-unread')?.message ?? '', /of 12 were read/);
      assert.ok(!report.messages.some(({ code }) => code === 'playlist-unreadable'));
    }
  });

  it('what is not read in time is not validated, and the report says so', async () => {
    const codes: string[] = [];
    const playlist = parsePlaylist(
      `${HEAD}${'#EXTINF:6,\na.ts\n'.repeat(20_000)}#EXTINF:6,`,
      { url: 'http://h/a.m3u8', base: 'http://h/a.m3u8', until: performance.now() - 1 },
      (rule) => codes.push(rule),
    );
    assert.deepEqual([playlist.whole, playlist.lines, codes], [false, 4096, ['analysis-cut']]);
    // No time is left for the playlists that it refers to, which is not a fault of theirs.
    const report = await host.report(host.put('/late.m3u8', { body: aMain() }), {
      timeMs: 0,
      origin: {
        parameters: () => Promise.resolve(new Map()),
        fetch: () =>
          Promise.resolve({
            status: 200,
            bytes: Buffer.from(aMain()),
            whole: true,
            type: 'application/vnd.apple.mpegurl',
            place: 'http://h/late.m3u8',
            error: undefined,
          }),
      },
    });
    assert.deepEqual(
      report.messages
        .filter(({ level, code }) => level === 'must-fix' || code === 'playlists-unread')
        .map(({ code }) => code),
      ['playlists-unread'],
    );
  });

  it('of 3,000 variants 2,000 are listed, and all are counted', async () => {
    const report = await host.report(
      host.put('/variants.m3u8', {
        body: aMain(
          ...Array.from({ length: 3_000 }, (_, n) => aVariant({ BANDWIDTH: String(2_000_000 + n) }, 'same.m3u8')),
        ),
      }),
    );
    assert.deepEqual([report.variants.length, report.summary.variants, report.summary.playlists], [2_000, 3_000, 2]);
    assert.ok(textReport(report).length > 0);
  });

  for (const [what, lines, code] of [
    [
      'twenty thousand init sections before as many segments',
      [
        ...Array.from({ length: 20_000 }, (_, n) => `#EXT-X-MAP:URI="${n}.mp4"`),
        ...Array.from({ length: 20_000 }, () => '#EXTINF:6,\na.m4s'),
        '#EXT-X-ENDLIST',
      ],
      'map-unused',
    ],
    [
      'twenty thousand hints, each of a different type',
      Array.from({ length: 20_000 }, (_, n) => `#EXT-X-PRELOAD-HINT:TYPE=T${n},URI="a"`),
      'attribute-value',
    ],
    [
      'twenty thousand variants of one pathway',
      [
        '#EXT-X-CONTENT-STEERING:SERVER-URI="s",PATHWAY-ID="B"',
        ...Array.from({ length: 20_000 }, () => '#EXT-X-STREAM-INF:BANDWIDTH=1,PATHWAY-ID="A"\na.m3u8'),
      ],
      'steering-pathway',
    ],
  ] as const) {
    it(`${what}: are reported`, async () => {
      const report = await host.report(
        host.put(`/${code}.m3u8`, { body: `${code === 'steering-pathway' ? '#EXTM3U\n' : HEAD}${lines.join('\n')}\n` }),
      );
      assert.ok(report.messages.some((message) => message.code === code));
    });
  }

  it('a playlist that refers to itself is read once', async () => {
    const report = await host.report(host.put('/self.m3u8', { body: aMain(aVariant({}, 'self.m3u8')) }));
    assert.deepEqual(
      report.messages.filter(({ level }) => level === 'must-fix').map(({ code }) => code),
      ['playlist-nested'],
    );
  });

  it('of hundreds of media playlists the first are read', async () => {
    const list = Array.from({ length: 20 }, (_, n) => aVariant({ BANDWIDTH: String(2_000_000 + n) }, `${n}.m3u8`));
    const report = await host.report(host.put('/hundreds.m3u8', { body: aMain(...list) }), {
      limits: { playlists: 5 },
    });
    assert.deepEqual(
      [report.playlists.length, report.messages.some(({ code }) => code === 'playlists-unread')],
      [6, true],
    );
  });

  it("a content type that is not a playlist's must be fixed, unless the path identifies it", async () => {
    const codes = async (path: string) =>
      (await host.report(host.put(path, { body: vod(), type: 'text/plain' }))).messages
        .filter(({ level }) => level === 'must-fix')
        .map(({ code }) => code);
    assert.deepEqual([await codes('/playlist'), await codes('/playlist.m3u8')], [['content-type'], []]);
  });

  it('a live playlist that disappears before its reload is reported', async () => {
    const live = vod().replace('#EXT-X-PLAYLIST-TYPE:VOD\n', '').replace('#EXT-X-ENDLIST\n', '');
    const report = await host.report(host.put('/fades.m3u8', { body: live }, { body: 'gone', status: 410 }), {
      watch: true,
    });
    assert.ok(report.messages.some(({ code }) => code === 'reload-unreadable'));
  });

  it('a source that cannot be read gives no report', async () => {
    await assert.rejects(
      host.report(`${host.url}/404`),
      (error: unknown) =>
        error instanceof UnreadableError && error.code === 'source-unreadable' && /404/.test(error.message),
    );
  });

  it('the report contains no secret of an address', async () => {
    host.put('/child.m3u8', {
      body: vod('#EXTINF:6,', 'https://user:secretpassword@h.example/a b.ts?sig=secretsignature'),
    });
    const report = await host.report(
      host.put('/main.m3u8', {
        body: aMain(
          aVariant({}, 'child.m3u8?token=secrettoken'),
          aVariant({ BANDWIDTH: '3000000' }, 'gone/404?token=secrettoken'),
        ),
      }),
    );
    assert.doesNotMatch(JSON.stringify(report) + textReport(report), /secret/);
  });

  const hidden: [string, string, string][] = [
    ['a query', 'seg-1.ts?token=secret&exp=secret', 'seg-1.ts?token=REDACTED&exp=REDACTED'],
    ['a query without names', 'seg-1.ts?secret', 'seg-1.ts?REDACTED'],
    ['a query with a space', '#EXT-X-MAP:URI="i.mp4?t=secret secret",A=1', '#EXT-X-MAP:URI="i.mp4?t=REDACTED",A=1'],
    ['user info', 'https://user:secret@h.example/a.ts', 'https://h.example/a.ts'],
    ['user info with @', 'https://user:sec@secret@h.example/a.ts', 'https://h.example/a.ts'],
    ['user info with a space', '  http://user:secret secret@h/a.ts', '  http://h/a.ts'],
    ['user info behind two slashes', '//user:secret@h.example/a.ts', '//h.example/a.ts'],
    ['user info behind backslashes', 'http:\\\\user:secret@h/a.ts', 'http:\\\\h/a.ts'],
    ['user info behind a scheme alone', 'https:user:secret@h/a.ts', 'https:h/a.ts'],
    ['a name with @', 'live@720p.ts', 'live@720p.ts'],
    ['a fragment', 'seg-1.ts#token=secret', 'seg-1.ts'],
    [
      'a key in the playlist',
      '#EXT-X-KEY:METHOD=AES-128,URI="data:text/plain;base64,secret",IV=0x1',
      '#EXT-X-KEY:METHOD=AES-128,URI="data:",IV=0x1',
    ],
    ['a variable', '#EXT-X-DEFINE:NAME="t",VALUE="secret"', '#EXT-X-DEFINE:NAME="t",VALUE="REDACTED"'],
    ['an open quote', '#EXT-X-MAP:URI="i.mp4?t=secret', '#EXT-X-MAP:URI="i.mp4?t=REDACTED'],
    [
      'an odd quote before it',
      '#EXT-X-X:A=",URI="https://u:secret@h/a?t=secret secret"',
      '#EXT-X-X:A=",URI="https://h/a?t=REDACTED"',
    ],
    ['a comment', '# from https://u:secret@h/a?t=secret', '# from https://h/a?t=REDACTED'],
    ['an attribute named so', '#EXT-X-CDN:X-AUTH-TOKEN=secret,B=1', '#EXT-X-CDN:X-AUTH-TOKEN="REDACTED",B=1'],
    ['a control character', '#EXTINF:6,\u0000a', '#EXTINF:6,\ufffda'],
    ['a long line', `#EXT-X-X:${'x'.repeat(5_000)}?secret`, '[5016 characters]'],
    ['a key as a segment', 'DATA:text/plain,secret', 'data:'],
    ['a title', '#EXTINF:6.006,Cam #1', '#EXTINF:6.006,Cam #1'],
    ['a carriage return', '#EXT-X-ENDLIST\r', '#EXT-X-ENDLIST'],
  ];
  for (const [what, line, shown] of hidden)
    it(`a line in the report: ${what}`, () => assert.equal(shownLine(line), shown));

  it('lines of a playlist are in the report on request, and durations always', async () => {
    const child = vod('#EXTINF:6.0064,', 'a.ts?sig=secretsignature', '#EXTINF:2,', 'b.ts');
    host.put('/lines-child.m3u8', { body: child });
    const address = host.put('/lines-main.m3u8', { body: aMain(aVariant({}, 'lines-child.m3u8')) });
    const [main, variant] = (await host.report(address, { keepsText: true })).playlists;
    assert.equal(main?.segment_durations, null);
    assert.deepEqual(variant?.segment_durations, { declared: [6.006, 2], left_out: 0 });
    assert.deepEqual(variant?.text?.lines, child.replace('secretsignature', 'REDACTED').trimEnd().split('\n'));
    assert.equal(variant?.text?.left_out, 0);
    assert.equal((await host.report(address)).playlists[1]?.text, null);
  });

  it('120 long playlists: durations and lines in the report are limited, and shared evenly', async () => {
    const long = `${HEAD}${'#EXTINF:6,\nabc.ts?t=secret\n'.repeat(3_000)}#EXT-X-ENDLIST\n`;
    const list = Array.from({ length: 119 }, (_, n) =>
      aVariant({ BANDWIDTH: String(2_000_000 + n) }, `even-${n}.m3u8`),
    );
    for (let n = 0; n < 119; n++) host.put(`/even-${n}.m3u8`, { body: long });
    host.put('/even-short.m3u8', { body: vod() });
    const report = await host.report(
      host.put('/even.m3u8', { body: aMain(...list, aVariant({ BANDWIDTH: '9000000' }, 'even-short.m3u8')) }),
      { keepsText: true },
    );
    const media = report.playlists.slice(1);
    const [one, short] = [media[0], media.at(-1)];
    assert.ok(one?.segment_durations && one.text && short?.segment_durations && short.text);
    assert.equal(one.segment_durations.left_out, 3_000 - one.segment_durations.declared.length);
    assert.equal(one.text.left_out, one.lines - one.text.lines.length);
    assert.deepEqual([short.segment_durations.left_out, short.text.left_out], [0, 0]);
    const numbers = media.reduce((sum, { segment_durations: all }) => sum + all!.declared.length, 0);
    const characters = report.playlists.reduce((sum, { text }) => sum + text!.lines.join('\n').length + 1, 0);
    assert.ok(numbers <= 20_000 && numbers > 19_000, String(numbers));
    assert.ok(characters <= 512 << 10 && characters > 450 << 10, String(characters));
  });

  it('lines of a report take linear time', () => {
    const started = performance.now();
    for (const piece of [':', '//', 'http:', 'token', '"#=', '# ', '@', 'data:', '?', 'a-', 'VALUE='])
      for (let n = 0; n < 128; n++) shownLine(`#EXT-X-DEFINE:${piece.repeat(4_000 / piece.length)}`);
    assert.ok(performance.now() - started < 5_000, `${performance.now() - started} ms`);
  });

  it('thousands of generated playlists are validated without an exception', () => {
    assert.ok(fuzzHls(20_261_121, 3_000) > 3_000);
  });
});
