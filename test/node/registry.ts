import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterError } from './cluster_error.ts';
import { attempt, run } from './command.ts';
import { onPath } from './packages.ts';
import { timed } from '../../images/progress.ts';
import { LOCAL, type BuiltImage } from './product_images.ts';

/** `localhost/probeyard/x:1` in a registry: `host/path/probeyard/x:1`. */
export function nameIn(registry: string, ref: string): string {
  return `${registry.replace(/\/$/, '')}/${ref.slice(`${LOCAL}/`.length)}`;
}

/**
 * Pushes the images with a program of the machine, which also handles the login. Returns them with the digests in the
 * registry, because a push may compress layers and change the digest.
 */
export async function pushImages(registry: string, images: readonly BuiltImage[]): Promise<BuiltImage[]> {
  const push = pusher();
  const pushed: BuiltImage[] = [];
  for (const image of images) {
    const target = nameIn(registry, image.ref);
    pushed.push({ ...image, ref: target, digest: await timed(`pushed ${target}`, () => push(image.archive, target)) });
  }
  return pushed;
}

type Push = (archive: string, target: string) => Promise<string>;

function pusher(): Push {
  if (onPath('skopeo')) return skopeo;
  for (const tool of ['podman', 'buildah'])
    if (onPath(tool)) return (archive, target) => pullAndPush(tool, archive, target);
  if (onPath('docker')) return docker;
  throw new ClusterError('NO_PUSHER', 'pushing images needs one of skopeo, podman, buildah or docker');
}

async function skopeo(archive: string, target: string): Promise<string> {
  await run('skopeo', ['copy', '--preserve-digests', `oci-archive:${archive}`, `docker://${target}`]);
  return (await run('skopeo', ['inspect', '--format', '{{.Digest}}', `docker://${target}`])).trim();
}

async function pullAndPush(tool: string, archive: string, target: string): Promise<string> {
  const id = (await run(tool, ['pull', '--quiet', `oci-archive:${archive}`])).trim().split('\n').at(-1)!;
  const folder = await mkdtemp(join(tmpdir(), 'probeyard-push-'));
  try {
    await run(tool, ['push', '--digestfile', `${folder}/digest`, id, `docker://${target}`]);
    return (await readFile(`${folder}/digest`, 'utf8')).trim();
  } finally {
    await attempt(tool, ['rmi', id]);
    await rm(folder, { recursive: true, force: true });
  }
}

async function docker(archive: string, target: string): Promise<string> {
  const loaded = await run('docker', ['load', '--input', archive]);
  const name = /Loaded image(?: ID)?: (\S+)/.exec(loaded)?.[1];
  if (name === undefined)
    throw new ClusterError('PUSH_FAILED', `docker load ${archive} did not say what it loaded:\n${loaded}`);
  await run('docker', ['tag', name, target]);
  const said = await run('docker', ['push', target]);
  const digest = /digest: (sha256:[0-9a-f]{64})/.exec(said)?.[1];
  if (digest === undefined) throw new ClusterError('PUSH_FAILED', `docker push ${target} gave no digest:\n${said}`);
  return digest;
}
