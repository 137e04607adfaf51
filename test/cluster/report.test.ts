import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ProbeReport } from '../../src/media/report/schema.ts';
import { sampleOf } from '../c2pa/samples.ts';
import { sendFile } from '../source/origin.ts';
import { cluster, fixtures, type Cluster, type Envelope } from './fixture.ts';

interface Part {
  success: boolean;
  error?: string;
  duration: number;
  usage: number;
  response: ProbeReport;
}
const reportIn = (json: Envelope): Part => json['probe_report'] as Part;
const toolsIn = (json: Envelope): string[] => ['ffprobe', 'mediainfo', 'probe_report'].filter((name) => name in json);
const typesOf = ({ streams }: ProbeReport): string[] => streams.map((stream) => (stream as { type: string }).type);

/** Two variants of one picture, the larger one first. */
function playlistFiles(): Record<string, Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-report-'));
  try {
    const files: Record<string, Buffer> = {
      '/main.m3u8': Buffer.from(
        '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=300000,RESOLUTION=160x90\nlarge.m3u8\n' +
          '#EXT-X-STREAM-INF:BANDWIDTH=100000,RESOLUTION=64x36\nsmall.m3u8\n',
      ),
    };
    for (const [name, size] of [
      ['large', '160x90'],
      ['small', '64x36'],
    ] as const) {
      execFileSync(
        'ffmpeg',
        [
          '-v',
          'error',
          '-f',
          'lavfi',
          '-i',
          `testsrc2=size=${size}:rate=25:duration=2`,
          '-c:v',
          'libx264',
          '-preset',
          'ultrafast',
          '-f',
          'mpegts',
          `${name}.ts`,
        ],
        { cwd: folder },
      );
      files[`/${name}.ts`] = readFileSync(join(folder, `${name}.ts`));
      files[`/${name}.m3u8`] = Buffer.from(
        `#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n${name}.ts\n#EXT-X-ENDLIST\n`,
      );
    }
    return files;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('probe_report on the cluster', function () {
  this.timeout(120_000);
  const hasFfmpeg = spawnSync('ffmpeg', ['-version']).status === 0;
  let c: Cluster;
  let origin: string;
  before(async () => {
    c = await cluster();
    const files: Record<string, Buffer> = {
      '/tiny.mp4': readFileSync(join(fixtures, 'tiny.mp4')),
      '/tiny.mkv': readFileSync(join(fixtures, 'tiny.mp4')),
      '/sound.wav': sampleOf('WAV').bytes,
      '/picture.png': sampleOf('PNG').bytes,
      '/noise.bin': Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 7919 + (index >> 3) * 31) & 255)),
      ...(hasFfmpeg ? playlistFiles() : {}),
    };
    origin = (
      await c.origin((request, response) => {
        const path = (request.url ?? '').split('?')[0] ?? '';
        const file = files[path];
        if (file)
          sendFile(
            file,
            request,
            response,
            path.endsWith('.m3u8') ? { 'content-type': 'application/vnd.apple.mpegurl' } : {},
          );
        else response.writeHead(404).end('not here');
      })
    ).url;
  });
  after(() => c.close());

  it('alone: both tools run for it and are not returned, and their time is its usage', async () => {
    const { status, json, text } = await c.probe({ url: `${origin}/tiny.mp4`, only: 'probe_report' });
    assert.equal(status, 200, text);
    assert.deepEqual(toolsIn(json), ['probe_report']);
    const { success, usage, response } = reportIn(json);
    assert.ok(success && usage > 0);
    assert.deepEqual(typesOf(response).sort(), ['audio', 'video']);
    assert.ok(!response.warnings.some(({ code }) => code === 'single-source'), 'from both');
    const bare = await c.probe({ url: `${origin}/tiny.mp4`, only: 'probe_report', inject_output: true });
    assert.deepEqual(bare.json, response);
    const disabled = await c.probe({
      url: `${origin}/tiny.mp4`,
      ffprobe: { enabled: false },
      mediainfo: { enabled: false },
    });
    assert.deepEqual(toolsIn(disabled.json), ['probe_report']);
    assert.deepEqual(reportIn(disabled.json).response, response);
  });

  it('beside the tools: it adds no usage, and the response has all three', async () => {
    const { json } = await c.probe({ url: `${origin}/tiny.mp4`, inject_json: true });
    assert.equal(reportIn(json).usage, 0);
    assert.deepEqual(
      (json['ffprobe'] as { response: { probe_report: ProbeReport } }).response.probe_report,
      reportIn(json).response,
    );
  });

  it('prefer decides every field, and diff=false omits the list', async () => {
    for (const prefer of ['ffprobe', 'mediainfo'] as const) {
      const { response } = reportIn((await c.probe({ url: `${origin}/tiny.mp4`, probe_report: { prefer } })).json);
      assert.ok(
        (response.diff ?? []).every(({ chosen }) => chosen === prefer),
        JSON.stringify(response.diff),
      );
      assert.ok(response.diff !== undefined);
    }
    assert.ok(
      !(
        'diff' in reportIn((await c.probe({ url: `${origin}/tiny.mp4`, probe_report: { diff: false } })).json).response
      ),
    );
  });

  it('works with either tool alone, with a warning', async () => {
    for (const missing of ['ffprobe', 'mediainfo']) {
      const { response, success } = reportIn(
        (await c.probe({ url: `${origin}/tiny.mp4`, [missing]: { enabled: false } })).json,
      );
      assert.ok(success);
      assert.deepEqual(
        response.warnings.map(({ code }) => code).filter((code) => code === 'single-source'),
        ['single-source'],
        missing,
      );
      assert.equal((response['codec'] as { name: string }).name, 'h264');
    }
  });

  it('fails with a clear error for a file that is not media', async () => {
    const { status, json, text } = await c.probe({ url: `${origin}/noise.bin`, only: 'probe_report' });
    const { success, error } = reportIn(json);
    assert.deepEqual([status, json.success, success], [200, false, false], text);
    assert.match(error ?? '', /\S/);
  });

  it('has flat fields for a picture, and none for audio', async () => {
    const sound = reportIn((await c.probe({ url: `${origin}/sound.wav` })).json).response;
    assert.deepEqual([typesOf(sound), 'size' in sound, 'codec' in sound], [['audio'], false, false]);
    const picture = reportIn((await c.probe({ url: `${origin}/picture.png` })).json).response;
    assert.equal((picture['codec'] as { name: string }).name, 'png');
    assert.ok((picture['size'] as { width: number }).width > 0);
  });

  it('warns of a file name that does not match', async () => {
    const { response } = reportIn((await c.probe({ url: `${origin}/tiny.mkv?token=1` })).json);
    assert.ok(response.warnings.some(({ code }) => code === 'extension-mismatch'));
  });

  it('describes the first variant of a playlist', async function () {
    if (!hasFfmpeg) {
      console.log('      skipped: there is no ffmpeg on this machine to make segments with');
      this.skip();
    }
    const { json, text } = await c.probe({ url: `${origin}/main.m3u8`, only: 'probe_report' });
    const { response, success } = reportIn(json);
    assert.ok(success, text);
    assert.deepEqual((response.container as { format?: string }).format, 'hls');
    assert.deepEqual((response['size'] as { width: number; height: number }).width, 160, text);
  });
});
