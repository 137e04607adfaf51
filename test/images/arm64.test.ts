/** The images for arm64 that are in the cache, each alone in an empty root, by QEMU: `make release` makes them. */
import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unpack } from '../../images/archive.ts';
import type { ImagePlan } from '../../images/built_image.ts';
import { withScratch } from '../../images/cache.ts';
import { cached, cachedTools } from '../../images/cached.ts';
import { attempt, type CommandResult } from '../../images/command.ts';
import { natsPlan, postgresPlan } from '../../images/dev_images.ts';
import { withEmulation } from '../../images/emulation.ts';
import { productPlan } from '../../images/product_image.ts';
import { withSandbox } from '../../images/sandbox.ts';
import { unlessLong } from '../long.ts';
import { clip, readsClip, serveClip } from './read_clip.ts';

const ARCH = 'arm64';
const tools = await cachedTools(ARCH);
const USER = 65532;

type Ran = (command: readonly string[]) => Promise<CommandResult>;

async function inImage(plan: ImagePlan, context: Mocha.Context, work: (ran: Ran) => Promise<void>): Promise<void> {
  const image = await cached(plan);
  if (image === undefined) {
    console.log(`        skipped: the image is not built here: make release`);
    return context.skip();
  }
  await withEmulation(ARCH, () =>
    withScratch(async (root) => {
      await chmod(root, 0o755);
      await unpack(image.archive, root);
      for (const name of ['dev', 'proc', 'tmp']) await mkdir(join(root, name), { recursive: true });
      // A plain file, because mknod may be refused.
      await writeFile(join(root, 'dev/null'), '');
      await chmod(join(root, 'dev/null'), 0o666);
      const clean = ['-i', 'PATH=/usr/lib/postgresql/15/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/tmp'];
      await work((command) =>
        attempt('env', [...clean, 'chroot', `--userspec=${USER}:${USER}`, root, ...command], { timeoutMs: 300_000 }),
      );
    }),
  );
}

describe('images for arm64, by QEMU', function () {
  this.timeout(600_000);
  let origin: Awaited<ReturnType<typeof serveClip>>;
  before(async function () {
    if (process.getuid?.() !== 0) {
      console.log('    skipped: the kernel takes interpreters of programs from root alone');
      this.skip();
    }
    unlessLong(this, 'programs run ten times as long by QEMU');
    origin = await serveClip();
  });
  after(() => origin?.close());

  for (const { entry, image } of tools) {
    const name = `${entry.tool} ${entry.version}`;
    if (image === undefined) it.skip(`${name}: skipped, its image is not built here: make release`);
    else
      it(`${name} reports ${entry.exact}, and reads a clip from a file and over http`, () =>
        withEmulation(ARCH, () =>
          withSandbox(entry, image, [clip], (sandbox) => readsClip(entry, sandbox, ['/tiny.mp4', origin.address])),
        ));
  }

  it('the product loads, and says what it can be', async function () {
    await inImage(await productPlan(ARCH), this, async (ran) => {
      const machine = await ran(['/app/bin/node', '-p', 'process.arch']);
      assert.equal(machine.stdout, 'arm64\n', machine.stderr);
      const { stderr } = await ran(['/app/bin/node', '/app/src/main.ts', 'none']);
      assert.match(stderr, /controller/);
      const launcher = await ran(['/app/bin/launcher']);
      assert.match(launcher.stderr, /usage|launcher/i, `${launcher.code}`);
    });
  });

  it('NATS starts', async function () {
    await inImage(await natsPlan(ARCH), this, async (ran) => {
      const { stdout, stderr } = await ran(['/nats-server', '--version']);
      assert.match(stdout, /^nats-server: v2\./, stderr);
    });
  });

  it('PostgreSQL makes a database, and answers', async function () {
    await inImage(await postgresPlan(ARCH), this, async (ran) => {
      const made = await ran(['initdb', '--no-sync', '--auth=trust', '--pgdata=/data/pgdata']);
      assert.equal(made.code, 0, made.stderr);
      const { stdout, stderr } = await ran([
        '/bin/sh',
        '-c',
        'echo "SELECT 6 * 7" | postgres --single -D /data/pgdata',
      ]);
      assert.match(stdout, /42/, stderr);
    });
  });
});
