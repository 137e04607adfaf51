/** NATS and PostgreSQL for a first installation and for the tests. */
import { copyFile, cp } from 'node:fs/promises';
import { join } from 'node:path';
import { buildParts, goEnv } from '../test/node/build.ts';
import { type Architecture, USUAL } from './architecture.ts';
import { baseKeyOf } from './base.ts';
import { importBase } from './base_image.ts';
import { buildImage } from './buildah.ts';
import type { ImagePlan } from './built_image.ts';
import { contentKey, contents, withScratch } from './cache.ts';
import { run } from './command.ts';

const imagesDir = import.meta.dirname;
const natsPart = join(imagesDir, '..', 'test', 'node', 'parts', 'nats-server');
const NATS_VERSION = '2.15.2';

export async function natsPlan(arch: Architecture = USUAL): Promise<ImagePlan> {
  const dockerfile = join(imagesDir, 'nats', 'Dockerfile');
  return {
    name: 'nats',
    tag: NATS_VERSION,
    kind: 'nats',
    arch,
    key: contentKey(await contents(dockerfile, natsPart)),
    make: async (ref) => {
      await withScratch(async (context) => {
        await cp(natsPart, context, { recursive: true });
        await natsServer(arch, join(context, 'nats-server'));
        await buildImage({ ref, arch, context, dockerfile, args: { BASE: await importBase(arch) } });
      });
    },
  };
}

/** The local node runs the same program, if it is for this machine. */
async function natsServer(arch: Architecture, target: string): Promise<void> {
  if (arch === USUAL) {
    const folder = (await buildParts(['nats-server'])).get('nats-server') ?? '';
    return copyFile(join(folder, 'nats-server'), target);
  }
  const flags = ['-trimpath', '-ldflags', '-s -w', '-o', target];
  await run('go', ['build', ...flags, 'github.com/nats-io/nats-server/v2'], {
    cwd: natsPart,
    env: { ...goEnv, CGO_ENABLED: '0', GOARCH: arch },
  });
}

export async function postgresPlan(arch: Architecture = USUAL): Promise<ImagePlan> {
  const dockerfile = join(imagesDir, 'postgres', 'Dockerfile');
  return {
    name: 'postgres',
    tag: '15',
    kind: 'postgres',
    arch,
    key: contentKey(await contents(join(imagesDir, 'postgres'), join(imagesDir, 'collect.sh')), baseKeyOf(arch)),
    make: async (ref) =>
      buildImage({ ref, arch, context: imagesDir, dockerfile, args: { BASE: await importBase(arch) } }),
  };
}
