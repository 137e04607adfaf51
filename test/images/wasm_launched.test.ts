/** MediaInfo's WebAssembly versions behind the launcher's wall, with the limits of a tool. */
import assert from 'node:assert/strict';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Launcher, type Limits } from '../../src/service/runner/launcher.ts';
import { type LauncherProcess, LIMITS, startLauncher } from '../runner/built_launcher.ts';
import { serveClip } from './read_clip.ts';
import { forEachWasmTool } from './wasm_tools.ts';

interface Output {
  media: { track: Record<string, string>[] } | null;
}

const MB = 1 << 20;

/** A picture of this size is in its tag, as far as its head says. The file itself has a hole there. */
async function writeMp3WithCover(path: string, size: number): Promise<void> {
  const head = Buffer.from('ID3\u0003\0\0\0\0\0\0APIC\0\0\0\0\0\0\0image/png\0\u0003\0', 'latin1');
  const tag = size + 10;
  // Seven bits of each byte.
  for (let i = 0; i < 4; i++) head[6 + i] = (tag >> (21 - 7 * i)) & 0x7f;
  head.writeUInt32BE(size, 14);
  const file = await open(path, 'w');
  await file.write(head);
  await file.truncate(size + 20);
  await file.close();
}

describe('MediaInfo as WebAssembly, under the launcher', function () {
  this.timeout(60_000);
  let server: LauncherProcess;
  let launcher: Launcher;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'probeyard-wasm-'));
    server = await startLauncher();
    launcher = new Launcher(server.socket);
    await launcher.whenConnected(5_000);
  });
  after(async () => {
    launcher?.close();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  forEachWasmTool(({ version }, _run, command) => {
    const start = async (args: readonly string[], limits: Partial<Limits>, ports: number[] = []) => {
      const { exit, stdout, stderr } = await launcher.run({
        argv: [...command, ...args],
        env: { HOME: '/tmp', LC_ALL: 'C.UTF-8' },
        limits: { ...LIMITS, ...limits },
        ports,
      });
      return { code: exit.code, stdout: stdout.toString(), stderr: stderr.toString() };
    };

    it('reads from the port of its source', async () => {
      const { address, close } = await serveClip();
      try {
        const port = Number(new URL(address).port);
        const { code, stdout, stderr } = await start(['--Output=JSON', address], { dataBytes: 256 * MB }, [port]);
        assert.equal(code, 0, stderr);
        assert.equal((JSON.parse(stdout) as Output).media?.track[1]?.['FrameCount'], '50');
      } finally {
        await close();
      }
    });

    it('ends with an error if it may not connect', async () => {
      const { code, stderr } = await start(['--Output=JSON', 'http://127.0.0.1:1/a.mp4'], { dataBytes: 256 * MB });
      assert.equal(code, 1);
      assert.match(stderr, /^E: http:\/\/127\.0\.0\.1:1\/a\.mp4, connect: /m);
    });

    it('ends with an error when its memory is used up', async () => {
      // 19.09 has 128 MB, the others what the process may have.
      const [size, dataBytes] = version === '19.09' ? [120 * MB, 256 * MB] : [16 * MB, 30 * MB];
      const media = join(folder, `${version}.mp3`);
      await writeMp3WithCover(media, size);
      const { code, stdout, stderr } = await start(['--Output=JSON', media], { dataBytes });
      assert.equal(code, 1);
      assert.match(stderr, /, (the library aborted|out of memory)$/m);
      assert.equal((JSON.parse(stdout) as Output).media, null);
    });

    it('ends with an error if it has no memory to begin with', async () => {
      const { code, stderr } = await start(['--Version'], { dataBytes: 5 * MB });
      assert.equal(code, 1);
      assert.match(stderr, /^E: cannot allocate the memory of the library$/m);
    });
  });
});
