/** Libraries that start ffprobe, with `probeyard` in its place: their own tests pass, unchanged. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { unlessLong } from '../long.ts';
import { fetchFfmpeg, TESTED } from './own_tests.ts';
import { packCli } from './packed.ts';
import { execute, startInstallation, type Installation } from './rig.ts';
import { standIn } from './stand_in.ts';

describe('tests of libraries that start ffprobe', function () {
  this.timeout(600_000);
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-libraries-'));
  let here: Installation;
  let shim: string;
  before(async function () {
    unlessLong(this, 'it fetches the libraries, and they have short limits of their own');
    here = await startInstallation([{ tool: 'ffprobe', version: '9.0', latest: true }], this);
    shim = standIn(folder, 'ffprobe', [process.execPath, (await packCli()).bin('probeyard'), 'ffprobe']);
  });
  after(async () => {
    await here?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const { name, needsFfmpeg = false, command } of TESTED)
    it(name, async function () {
      const ffmpeg = needsFfmpeg ? await fetchFfmpeg() : undefined;
      const found = command();
      if (found === null || ffmpeg === null) return this.skip();
      const { code, stdout, stderr } = await execute(found.argv, {
        cwd: found.folder,
        timeoutMs: 300_000,
        env: {
          ...here.env,
          FFPROBE_PATH: shim,
          PATH: [folder, ...(ffmpeg ? [ffmpeg.path] : []), process.env['PATH']].join(delimiter),
          ...(ffmpeg ? { LD_LIBRARY_PATH: ffmpeg.libraries } : {}),
        },
      });
      assert.equal(code, 0, `${stdout.toString()}${stderr}`);
    });
});
