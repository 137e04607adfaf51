/** The HLS validator beside the other tools of a file job: it runs only for HLS playlists, recognised by content. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AssignedTool, Assignment } from '../../src/platform/bus/messages.ts';
import { builtInMsv } from '../../src/media/hls/built_in.ts';
import { LIMITS } from '../../src/media/hls/limits.ts';
import type { HlsReport } from '../../src/media/hls/schema.ts';
import { aMain, aVariant, vod } from '../hls/examples/playlists.ts';
import { runJob } from '../../src/service/runner/job.ts';
import { Launcher } from '../../src/service/runner/launcher.ts';
import type { RawBody } from '../../src/service/runner/output.ts';
import { JobSource } from '../../src/service/runner/source.ts';
import { sampleWav } from '../../src/service/runner/verify_sample.ts';
import { parseSource } from '../../src/source/address/parse.ts';
import { startProxy, type SourceProxy } from '../../src/source/proxy.ts';
import { startLauncher, type LauncherProcess } from './built_launcher.ts';

interface File {
  body: string | Buffer;
  type: string;
}

describe('HLS validator in a file job', function () {
  this.timeout(90_000);
  const directory = mkdtempSync(join(tmpdir(), 'probeyard-msv-'));
  let asked: { path: string; authorization: string | undefined }[] = [];
  let files: Record<string, File> = {};
  const origin = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push({ path, authorization: request.headers.authorization });
    const file = files[path];
    if (!file) response.writeHead(404).end('no');
    else response.writeHead(200, { 'content-type': file.type }).end(file.body);
  });
  let host = '';
  let launcherProcess: LauncherProcess;
  let launcher: Launcher;
  let proxy: SourceProxy;
  before(async () => {
    chmodSync(directory, 0o755);
    origin.listen(0, '127.0.0.1');
    await once(origin, 'listening');
    host = `127.0.0.1:${(origin.address() as AddressInfo).port}`;
    launcherProcess = await startLauncher();
    launcher = new Launcher(launcherProcess.socket, { cleanMs: 3_000 });
    proxy = await startProxy({ allow: [{ cidr: '127.0.0.1/32' }] });
    await launcher.whenConnected(5_000);
  });
  after(async () => {
    launcher?.close();
    await proxy?.close();
    await launcherProcess?.stop();
    origin.closeAllConnections();
    origin.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const validator = (options: Record<string, string> = {}): AssignedTool => {
    const { version, command, uses } = builtInMsv([]);
    return { name: 'msv', version, timeoutMs: 60_000, options, command, uses };
  };
  let scripts = 0;
  /** Another tool of the job: a shell script with the address as its last argument. */
  const script = (text: string): AssignedTool => {
    const path = join(directory, `tool-${++scripts}`);
    writeFileSync(path, `#!/bin/bash\nfor address; do :; done\n${text}\n`, { mode: 0o755 });
    return { name: 'ffprobe', version: '7.1', timeoutMs: 60_000, options: {}, command: [path] };
  };
  const reads = (): AssignedTool => script('/usr/bin/curl -sf -o /dev/null "$address"; echo "{}"');

  async function run(path: string, given: Record<string, File>, tools: AssignedTool[], kind: 'file' | 'msv' = 'file') {
    [asked, files] = [[], given];
    const assignment: Assignment = {
      kind,
      source: parseSource(`http://${path}`),
      tools,
      timeoutMs: 60_000,
      maxBytes: 1e10,
      allow: [],
      report: { enabled: false, diff: false, prefer: null },
    };
    const source = new JobSource(proxy, assignment);
    try {
      const settings = { toolsDir: directory, nodePath: process.execPath, outputBytes: 8 << 20, memoryBytes: 2 ** 30 };
      const { signal } = new AbortController();
      return await runJob({ assignment, remainingMs: 60_000, launcher, source, settings, signal });
    } finally {
      source.close();
    }
  }
  const named = ({ tools }: RawBody, name: string) => tools.find((tool) => tool.name === name);
  const reportOf = (ran: RawBody): HlsReport => {
    const { output, error } = named(ran, 'msv') ?? {};
    assert.ok(output, error);
    return JSON.parse(output.toString()) as HlsReport;
  };

  const HLS = 'application/vnd.apple.mpegurl';
  const MPD = '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period></Period></MPD>';

  it('runs for a playlist with another name and type', async () => {
    const given = { '/film.mp4': { body: vod(), type: 'video/mp4' } };
    const taken = await run(`${host}/film.mp4`, given, [reads(), validator({ enable_cli_output: 'true' })]);
    assert.equal(taken.skipped, undefined);
    assert.equal(named(taken, 'ffprobe')?.success, true);
    const report = reportOf(taken);
    assert.equal(report.summary.playlists, 1);
    assert.match(report.cli_output ?? '', /^probeyard-hls /);
  });

  const others: [string, string, File][] = [
    ['a file with the name and the type of a playlist', '/a.m3u8', { body: sampleWav(), type: HLS }],
    ['a DASH manifest', '/a.mpd', { body: MPD, type: 'application/dash+xml' }],
    ['an empty file', '/empty.m3u8', { body: '', type: HLS }],
    ['a page that mentions playlists', '/page.m3u8', { body: '<html>#EXTM3U</html>', type: 'text/html' }],
  ];
  for (const [what, path, file] of others)
    it(`is skipped for ${what}`, async () => {
      const taken = await run(`${host}${path}`, { [path]: file }, [reads(), validator()]);
      assert.deepEqual(taken.skipped, ['msv']);
      assert.deepEqual(
        taken.tools.map(({ name, success }) => [name, success]),
        [['ffprobe', true]],
      );
    });

  it('is skipped if the origin cannot be read, which is the failure of the other tool', async () => {
    const failing = script('/usr/bin/curl -sf -o /dev/null "$address" || { echo "answered 404" >&2; exit 1; }');
    const taken = await run(`${host}/gone.m3u8`, {}, [failing, validator()]);
    assert.deepEqual(taken.skipped, ['msv']);
    assert.equal(named(taken, 'ffprobe')?.failure, 'origin-unreachable');
  });

  it('runs on any source if no other tool runs', async () => {
    const taken = await run(`${host}/a.wav`, { '/a.wav': { body: sampleWav(), type: 'audio/wav' } }, [validator()]);
    assert.equal(taken.skipped, undefined);
    assert.match(named(taken, 'msv')?.error ?? '', /^\d must-fix: /);
  });

  it("does not let a file's tools read its neighbours with its credentials", async () => {
    const given = {
      '/a.wav': { body: sampleWav(), type: 'audio/wav' },
      '/other.wav': { body: sampleWav(), type: 'audio/wav' },
    };
    const curious = script('/usr/bin/curl -s -o /dev/null "${address%/*}/other.wav"; echo "{}"');
    await run(`me:pa55word@${host}/a.wav`, given, [curious, validator()]);
    const of = (path: string) => asked.filter((one) => one.path === path).map(({ authorization }) => authorization);
    assert.ok(of('/a.wav').every((authorization) => authorization !== undefined));
    assert.deepEqual([...new Set(of('/other.wav'))], [undefined]);
  });

  it('a playlist that names 10,000 others costs the same as at the validator endpoint', async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => aVariant({}, `v${index}.m3u8`));
    const given: Record<string, File> = { '/main.m3u8': { body: aMain(...many), type: HLS } };
    for (let index = 0; index < 10_000; index++) given[`/v${index}.m3u8`] = { body: vod(), type: HLS };
    const alone = await run(`${host}/main.m3u8`, given, [validator()], 'msv');
    reportOf(alone);
    const parts = () => new Set(asked.map(({ path }) => path)).size - 1;
    assert.equal(parts(), LIMITS.playlists);
    const beside = await run(`${host}/main.m3u8`, given, [reads(), validator()]);
    assert.equal(parts(), LIMITS.playlists);
    assert.deepEqual(reportOf(beside).summary, reportOf(alone).summary);
    assert.equal(named(beside, 'ffprobe')?.success, true);
  });

  it('stops at a quarter of a playlist made to exhaust the memory, and reports it', async () => {
    const body = `${vod().replace('#EXT-X-ENDLIST', '')}${'#EXTINF:6,\ns.ts\n'.repeat(1_000_000)}`;
    const slow = script('sleep 1; echo "{}"');
    const taken = await run(`${host}/long.m3u8`, { '/long.m3u8': { body, type: HLS } }, [slow, validator()]);
    assert.equal(named(taken, 'ffprobe')?.success, true);
    const { messages } = reportOf(taken);
    assert.match(
      messages.find(({ code }) => code === 'analysis-cut')?.message ?? '',
      /the first 600000 lines were read/,
    );
  });
});
