import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSource } from '../../src/source/address/parse.ts';
import type { Job } from '../../src/source/job.ts';
import { startProxy } from '../../src/source/proxy.ts';
import { Cleanup, sendFile, startOrigin, type Origin } from './origin.ts';

/** The tools themselves, direct and through the proxy, must print the same. */

const missing = ['ffmpeg', 'ffprobe', 'mediainfo'].filter((tool) => spawnSync(tool, ['-version']).error !== undefined);
const cleanup = new Cleanup();

function run(tool: string, args: string[], environment: Record<string, string> = {}): Promise<string> {
  return new Promise((resolve) => {
    // A failing tool has printed what it knows.
    execFile(
      tool,
      args,
      { env: { ...process.env, ...environment }, timeout: 30_000, maxBuffer: 16 << 20 },
      (_error, stdout) => resolve(stdout),
    );
  });
}
const arguments_: Record<string, string[]> = {
  ffprobe: ['-v', 'quiet', '-of', 'json', '-show_format', '-show_streams', '-show_error'],
  mediainfo: ['--Output=JSON', '--Language=raw'],
};

describe('source proxy: ffprobe and mediainfo', function () {
  this.timeout(60_000);
  let folder = '';
  let origin: Origin;
  const touched: string[] = [];

  before(async function () {
    if (missing.length > 0) {
      console.log(`      skipped: not on this machine: ${missing.join(', ')}`);
      this.skip();
    }
    folder = mkdtempSync(join(tmpdir(), 'source-tools-'));
    const ffmpeg = (...args: string[]): void =>
      void execFileSync('ffmpeg', ['-v', 'error', '-y', ...args], { cwd: folder });
    for (const name of ['hls', 'enc', 'dash']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'enc/key.bin'), '0123456789abcdef');
    writeFileSync(join(folder, 'keys'), 'key.bin\nenc/key.bin\n00000000000000000000000000000001\n');
    ffmpeg(
      '-f',
      'lavfi',
      '-i',
      'testsrc2=size=160x120:rate=25:duration=6',
      '-f',
      'lavfi',
      '-i',
      'sine=duration=6',
      '-c:v',
      'libx264',
      '-preset',
      'ultrafast',
      '-g',
      '50',
      '-c:a',
      'aac',
      '-threads',
      '1',
      'last.mp4',
    );
    for (const [name, options] of Object.entries({
      'first.mp4': ['-movflags', '+faststart'],
      'fragmented.mp4': ['-movflags', 'frag_keyframe+empty_moov'],
      'a.mkv': [],
      'a.ts': [],
    }))
      ffmpeg('-i', 'last.mp4', '-c', 'copy', ...options, name);
    ffmpeg(
      '-i',
      'last.mp4',
      '-c',
      'copy',
      '-hls_time',
      '2',
      '-hls_list_size',
      '0',
      '-master_pl_name',
      'master.m3u8',
      '-hls_segment_filename',
      'hls/s%d.ts',
      'hls/list.m3u8',
    );
    ffmpeg(
      '-i',
      'last.mp4',
      '-c',
      'copy',
      '-hls_time',
      '2',
      '-hls_list_size',
      '0',
      '-hls_key_info_file',
      'keys',
      '-hls_segment_filename',
      'enc/s%d.ts',
      'enc/list.m3u8',
    );
    ffmpeg('-i', 'last.mp4', '-c', 'copy', '-f', 'dash', '-seg_duration', '2', 'dash/m.mpd');
    origin = await startOrigin((request, response, url) => {
      const path = url.split('?')[0]!;
      touched.push(path);
      const name = path.replace(/^\/(?:absolute|root|redirected)\//, '/');
      const file = join(folder, name);
      if (path.startsWith('/moved/')) {
        response.writeHead(302, { location: path.replace('/moved/', '/'), 'content-length': 0 }).end();
        return;
      }
      if (!existsSync(file)) {
        response.writeHead(404, { 'content-length': 0 }).end();
        return;
      }
      let body = readFileSync(file);
      if (path.startsWith('/absolute/'))
        body = Buffer.from(
          body
            .toString('latin1')
            .replace(/^[^#\s].*$/gm, (line) => `${origin.url}${name.replace(/[^/]*$/, '')}${line}`),
          'latin1',
        );
      sendFile(body, request, response);
    });
  });
  afterEach(() => cleanup.run());
  after(async () => {
    await origin?.close();
    if (folder !== '') rmSync(folder, { recursive: true });
  });

  async function open(path: string): Promise<Job> {
    const proxy = cleanup.add(await startProxy({ allow: [{ cidr: '127.0.0.1/32', port: origin.port }] }));
    return cleanup.add(proxy.open({ source: parseSource(origin.url + path), limits: { maxBytes: 1e10 } }));
  }
  const through = (job: Job, tool: string): Promise<string> =>
    run(tool, [...arguments_[tool]!, job.address(tool)], job.environment(tool));

  for (const path of [
    '/first.mp4',
    '/last.mp4',
    '/fragmented.mp4',
    '/a.mkv',
    '/a.ts',
    '/hls/list.m3u8',
    '/hls/master.m3u8',
    '/enc/list.m3u8',
    '/dash/m.mpd',
    '/nothing.mp4',
  ]) {
    it(`print the same for ${path} as without the proxy`, async () => {
      const job = await open(path);
      void job.prepare();
      const tools = Object.keys(arguments_);
      const [bare, proxied] = [
        await Promise.all(tools.map((tool) => run(tool, [...arguments_[tool]!, origin.url + path]))),
        await Promise.all(tools.map((tool) => through(job, tool))),
      ];
      tools.forEach((tool, i) => assert.equal(job.redact(proxied[i]!), bare[i], tool));
    });
  }

  it('both follow absolute addresses in a playlist', async () => {
    const job = await open('/absolute/hls/master.m3u8');
    const ffprobe = JSON.parse(job.redact(await through(job, 'ffprobe'))) as {
      streams: unknown[];
      format: { filename: string };
    };
    assert.equal(ffprobe.streams.length, 2);
    assert.equal(ffprobe.format.filename, `${origin.url}/absolute/hls/master.m3u8`);
    const mediainfo = job.redact(await through(job, 'mediainfo'));
    assert.match(mediainfo, /"@type": ?"Video"/);
    assert.ok(!mediainfo.includes('x/http'), mediainfo);
  });

  it('both follow a redirected playlist and manifest', async () => {
    for (const path of ['/moved/hls/list.m3u8', '/moved/enc/list.m3u8', '/moved/dash/m.mpd']) {
      touched.length = 0;
      const job = await open(path);
      const { streams } = JSON.parse(await through(job, 'ffprobe')) as { streams: unknown[] };
      assert.equal(streams.length, 2, path);
      assert.deepEqual(
        touched.filter((asked) => asked.startsWith('/moved/')),
        [path],
        'what it points at is asked for where it is',
      );
    }
  });
});
