import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openOrigin } from '../../src/media/hls/origin.ts';
import { LIMITS } from '../../src/media/hls/limits.ts';
import { parsePlaylist } from '../../src/media/hls/parse.ts';
import { fetchSegment, type FetchedSegment, type Reading } from '../../src/media/hls/segment.ts';
import type { HlsReport } from '../../src/media/hls/schema.ts';
import { textReport } from '../../src/media/hls/report.ts';
import { Host } from './serve.ts';

// By its path, because a tool has a PATH of its own.
const FFPROBE = [spawnSync('which', ['ffprobe'], { encoding: 'utf8' }).stdout.trim()];
const CODECS = '"avc1.64000d,mp4a.40.2"';
const SEGMENTS = {
  ts: ['-hls_segment_type', 'mpegts'],
  fmp4: ['-hls_segment_type', 'fmp4', '-hls_fmp4_init_filename', 'init.mp4'],
} as const;

describe('measuring segments', function () {
  this.timeout(30_000);
  const directory = mkdtempSync(join(tmpdir(), 'probeyard-hls-'));
  let host: Host;
  const made: Record<string, Map<string, Buffer>> = {};

  const make = (name: string, ...options: string[]): void => {
    const folder = mkdtempSync(join(directory, `${name}-`));
    execFileSync(
      'ffmpeg',
      [
        '-v',
        'error',
        '-f',
        'lavfi',
        '-i',
        'testsrc2=size=320x180:rate=25:duration=4',
        '-f',
        'lavfi',
        '-i',
        'sine=duration=4',
        '-c:v',
        'libx264',
        '-preset',
        'veryfast',
        '-profile:v',
        'high',
        '-pix_fmt',
        'yuv420p',
        '-level',
        '1.3',
        '-g',
        '50',
        '-keyint_min',
        '50',
        '-sc_threshold',
        '0',
        '-c:a',
        'aac',
        '-ac',
        '2',
        '-f',
        'hls',
        '-hls_time',
        '2',
        '-hls_playlist_type',
        'vod',
        '-hls_flags',
        'independent_segments',
        ...options,
        'media.m3u8',
      ],
      { cwd: folder },
    );
    made[name] = new Map(readdirSync(folder).map((file) => [file, readFileSync(join(folder, file))]));
  };

  before(async function () {
    if (spawnSync('ffmpeg', ['-version']).status !== 0 || spawnSync('ffprobe', ['-version']).status !== 0) {
      console.log('      skipped: there is no ffmpeg on this machine to make segments with');
      this.skip();
    }
    make('ts', ...SEGMENTS.ts);
    make('fmp4', ...SEGMENTS.fmp4);
    writeFileSync(join(directory, 'key'), Buffer.alloc(16, 7));
    writeFileSync(join(directory, 'info'), `key\n${join(directory, 'key')}\n`);
    make('aes', ...SEGMENTS.ts, '-hls_key_info_file', join(directory, 'info'));
    made['aes']?.set('key', Buffer.alloc(16, 7));
    host = await new Host().start();
  });
  after(() => {
    host?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  let sets = 0;
  /** Serves one of the sets with changes, below a multivariant playlist if its attributes are given. */
  async function measure(
    name: string,
    {
      change = (text: string) => text,
      files = {},
      variant,
    }: { change?: (playlist: string) => string; files?: Record<string, Buffer>; variant?: string } = {},
  ): Promise<HlsReport> {
    const folder = `/set-${++sets}`;
    for (const [file, body] of [...(made[name] ?? []), ...Object.entries(files)])
      host.put(
        `${folder}/${file}`,
        file.endsWith('m3u8') ? { body: change(body.toString()) } : { body, type: 'video/mp2t' },
      );
    const main = variant === undefined ? 'media.m3u8' : 'main.m3u8';
    if (variant !== undefined)
      host.put(`${folder}/main.m3u8`, {
        body: `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-STREAM-INF:${variant}\nmedia.m3u8\n`,
      });
    return host.report(`${host.url}${folder}/${main}`, { measure: { probeCommand: FFPROBE } });
  }
  const codes = (report: HlsReport): string[] =>
    [...new Set(report.messages.filter(({ level }) => level !== 'info').map(({ code }) => code))].sort();
  const GOOD =
    `BANDWIDTH=900000,AVERAGE-BANDWIDTH=800000,CODECS=${CODECS},` +
    'RESOLUTION=320x180,FRAME-RATE=25.000,CLOSED-CAPTIONS=NONE';

  for (const name of ['ts', 'fmp4', 'aes']) {
    it(`reports nothing for valid segments (${name})`, async () => {
      const report = await measure(name);
      assert.deepEqual(
        codes(report),
        name === 'aes' ? ['key-iv-reused'].filter((code) => codes(report).includes(code)) : [],
      );
      assert.equal(report.summary.segments_measured, 2);
      const { segment_durations: declared, measured } = report.playlists[0]!;
      assert.deepEqual(
        measured?.durations.map(({ index }) => index),
        [0, 1],
      );
      for (const { index, seconds } of measured.durations)
        assert.ok(
          Math.abs(seconds - declared!.declared[index]!) < 0.25,
          `${seconds} s of ${declared!.declared[index]}`,
        );
      assert.deepEqual(measured.streams.map(({ codec }) => codec).sort(), ['aac', 'h264']);
    });
  }

  it('measures the bit rates of a variant, and reports nothing if they match', async () => {
    const real = (await measure('ts')).playlists[0]?.measured;
    assert.ok(real);
    const { peak_bit_rate: peak, average_bit_rate: average } = real;
    const report = await measure('ts', {
      variant: GOOD.replace('900000', String(peak)).replace('800000', String(average)),
    });
    assert.deepEqual(codes(report), ['iframes-missing']);
    assert.deepEqual(report.variants[0]?.measured, { peak, average });
    assert.match(textReport(report), /2 segments measured/);
  });

  const wrong: [string, string, Parameters<typeof measure>[1]][] = [
    ['bandwidth-exceeded', 'ts', { variant: GOOD.replace('900000', '100000').replace('800000', '100000') }],
    ['average-exceeded', 'ts', { variant: GOOD.replace('800000', '50000').replace('900000', '9000000') }],
    ['bandwidth-unused', 'ts', { variant: GOOD.replace('900000', '90000000') }],
    ['codecs-measured', 'ts', { variant: GOOD.replace(CODECS, '"hvc1.1.6.L93.B0,mp4a.40.2"') }],
    ['codecs-profile', 'fmp4', { variant: GOOD.replace(CODECS, '"avc1.42e00d,mp4a.40.2"') }],
    ['resolution-measured', 'ts', { variant: GOOD.replace('320x180', '640x360') }],
    ['frame-rate-measured', 'ts', { variant: GOOD.replace('25.000', '50.000') }],
    ['duration-measured', 'ts', { change: (text) => text.replace(/#EXTINF:2\.0+,/, '#EXTINF:1.2,') }],
    [
      'duration-over-target',
      'ts',
      { change: (text) => text.replaceAll(/#EXTINF:2\.0+,/g, '#EXTINF:1,').replace('DURATION:2', 'DURATION:1') },
    ],
    ['segment-unreadable', 'ts', { change: (text) => text.replace('media1.ts', 'gone/404') }],
    ['segment-format', 'ts', { files: { 'media1.ts': Buffer.from('<html>not found</html>') } }],
    [
      'segment-range',
      'ts',
      {
        change: (text) =>
          text.replace('media0.ts', '#EXT-X-BYTERANGE:90000000@0\nmedia0.ts').replace('VERSION:3', 'VERSION:4'),
      },
    ],
    ['init-unreadable', 'fmp4', { change: (text) => text.replace('init.mp4', 'gone/404') }],
    ['init-format', 'fmp4', { change: (text) => text.replace('init.mp4', 'media0.m4s') }],
    ['key-unreadable', 'aes', { change: (text) => text.replace('URI="key"', 'URI="gone/404"') }],
    ['key-length', 'aes', { files: { key: Buffer.alloc(15) } }],
    ['decryption', 'aes', { files: { key: Buffer.alloc(16, 9) } }],
    ['timestamps-break', 'ts', { change: (text) => text.replace('media1.ts', 'media0.ts') }],
    ['bitrate-measured', 'ts', { change: (text) => text.replace('#EXTINF', '#EXT-X-BITRATE:20\n#EXTINF') }],
    [
      'encryption-unmeasured',
      'ts',
      {
        change: (text) =>
          text.replace(
            '#EXTINF',
            '#EXT-X-KEY:METHOD=SAMPLE-AES,URI="skd://1",' +
              'KEYFORMAT="com.apple.streamingkeydelivery",KEYFORMATVERSIONS="1"\n' +
              '#EXTINF',
          ),
      },
    ],
  ];
  for (const [code, name, options] of wrong) {
    it(`reports ${code}`, async () => {
      const report = await measure(name, options);
      assert.ok(
        report.messages.some((message) => message.code === code),
        JSON.stringify(report.messages.map((message) => `${message.code}: ${message.message}`)),
      );
    });
  }

  it('reports webvtt-map and audio-timestamp', async () => {
    const sound = execFileSync(
      'ffmpeg',
      ['-v', 'error', '-f', 'lavfi', '-i', 'sine=duration=2', '-c:a', 'aac', '-f', 'adts', '-'],
      { maxBuffer: 1 << 24 },
    );
    const list = (name: string): Buffer =>
      Buffer.from(`#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n${name}\n#EXT-X-ENDLIST\n`);
    const files = {
      'sound.m3u8': list('sound.aac'),
      'sound.aac': sound,
      'text.m3u8': list('text.vtt'),
      'text.vtt': Buffer.from('WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n'),
      'stamped.m3u8': list('stamped.vtt'),
      'stamped.vtt': Buffer.from(
        'WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000\n\n00:00.000 --> 00:01.000\nHello\n',
      ),
    };
    const media = (type: string, name: string): string =>
      `#EXT-X-MEDIA:TYPE=${type},GROUP-ID="${type}-${name}",NAME="${name}",LANGUAGE="en",URI="${name}.m3u8"`;
    const folder = `/set-${++sets}`;
    for (const [file, body] of [...(made['ts'] ?? []), ...Object.entries(files)])
      host.put(`${folder}/${file}`, { body });
    const main =
      `#EXTM3U\n#EXT-X-VERSION:7\n${media('AUDIO', 'sound')}\n${media('SUBTITLES', 'text')}\n` +
      `${media('SUBTITLES', 'stamped')}\n#EXT-X-STREAM-INF:${GOOD},AUDIO="AUDIO-sound",` +
      `SUBTITLES="SUBTITLES-text"\nmedia.m3u8\n`;
    const report = await host.report(host.put(`${folder}/main.m3u8`, { body: main }), {
      measure: { probeCommand: FFPROBE },
    });
    const where = (code: string) =>
      report.messages.filter((message) => message.code === code).map(({ url }) => url.split('/').at(-1));
    assert.deepEqual([where('audio-timestamp'), where('webvtt-map')], [['sound.m3u8'], ['text.m3u8']]);
  });

  it('reports hevc-measured in a transport stream only', async () => {
    const encode = (...as: string[]): Buffer =>
      execFileSync(
        'ffmpeg',
        [
          '-v',
          'error',
          '-f',
          'lavfi',
          '-i',
          'testsrc2=size=160x90:rate=25:duration=1',
          '-c:v',
          'libx265',
          '-preset',
          'ultrafast',
          '-x265-params',
          'log-level=none',
          ...as,
          '-',
        ],
        { maxBuffer: 1 << 24 },
      );
    const report = (name: string, video: Buffer) => {
      const folder = `/set-${++sets}`;
      host.put(`${folder}/${name}`, { body: video });
      const body = `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n${name}\n#EXT-X-ENDLIST\n`;
      return host.report(host.put(`${folder}/media.m3u8`, { body }), { measure: { probeCommand: FFPROBE } });
    };
    const found = (of: HlsReport) => of.messages.filter(({ code }) => code === 'hevc-measured').length;
    assert.equal(found(await report('hevc.ts', encode('-f', 'mpegts'))), 1);
    assert.equal(
      found(await report('hevc.mp4', encode('-tag:v', 'hvc1', '-f', 'mp4', '-movflags', 'frag_keyframe+empty_moov'))),
      0,
    );
  });

  it('reports that it has no program to measure with', async () => {
    const report = await host.report(host.example({ 'media.m3u8': made['ts']?.get('media.m3u8')?.toString() ?? '' }), {
      measure: { probeCommand: undefined },
    });
    assert.ok(report.messages.some(({ code }) => code === 'measuring-impossible'));
  });

  it('stops at its limit of bytes, and reports it', async () => {
    const address = `${host.url}/set-1/media.m3u8`;
    const report = await host.report(address, { measure: { probeCommand: FFPROBE }, limits: { measuredBytes: 1 } });
    assert.ok(report.messages.some(({ code }) => code === 'measuring-cut'));
    assert.equal(report.summary.segments_measured, 1);
  });
});

describe('bit rates of variants', () => {
  it('a playlist that is a variant and a rendition of its own group counts once, and both places agree', async () => {
    const host = await new Host().start();
    try {
      for (const [name, bytes] of [
        ['video', 75_000],
        ['sound', 37_500],
      ] as const) {
        const body = `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n${name}.ts\n#EXT-X-ENDLIST\n`;
        host.put(`/${name}.m3u8`, { body });
        host.put(`/${name}.ts`, { body: Buffer.alloc(bytes) });
      }
      const body =
        '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",URI="sound.m3u8"\n' +
        '#EXT-X-STREAM-INF:BANDWIDTH=100000,AUDIO="a"\nvideo.m3u8\n' +
        '#EXT-X-STREAM-INF:BANDWIDTH=50000,AUDIO="a"\nsound.m3u8\n';
      const report = await host.report(host.put('/main.m3u8', { body }), { measure: { probeCommand: undefined } });
      assert.deepEqual(
        report.variants.map(({ measured }) => measured),
        [
          { peak: 150_000, average: 150_000 },
          { peak: 50_000, average: 50_000 },
        ],
      );
      const exceeded = report.messages.filter(({ code }) => code === 'bandwidth-exceeded');
      assert.deepEqual(
        exceeded.map(({ line }) => line),
        [4],
      );
      assert.match(exceeded[0]!.message, /150 kbit\/s/);
    } finally {
      host.stop();
    }
  });

  it('all segments are measured on request; where bytes end early, every playlist has its sample', async () => {
    const host = await new Host().start();
    try {
      const names = ['a', 'b', 'c'];
      for (const name of names) {
        const body = `#EXTM3U\n#EXT-X-TARGETDURATION:6\n${`#EXTINF:6,\n${name}.ts\n`.repeat(30)}#EXT-X-ENDLIST\n`;
        host.put(`/${name}.m3u8`, { body });
        host.put(`/${name}.ts`, { body: Buffer.alloc(1_000) });
      }
      const variants = names.map((name, index) => `#EXT-X-STREAM-INF:BANDWIDTH=${index + 1}000\n${name}.m3u8\n`);
      const address = host.put('/main.m3u8', { body: `#EXTM3U\n${variants.join('')}` });
      const counts = async (all: boolean, measuredBytes: number) => {
        const measure = { probeCommand: undefined, all };
        const report = await host.report(address, { measure, limits: { measuredBytes } });
        return {
          counts: report.playlists.slice(1).map(({ measured }) => measured?.segments ?? 0),
          cut: report.messages.some(({ code }) => code === 'measuring-cut'),
        };
      };
      assert.deepEqual(await counts(false, 1e9), { counts: [8, 8, 8], cut: false });
      assert.deepEqual(await counts(true, 1e9), { counts: [30, 30, 30], cut: false });
      const short = await counts(true, 60_000);
      assert.equal(short.cut, true);
      assert.ok(
        short.counts.every((count) => count >= 8),
        short.counts.join(),
      );
    } finally {
      host.stop();
    }
  });

  it('BANDWIDTH is not called too high as long as the sound is only sampled', async () => {
    const host = await new Host().start();
    try {
      const list = (name: string, count: number): string =>
        `#EXTM3U\n#EXT-X-TARGETDURATION:6\n${`#EXTINF:6,\n${name}.ts\n`.repeat(count)}#EXT-X-ENDLIST\n`;
      for (const [name, count] of [
        ['video', 2],
        ['sound', 4],
      ] as const) {
        host.put(`/${name}.m3u8`, { body: list(name, count) });
        host.put(`/${name}.ts`, { body: Buffer.alloc(7_500) });
      }
      const body =
        '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",URI="sound.m3u8"\n' +
        '#EXT-X-STREAM-INF:BANDWIDTH=100000,AUDIO="a"\nvideo.m3u8\n';
      const address = host.put('/main.m3u8', { body });
      for (const [segments, found] of [
        [2, false],
        [4, true],
      ] as const) {
        const report = await host.report(address, { measure: { probeCommand: undefined }, limits: { segments } });
        assert.equal(
          report.messages.some(({ code }) => code === 'bandwidth-unused'),
          found,
        );
      }
    } finally {
      host.stop();
    }
  });
});

describe('HLS: inline addresses', () => {
  it('have the bytes that they name, also those that are not ASCII', async () => {
    const origin = openOrigin('http://127.0.0.1/');
    const wanted = { maxBytes: 100 };
    const key = await origin.fetch('data:application/octet-stream,%00%FF%C3%A9', wanted);
    assert.deepEqual([key.error, key.bytes.toString('hex')], [undefined, '00ffc3a9']);
    const base64 = await origin.fetch('data:text/plain;base64,AP8=', wanted);
    assert.deepEqual([base64.error, base64.bytes.toString('hex')], [undefined, '00ff']);
    assert.equal((await origin.fetch('data:x', wanted)).error, 'not a valid data: address');
  });
});

describe('a segment whose number is its vector', () => {
  for (const [tags, number] of [
    [['#EXT-X-MEDIA-SEQUENCE:7'], 7n],
    [['#EXT-X-MEDIA-SEQUENCE:9000000000000000'], 9_000_000_000_000_000n],
    [['#EXT-X-MEDIA-SEQUENCE:1700000000000000001'], 1_700_000_000_000_000_001n],
    [[`#EXT-X-MEDIA-SEQUENCE:${2n ** 64n - 1n}`], 2n ** 64n - 1n],
    [['#EXT-X-MEDIA-SEQUENCE:7', '#EXT-X-SKIP:SKIPPED-SEGMENTS=3'], 10n],
    [['#EXT-X-MEDIA-SEQUENCE:7', '#EXT-X-SKIP:SKIPPED-SEGMENTS=0.5'], 7n],
    [['#EXT-X-MEDIA-SEQUENCE:7', '#EXT-X-SKIP:SKIPPED-SEGMENTS=-9'], 7n],
    [[`#EXT-X-MEDIA-SEQUENCE:${2n ** 64n + 4096n}`], 4096n],
    [
      [`#EXT-X-MEDIA-SEQUENCE:${'9'.repeat(308)}`, `#EXT-X-SKIP:SKIPPED-SEGMENTS=${'9'.repeat(308)}`],
      999_999_999_999_999n,
    ],
    [[`#EXT-X-MEDIA-SEQUENCE:${'9'.repeat(400)}`, '#EXT-X-SKIP:SKIPPED-SEGMENTS=1e400'], 1n],
    [['#EXT-X-MEDIA-SEQUENCE:-1', '#EXT-X-SKIP:SKIPPED-SEGMENTS=NaN'], 0n],
  ] as const) {
    it(`is decrypted, however large or wrong that is: ${tags.join(' ').slice(0, 80)}`, async () => {
      const media = Buffer.alloc(188, 0x47);
      const key = Buffer.alloc(16, 7);
      const vector = Buffer.alloc(16);
      vector.writeBigUInt64BE(number, 8);
      const cipher = createCipheriv('aes-128-cbc', key, vector);
      const bytes = Buffer.concat([cipher.update(media), cipher.final()]);
      const segment = ['#EXT-X-KEY:METHOD=AES-128,URI="key"', '#EXTINF:2,', 'a.ts', ''];
      const { rules, fetched } = await fetchOne([...tags, ...segment], (url) => ({
        status: 200,
        bytes: url.endsWith('key') ? key : bytes,
      }));
      assert.deepEqual(rules, []);
      assert.ok(fetched?.media?.equals(media));
    });
  }
});

describe('a key that is answered 416', () => {
  it('is noted as key-unreadable', async () => {
    const lines = ['#EXT-X-KEY:METHOD=AES-128,URI="key"', '#EXTINF:2,', 'a.ts', '#EXT-X-ENDLIST', ''];
    const { rules } = await fetchOne(lines, (url) =>
      url.endsWith('key')
        ? { status: 416, bytes: Buffer.alloc(0), error: 'status 416' }
        : { status: 200, bytes: Buffer.alloc(188) },
    );
    assert.deepEqual(rules, ['key-unreadable']);
  });
});

/** The first segment of a playlist, from an origin that answers so. */
async function fetchOne(
  lines: readonly string[],
  answer: (url: string) => { status: number; bytes: Buffer; error?: string },
): Promise<{ rules: string[]; fetched: FetchedSegment | undefined }> {
  const at = { url: 'https://media.example.com/a.m3u8', base: 'https://media.example.com/' };
  const [segment] = parsePlaylist(['#EXTM3U', ...lines].join('\n'), at, () => {}).segments;
  const rules: string[] = [];
  const origin = { fetch: (url: string) => Promise.resolve(answer(url)) };
  const fetched = await fetchSegment(segment!, {
    origin: origin as unknown as Reading['origin'],
    base: at.base,
    limits: LIMITS,
    note: (rule) => rules.push(rule),
    signal: new AbortController().signal,
    keys: new Map(),
    inits: new Map(),
  });
  return { rules, fetched };
}
