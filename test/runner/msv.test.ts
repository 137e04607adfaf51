import assert from 'node:assert/strict';
import type { AssignedTool } from '../../src/platform/bus/messages.ts';
import { builtInMsv } from '../../src/media/hls/built_in.ts';
import type { HlsReport } from '../../src/media/hls/schema.ts';
import { live, vod, aMain, aVariant } from '../hls/examples/playlists.ts';
import { msv } from '../../src/media/tools/msv.ts';
import { OptionError } from '../../src/media/tools/option.ts';
import { Rig, type Taken } from './agent_rig.ts';

describe('HLS validator in a runner', function () {
  this.timeout(60_000);
  const rig = new Rig();
  let asked: string[] = [];
  let files: Record<string, string> = {};
  before(async () => {
    await rig.start();
    await rig.newAgent();
    rig.serve = (request, response) => {
      asked.push(request.url ?? '');
      const body = files[(request.url ?? '').split('?')[0] ?? ''];
      if (body === undefined) response.writeHead(404).end('no');
      else response.writeHead(200, { 'content-type': 'application/vnd.apple.mpegurl' }).end(body);
    };
  });
  after(() => rig.stop());

  async function run(
    path: string,
    given: Record<string, string>,
    options: Record<string, string> = {},
    timeoutMs = 60_000,
  ): Promise<{ taken: Taken; result: Taken['body']['tools'][0]; report: HlsReport }> {
    [asked, files] = [[], given];
    const { version, command, uses } = builtInMsv([]);
    const tool: AssignedTool = { name: 'msv', version, timeoutMs, options, command, uses };
    const taken = await rig.run(rig.go([tool], { source: `${rig.originUrl}${path}`, remainingMs: 60_000 }));
    const result = taken.body.tools[0]!;
    return { taken, result, report: JSON.parse(result.output ?? 'null') as HlsReport };
  }

  it('validates the playlists as the origin serves them, under their own addresses', async () => {
    const { result, report, taken } = await run('/a/main.m3u8?sig=0123456789abcdef', {
      '/a/main.m3u8': aMain(aVariant({}, '../b/video.m3u8?t=secret0123456789')),
      '/b/video.m3u8': vod(),
    });
    assert.equal(result.success, true, result.error);
    assert.deepEqual(
      report.playlists.map(({ url }) => url),
      [`${rig.originUrl}/a/main.m3u8`, `${rig.originUrl}/b/video.m3u8?t=REDACTED`],
    );
    assert.equal(report.summary.must_fix, 0);
    assert.deepEqual(asked.sort(), ['/a/main.m3u8?sig=0123456789abcdef', '/b/video.m3u8?t=secret0123456789']);
    assert.ok(taken.body.ioUsage > 0);
    assert.doesNotMatch(result.output ?? '', /secret0123|0123456789abcdef|127\.0\.0\.1:\d+\/[0-9a-f]{32}/);
  });

  it('fails with its must-fix findings, and keeps its report', async () => {
    const { result, report } = await run(
      '/bad.m3u8',
      { '/bad.m3u8': vod('#EXTINF:9,', 'a.ts', '#EXTINF:9,', 'b.ts') },
      { enable_cli_output: 'true' },
    );
    assert.deepEqual([result.success, result.exitCode, result.failure], [false, 0, 'failed']);
    assert.match(
      result.error ?? '',
      /^2 must-fix: A segment, .* is longer than the target duration: 9 s, and the target is 6 s$/,
    );
    assert.deepEqual([report.success, report.error, report.messages[0]?.line], [false, result.error, 6]);
    assert.match(report.cli_output ?? '', /^probeyard-hls .*\n\nFAILED: 2 must fix/);
  });

  it('reads a parameter of its own query by name, and nothing else of it', async () => {
    const { report } = await run('/q.m3u8?token=abc&other=hidden', {
      '/q.m3u8': vod('#EXT-X-DEFINE:QUERYPARAM="token"', '#EXTINF:6,', '{$token}.ts').replace(
        'VERSION:9',
        'VERSION:11',
      ),
    });
    assert.deepEqual(
      report.messages.filter(({ level }) => level === 'must-fix'),
      [],
    );
  });

  it('runs in a pool whose tools have little memory', async () => {
    await rig.newAgent({ memoryBytes: 256 << 20 });
    try {
      const { result } = await run('/a.m3u8', { '/a.m3u8': vod() });
      assert.equal(result.success, true, result.error);
    } finally {
      await rig.newAgent();
    }
  });

  it('reports an origin that does not respond as the origin’s failure, without a report', async () => {
    const { result, taken } = await run('/gone.m3u8', {});
    assert.deepEqual([result.success, result.failure, result.output], [false, 'origin-unreachable', null]);
    assert.equal(taken.body.source?.failure, 'origin-unreachable');
  });

  it('reloads a live playlist', async () => {
    const { report } = await run(
      '/live.m3u8',
      { '/live.m3u8': live('#EXTINF:1,', 'a.ts').replace('DURATION:6', 'DURATION:1') },
      { parse_playlist_only: 'false' },
    );
    assert.equal(report.summary.reloads, 3);
    assert.equal(asked.filter((path) => path === '/live.m3u8').length, 4);
    assert.ok(report.messages.some(({ code }) => code === 'reload-stale'));
  });

  it('a playlist cannot make it connect to an address inside the network', async () => {
    const { report } = await run('/inside.m3u8', {
      '/inside.m3u8': aMain(aVariant({}, 'http://169.254.169.254/latest.m3u8')),
    });
    const [found] = report.messages.filter(({ code }) => code === 'playlist-unreadable');
    // The error of the guard, because an address that is merely unreachable here would be reachable elsewhere.
    assert.match(found?.message ?? '', /169\.254\.169\.254.*not allowed/);
  });

  it('has its options and no other', () => {
    assert.deepEqual(
      msv.args({ parse_playlist_only: 'false', enable_cli_output: 'true' }, 'http://h/', { wallMs: 10_000 }),
      ['--time-ms=8000', '--measure', '--text', 'http://h/'],
    );
    assert.deepEqual(msv.args({}, 'http://h/', { wallMs: 1_000 }), ['--time-ms=500', 'http://h/']);
    assert.deepEqual(msv.args({ measure_all_segments: 'true' }, 'http://h/', { wallMs: 1_000 }), [
      '--time-ms=500',
      '--measure-all',
      'http://h/',
    ]);
    assert.throws(() => msv.args({ ffprobe: '/bin/sh' }, 'http://h/'), OptionError);
  });

  it('has the command that runners know', () =>
    assert.deepEqual(builtInMsv([]).command, ['{node}', '--max-old-space-size=640', '{app}/hls/main.ts']));

  it('uses the newest ffprobe of the cluster', () => {
    const built = builtInMsv([
      { tool: 'ffprobe', version: '9.0', command: ['{root}/bin/ffprobe'] },
      { tool: 'ffprobe', version: '10.1', command: ['{root}/ld', '{root}/bin/ffprobe'] },
      { tool: 'mediainfo', version: '99', command: ['x'] },
    ]);
    assert.deepEqual(built.uses, ['ffprobe/10.1']);
    assert.equal(built.command.at(-1), '--ffprobe=["{tools}/ffprobe/10.1/ld","{tools}/ffprobe/10.1/bin/ffprobe"]');
  });
});
