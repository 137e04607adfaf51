import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HlsReport } from '../../src/media/hls/schema.ts';
import { aMain, aVariant, vod } from '../hls/examples/playlists.ts';
import { HLS_VERSION, REFERENCE_VERSION } from '../../src/media/hls/built_in.ts';
import { cluster, fixtures, type Cluster, eventually, jobOf, stateOf } from './fixture.ts';

const PATH = '/v1/probe/mediastreamvalidator';

describe('HLS validator on the cluster', function () {
  this.timeout(120_000);
  let c: Cluster;
  let origin: string;
  const files: Record<string, string | Buffer> = {
    '/good.m3u8': vod(),
    '/bad.m3u8': vod('#EXTINF:9,', 'a.ts'),
    '/main.m3u8': aMain(aVariant({}, 'good.m3u8')),
    // A complete MP4 serves as init section and segment, because ffprobe reads it from its standard input.
    '/measured.m3u8': vod('#EXTINF:6,', 'tiny.mp4'),
    '/tiny.mp4': readFileSync(join(fixtures, 'tiny.mp4')),
  };
  before(async () => {
    c = await cluster();
    ({ url: origin } = await c.origin((request, response) => {
      const body = files[(request.url ?? '').split('?')[0] ?? ''];
      if (body === undefined) response.writeHead(404).end('not here');
      else response.writeHead(200, { 'content-type': 'application/vnd.apple.mpegurl' }).end(body);
    }));
  });
  after(() => c.close());

  it('returns its bare report', async () => {
    const { status, json, text } = await c.probe({ url: `${origin}/main.m3u8` }, { path: PATH });
    assert.equal(status, 200, text);
    const report = json as unknown as HlsReport;
    assert.deepEqual(
      [report.success, report.tool, report.version, report.reference_version, report.cli_output],
      [true, 'probeyard-hls', HLS_VERSION, REFERENCE_VERSION, null],
    );
    assert.deepEqual(
      report.playlists.map(({ url }) => url),
      [`${origin}/main.m3u8`, `${origin}/good.m3u8`],
    );
  });

  it('reports must-fix findings with status 200, in every form of the response', async () => {
    const body = { url: `${origin}/bad.m3u8`, enable_cli_output: true };
    const bare = await c.probe(body, { path: PATH });
    assert.deepEqual([bare.status, bare.json.success], [200, false]);
    assert.match(bare.json.error ?? '', /^1 must-fix: A segment, rounded to the nearest second, is longer/);
    const object = await c.probe({ ...body, inject_output: false }, { path: PATH });
    assert.deepEqual([object.status, object.json.success, object.json.error], [200, false, bare.json.error]);
    assert.equal((object.json['output'] as HlsReport).messages[0]?.code, 'extinf-over-target');
    assert.match(String(object.json['cli_output']), /^probeyard-hls /);
    const string = await c.probe({ ...body, inject_output: false, inject_json: false }, { path: PATH });
    assert.equal((JSON.parse(String(string.json['output'])) as HlsReport).success, false);
  });

  it('measures segments with the newest ffprobe of the cluster', async () => {
    const { status, json, text } = await c.probe(
      { url: `${origin}/measured.m3u8`, parse_playlist_only: false },
      { path: PATH },
    );
    assert.equal(status, 200, text);
    const report = json as unknown as HlsReport;
    assert.equal(
      report.messages.some(({ code }) => code === 'measuring-impossible'),
      false,
    );
    assert.deepEqual(
      report.playlists[0]?.measured?.streams.map(({ type }) => type).sort(),
      ['audio', 'video'],
      JSON.stringify(report.messages),
    );
  });

  it('a source that does not exist is 404', async () => {
    const { status, json } = await c.probe({ url: `${origin}/gone.m3u8` }, { path: PATH });
    assert.deepEqual([status, typeof json.error], [404, 'string']);
  });

  it('runs in the pool of long jobs, and kubectl shows it', async () => {
    const { headers } = await c.probe({ url: `${origin}/good.m3u8` }, { path: PATH });
    const job = await eventually('the finished job', 20, async () => {
      const found = await jobOf(c.kube, headers.get('x-request-id') ?? '');
      return stateOf(found) === 'Completed' ? found : undefined;
    });
    assert.deepEqual(
      job.status?.tools?.map(({ name, version, success }) => [name, version, success]),
      [['msv', HLS_VERSION, true]],
    );
    assert.match(job.status?.runner?.pod ?? '', /^runner-long-/);
  });
});
