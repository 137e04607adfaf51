import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { cachedTools } from '../../images/cached.ts';
import { withSandbox } from '../../images/sandbox.ts';
import { clip, readsClip, serveClip } from './read_clip.ts';

const awaited = await cachedTools();

describe('tool images, each alone in an empty root', function () {
  this.timeout(120_000);

  if (process.getuid?.() !== 0) {
    it.skip('skipped: chroot needs root');
    return;
  }

  let origin: Awaited<ReturnType<typeof serveClip>>;
  before(async () => {
    origin = await serveClip();
  });
  after(() => origin.close());

  for (const { entry, image } of awaited) {
    const name = `${entry.tool} ${entry.version}`;
    if (image === undefined) {
      it.skip(
        `${name}: skipped, its image is not built here ` +
          `(npm exec -- node images/build.ts ${entry.tool}-${entry.version})`,
      );
      continue;
    }
    it(`${name} has its libraries, reports ${entry.exact}, and reads a clip from a file and over http`, () =>
      withSandbox(entry, image, [clip], async (sandbox) => {
        const place = join(sandbox.root, 'tools', entry.tool, entry.version);
        assert.deepEqual(
          (await readdir(place)).filter((folder) => folder !== 'bin' && folder !== 'lib'),
          [],
        );
        await readsClip(entry, sandbox, ['/tiny.mp4', origin.address]);
      }));
  }
});
