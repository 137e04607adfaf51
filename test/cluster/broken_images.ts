/** Tool images that are each broken in one way, imported into the local node. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildParts } from '../node/build.ts';
import { attempt, run } from '../node/command.ts';
import { importImages } from '../node/images.ts';
import { NODE } from '../node/layout.ts';
import { writeScratchImage } from '../node/oci_archive.ts';
import { NODE_PARTS } from '../node/parts.ts';
import { containerdSocket } from '../node/runtime.ts';

const source = join(import.meta.dirname, 'pod', 'broken_tool.c');
const PROGRAM = 'bin/ffprobe';
/** Beside the repositories of the tools that the chart allows. */
export const REPOSITORY = 'localhost/probeyard/test-broken';

/** The offset of the machine in an ELF header, and two machines of which one is always foreign. */
const MACHINE_AT = 18;
const [X86_64, AARCH64] = [62, 183];

async function foreign(program: string): Promise<void> {
  const bytes = await readFile(program);
  bytes.writeUInt16LE(bytes.readUInt16LE(MACHINE_AT) === X86_64 ? AARCH64 : X86_64, MACHINE_AT);
  await writeFile(program, bytes);
}

/** How a version is broken. Most are behaviours of the C program, two are properties of the image. */
export type Way = 'HANGS' | 'CRASHES' | 'BABBLES' | 'LIES' | 'NO_JSON' | 'FOREIGN' | 'ABSENT';

export const imageOf = (way: Way): string => `${REPOSITORY}-${way.toLowerCase().replaceAll('_', '-')}:1`;

/** Whether this machine runs the node that images can be imported into. */
export const hasNode = (): boolean => existsSync(containerdSocket(NODE));

export async function bringBrokenImages(ways: ReadonlyMap<Way, string>): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'probeyard-broken-'));
  try {
    const images = [];
    for (const [way, version] of ways) {
      const program = join(work, way);
      await run('cc', ['-static', '-O1', `-D${way}`, `-DVERSION="${version}"`, '-o', program, source]);
      if (way === 'FOREIGN') await foreign(program);
      const archive = join(work, `${way}.tar`);
      await writeScratchImage(
        {
          name: imageOf(way),
          files: { [way === 'ABSENT' ? 'bin/another' : PROGRAM]: program },
          entrypoint: [`/${PROGRAM}`],
        },
        archive,
      );
      images.push({ name: imageOf(way), archive });
    }
    await importImages(NODE, await buildParts(NODE_PARTS), images);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

export async function removeBrokenImages(): Promise<void> {
  const ctr = [
    join((await buildParts(NODE_PARTS)).get('containerd')!, 'ctr'),
    '-a',
    containerdSocket(NODE),
    '-n',
    'k8s.io',
    'images',
  ] as const;
  const [program, ...args] = ctr;
  const names = (await run(program, [...args, 'ls', '-q'])).split('\n').filter((name) => name.startsWith(REPOSITORY));
  if (names.length > 0) await attempt(program, [...args, 'rm', '--sync', ...names]);
}
