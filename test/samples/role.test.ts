/** The role as a process, with files of its own. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free_port.ts';
import { until } from '../until.ts';

const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;

describe('samples: role', function () {
  this.timeout(60_000);
  let folder: string;
  let child: ChildProcess;
  let port: number;
  let healthPort: number;
  const start = (PY_SAMPLES_FOLDER: string) =>
    spawn(process.execPath, [MAIN, 'samples'], {
      env: {
        ...process.env,
        PY_LISTEN: `127.0.0.1:${port}`,
        PY_METRICS_LISTEN: `127.0.0.1:${healthPort}`,
        PY_SAMPLES_FOLDER,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'samples-'));
    await mkdir(join(folder, 'hls'));
    await mkdir(join(folder, 'none'));
    await writeFile(join(folder, 'a.mp4'), '0123456789');
    await writeFile(join(folder, 'hls/main.m3u8'), '#EXTM3U\n');
    [port, healthPort] = [await freePort(), await freePort()];
    child = start(folder);
    await until('the role is ready', async () => (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).ok, 30_000);
  });
  after(async () => {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  it('serves every file of its folder with type and ETag, and ranges of it', async () => {
    const playlist = await fetch(`http://127.0.0.1:${port}/hls/main.m3u8`);
    assert.deepEqual(
      [playlist.status, playlist.headers.get('content-type'), await playlist.text()],
      [200, 'application/vnd.apple.mpegurl', '#EXTM3U\n'],
    );
    const etag = playlist.headers.get('etag')!;
    const again = await fetch(`http://127.0.0.1:${port}/hls/main.m3u8`, {
      headers: { 'if-none-match': etag, 'cache-control': 'max-age=0' },
    });
    assert.equal(again.status, 304);
    const part = await fetch(`http://127.0.0.1:${port}/a.mp4`, { headers: { range: 'bytes=2-4' } });
    assert.deepEqual([part.status, await part.text()], [206, '234']);
    const gone = await fetch(`http://127.0.0.1:${port}/hls/../../etc/passwd`);
    assert.deepEqual([gone.status, await gone.text()], [404, 'not found\n']);
  });

  it('without a single file: ends with an error that names the folder', async () => {
    const other = start(join(folder, 'none'));
    let said = '';
    other.stderr!.setEncoding('utf8').on('data', (text: string) => (said += text));
    const [code] = (await once(other, 'close')) as [number];
    assert.deepEqual([code, said.includes(`there are no samples in ${join(folder, 'none')}`)], [1, true]);
  });

  it('SIGTERM: ends with 0', async () => {
    child.kill('SIGTERM');
    const [code] = (await once(child, 'close')) as [number];
    assert.equal(code, 0);
  });
});
