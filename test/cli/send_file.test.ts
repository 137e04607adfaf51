/** Files of this machine and stdin, sent by `probeyard` to a real installation. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, request, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../until.ts';
import { execute, MOST_FILE_BYTES, startInstallation, type Installation } from './rig.ts';
import { readXml } from './xml.ts';

const root = join(import.meta.dirname, '../..');
const MAIN = join(root, 'src/cli/main.ts');
const H264 = 'rules:\n  - { name: codec, each: video, field: codec.name, is: h264 }\n';
const PLAYLIST = '#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:4,\na.ts\n#EXT-X-ENDLIST\n';

describe('probeyard with a file', function () {
  this.timeout(180_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-files-'));
  const at = (name: string): string => join(folder, name);
  const film = at('film.mp4');
  let here: Installation;
  before(async function () {
    copyFileSync(join(root, 'test/fixtures/tiny.mp4'), film);
    writeFileSync(at('h264.yaml'), H264);
    here = await startInstallation(
      [
        { tool: 'ffprobe', version: '7.1', latest: true },
        { tool: 'mediainfo', version: '26.10', latest: true },
      ],
      this,
    );
  });
  after(async () => {
    await here?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => until('no file is left', () => here.uploads().files === 0, 20_000));

  /** A server between the command line and whatever answers. */
  async function listening(listener: RequestListener): Promise<{ env: NodeJS.ProcessEnv; close(): void }> {
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {
      env: { PROBEYARD_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
      close() {
        server.close();
        server.closeAllConnections();
      },
    };
  }

  it('probe: says of a file what it says of its address', async () => {
    const { url } = await here.origin(folder);
    const done = await here.probeyard(['probe', film, `${url}/film.mp4`, '-o', 'json']);
    assert.equal(done.code, 0, done.stderr);
    const [sent, read] = JSON.parse(done.stdout.toString());
    assert.deepEqual([sent.file, read.url], [film, `${url}/film.mp4`]);
    assert.deepEqual(sent.ffprobe.response.streams, read.ffprobe.response.streams);
    assert.deepEqual(sent.probe_report.response.streams, read.probe_report.response.streams);
    const table = (await here.probeyard(['probe', film])).stdout.toString();
    assert.ok(table.startsWith(`${film}\nMP4, 2.00 s, `), table);
  });

  it('probe: reads stdin, whether its size is known or not', async () => {
    const fromPipe = await here.probeyard(['probe', '-'], { input: readFileSync(film) });
    assert.match(fromPipe.stdout.toString(), /^stdin\nMP4, 2\.00 s, /, fromPipe.stderr);
    const command = `"${process.execPath}" "${MAIN}" probe - <"${film}"`;
    const fromFile = await here.probeyard([], { program: ['bash', '-c', command] });
    assert.match(fromFile.stdout.toString(), /^stdin\nMP4, 2\.00 s, /, fromFile.stderr);
    const substituted = `"${process.execPath}" "${MAIN}" probe <(cat "${film}") --only ffprobe`;
    assert.equal((await here.probeyard([], { program: ['bash', '-c', substituted] })).code, 0);
  });

  it('a name with quotes, line breaks and other letters is sent whole', async () => {
    const odd = at('é "x"; filename=\'y\'\n%41?.mp4');
    copyFileSync(film, odd);
    const done = await here.probeyard(['probe', odd, '--only', 'ffprobe', '-o', 'json']);
    assert.equal(done.code, 0, done.stderr);
    const { log } = JSON.parse((await here.probeyard(['log', '--limit', '1', '-o', 'json'])).stdout.toString());
    assert.match(decodeURIComponent(log[0].url), /^upload:\/\/\/é %22x%22; filename='y'%0A%41\?\.mp4$/);
  });

  it('fields of options are sent with their types', async () => {
    const options = ['--only', 'ffprobe', '--set', 'ffprobe.show_streams=false', '--set', 'ffprobe.probesize=100000'];
    const done = await here.probeyard(['probe', film, ...options, '--timeout', '20s', '-o', 'json']);
    assert.equal(done.code, 0, done.stderr);
    const { ffprobe } = JSON.parse(done.stdout.toString());
    assert.ok(ffprobe.response.format && !ffprobe.response.streams);
    const wrong = await here.probeyard(['probe', film, '--set', 'ffprobe.show_frame=true']);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /ffprobe\.show_frame: is unknown; did you mean show_frames\?/);
  });

  it('check: judges files by a policy in a file, and names them by their paths', async () => {
    const report = at('report.xml');
    const broken = at('broken.mp4');
    writeFileSync(broken, 'these are no media');
    const done = await here.probeyard(['check', film, broken, '-p', at('h264.yaml'), '--report', `junit=${report}`]);
    assert.equal(done.code, 3, done.stderr);
    assert.ok(done.stdout.toString().includes(`${film}\npass ${at('h264.yaml')}: 1 of 1 rule passed\n`));
    const { elements } = readXml(readFileSync(report, 'utf8'));
    assert.deepEqual(
      elements.filter(({ name }) => name === 'testsuite').map(({ attributes }) => attributes['name']),
      [film, broken],
    );
  });

  it('diff: of a file and a request', async () => {
    const { stdout } = await here.probeyard(['probe', film, '-o', 'json']);
    const { metadata } = JSON.parse(stdout.toString());
    const done = await here.probeyard(['diff', metadata.request_id, film]);
    assert.match(done.stdout.toString(), /^no field differs$/m, done.stderr);
  });

  it('hls: judges the text of a playlist', async () => {
    const playlist = at('main.m3u8');
    writeFileSync(playlist, PLAYLIST);
    const done = await here.probeyard(['hls', playlist]);
    assert.equal(done.code, 1, done.stderr);
    assert.match(done.stdout.toString(), /^must-fix +\S+ +main\.m3u8:\d+$/m);
    const relative = (
      await here.probeyard([], {
        program: ['bash', '-c', `cd "${folder}" && "${process.execPath}" "${MAIN}" hls main.m3u8 -o sarif`],
      })
    ).stdout.toString();
    assert.deepEqual(JSON.parse(relative).runs[0].results[0].locations[0].physicalLocation, {
      artifactLocation: { uri: 'main.m3u8' },
      region: { startLine: 3 },
    });
    const json = JSON.parse((await here.probeyard(['hls', playlist, '-o', 'json'])).stdout.toString());
    assert.deepEqual([json.output.summary.playlists, typeof json.metadata.usage], [1, 'number']);
    const measured = await here.probeyard(['hls', playlist, '--segments']);
    assert.deepEqual([measured.code, measured.stdout.toString()], [2, '']);
    assert.match(measured.stderr, /segments are read from addresses/);
  });

  it('a file that is missing, a folder and a second stdin are mistakes of the command', async () => {
    mkdirSync(at('folder'), { recursive: true });
    for (const [args, message] of [
      [['probe', at('none.mp4')], /none\.mp4: there is no such file\n {2}an address begins with its scheme/],
      [['check', film, at('none.mp4'), '-p', at('h264.yaml')], /none\.mp4: there is no such file/],
      [['probe', at('folder')], /folder: is a folder/],
      [['probe', '-', '-'], /stdin can be read once/],
      [['compare', film, '--ffprobe', '4.4,9.0'], /film\.mp4: is not an address/],
    ] as const) {
      const done = await here.probeyard(args);
      assert.deepEqual([done.code, done.stdout.toString()], [2, ''], done.stderr);
      assert.match(done.stderr, message);
    }
    writeFileSync(at('empty.mp4'), '');
    assert.match((await here.probeyard(['probe', at('empty.mp4')])).stderr, /^probeyard: file: is empty\n$/);
  });

  it('an answer that comes before the file is sent is shown', async () => {
    const large = at('large.mp4');
    writeFileSync(large, '');
    truncateSync(large, MOST_FILE_BYTES - 1_000);
    const input = Buffer.alloc(MOST_FILE_BYTES + (8 << 20));
    // Where the connection ends while the rest is on its way depends on time.
    for (let run = 0; run < 4; run++) {
      const refused = await here.probeyard(['probe', large], { env: { PROBEYARD_TOKEN: 'x'.repeat(64) } });
      assert.match(refused.stderr, /^probeyard: .*not valid or has expired\n/);
      const tooLarge = await here.probeyard(['probe', '-'], { input });
      assert.deepEqual([tooLarge.code, tooLarge.stdout.toString()], [2, ''], tooLarge.stderr);
      assert.match(tooLarge.stderr, /^probeyard: file: must have at most \d+ bytes\n$/);
    }
    truncateSync(large, MOST_FILE_BYTES + (8 << 20));
    assert.match((await here.probeyard(['probe', large])).stderr, /^probeyard: file: must have at most \d+ bytes\n$/);
  });

  it('503 with Retry-After: a file is sent again, stdin cannot be', async () => {
    let refusals = 1;
    const between = await listening((incoming, outgoing) => {
      if (refusals-- > 0) {
        outgoing.writeHead(503, { 'Retry-After': '1', Connection: 'close' }).end('{"error":"there is no room"}');
        return;
      }
      const { method, headers, url = '' } = incoming;
      const sent = request(`${here.url}${url}`, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(sent);
    });
    try {
      const again = await here.probeyard(['probe', film, '--only', 'ffprobe'], between);
      assert.equal(again.code, 0, again.stderr);
      assert.match(again.stderr, /^there is no room; next try in 1 s\n$/);
      refusals = 1;
      const once_ = await here.probeyard(['probe', '-'], { ...between, input: readFileSync(film) });
      assert.equal(once_.code, 3);
      assert.match(once_.stderr, /^probeyard: there is no room\n/);
    } finally {
      between.close();
    }
  });

  it('a file is never held in memory as a whole', async () => {
    const [megabytes, most] = [400, 250];
    const large = at('sparse.mp4');
    writeFileSync(large, '');
    truncateSync(large, megabytes << 20);
    let peak = '';
    const sink = await listening((incoming, outgoing) => {
      incoming.resume().on('end', () => {
        peak = readFileSync(`/proc/${child.pid}/status`, 'utf8');
        outgoing.writeHead(400).end('{"error":"read"}');
      });
    });
    const child = spawn(process.execPath, [MAIN, 'probe', large], {
      env: { PATH: process.env['PATH'], ...here.env, ...sink.env },
      stdio: 'ignore',
    });
    try {
      assert.deepEqual(await once(child, 'close'), [2, null]);
      const kilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(peak)?.[1]);
      assert.ok(kilobytes > 0 && kilobytes < most << 10, `${kilobytes} kB`);
    } finally {
      sink.close();
      rmSync(large);
    }
  });

  it('Ctrl-C while a file is sent ends the request', async () => {
    const child = spawn(process.execPath, [MAIN, 'probe', '-'], {
      env: { PATH: process.env['PATH'], ...here.env },
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    const closed = once(child, 'close');
    child.stdin.write(readFileSync(film));
    await until('the file arrives', () => here.uploads().files === 1, 30_000);
    child.kill('SIGINT');
    assert.deepEqual(await closed, [130, null]);
  });

  it('on a terminal: shows how much is sent', async () => {
    const large = at('shown.mp4');
    copyFileSync(film, large);
    truncateSync(large, MOST_FILE_BYTES - 1_000);
    const command = `${process.execPath} ${MAIN} probe ${large}`;
    const { code, stdout } = await execute(
      ['script', '--quiet', '--return', '--flush', '--command', command, '/dev/null'],
      { env: { TERM: 'xterm', ...here.env } },
    );
    assert.equal(code, 0, stdout.toString());
    assert.match(stdout.toString(), /sending \d[\d.]* k?M?B of 33\.6 MB, \d+ %/);
    assert.match(stdout.toString(), /\n0 +video +h264, /);
  });
});
