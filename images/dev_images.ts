/** NATS and PostgreSQL for a first installation and for the tests. */
import { copyFile, cp } from 'node:fs/promises';
import { join } from 'node:path';
import { buildParts } from '../test/node/build.ts';
import { baseKey } from './base.ts';
import { importBase } from './base_image.ts';
import { buildImage } from './buildah.ts';
import type { ImagePlan } from './built_image.ts';
import { contentKey, contents, withScratch } from './cache.ts';

const imagesDir = import.meta.dirname;
const natsPart = join(imagesDir, '..', 'test', 'node', 'parts', 'nats-server');
const NATS_VERSION = '2.15.2';

export async function natsPlan(): Promise<ImagePlan> {
  const dockerfile = join(imagesDir, 'nats', 'Dockerfile');
  return {
    name: 'nats',
    tag: NATS_VERSION,
    kind: 'nats',
    key: contentKey(await contents(dockerfile, natsPart)),
    make: async (ref) => {
      const folder = (await buildParts(['nats-server'])).get('nats-server') ?? '';
      await withScratch(async (context) => {
        await cp(natsPart, context, { recursive: true });
        await copyFile(join(folder, 'nats-server'), join(context, 'nats-server'));
        await buildImage({ ref, context, dockerfile, args: { BASE: await importBase() } });
      });
    },
  };
}

export async function postgresPlan(): Promise<ImagePlan> {
  const dockerfile = join(imagesDir, 'postgres', 'Dockerfile');
  return {
    name: 'postgres',
    tag: '15',
    kind: 'postgres',
    key: contentKey(await contents(join(imagesDir, 'postgres'), join(imagesDir, 'collect.sh')), baseKey),
    make: async (ref) => buildImage({ ref, context: imagesDir, dockerfile, args: { BASE: await importBase() } }),
  };
}
