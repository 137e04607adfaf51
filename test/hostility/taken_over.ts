/**
 * The attacker as a tool of the installation: its image on the node, its ProbeTool, and jobs with a plan as their
 * source.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PODS, PROBE_TOOLS, isKubeError, type Pod } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { buildParts } from '../node/build.ts';
import { removeBrokenImages, REPOSITORY } from '../cluster/broken_images.ts';
import { NAMESPACE, RUNNERS, eventually, jobOf, type Answer, type Cluster } from '../cluster/fixture.ts';
import { importImages } from '../node/images.ts';
import { NODE } from '../node/layout.ts';
import { writeScratchImage } from '../node/oci_archive.ts';
import { NODE_PARTS } from '../node/parts.ts';
import { buildAttacker, planOf, type Attempt } from './attacker.ts';

export const VERSION = '0.66';
const NAME = `ffprobe-${VERSION}`;
const IMAGE = `${REPOSITORY}-attacker:1`;

export async function install(c: Cluster): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'probeyard-attacker-'));
  try {
    const program = join(work, 'ffprobe');
    await buildAttacker(program, VERSION);
    const archive = join(work, 'image.tar');
    await writeScratchImage({ name: IMAGE, files: { 'bin/ffprobe': program }, entrypoint: ['/bin/ffprobe'] }, archive);
    await importImages(NODE, await buildParts(NODE_PARTS), [{ name: IMAGE, archive }]);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  await remove(c);
  await c.kube.create(PROBE_TOOLS, {
    metadata: { name: NAME, namespace: NAMESPACE },
    spec: { tool: 'ffprobe', version: VERSION, image: IMAGE, command: ['{root}/bin/ffprobe'] },
  });
  await eventually('the attacker is Available', 90, async () => {
    const { status } = await c.kube.get(PROBE_TOOLS, NAME, { namespace: NAMESPACE });
    const condition = status?.conditions?.find(({ type }) => type === 'Available');
    if (condition?.status === 'False') throw new Error(condition.message);
    return condition?.status === 'True';
  });
}

async function remove(c: Cluster): Promise<void> {
  await c.kube.delete(PROBE_TOOLS, NAME, { namespace: NAMESPACE }).catch((error: unknown) => {
    if (!isKubeError(error, 'not-found')) throw error;
  });
}

export async function uninstall(c: Cluster): Promise<void> {
  await remove(c);
  const left = async () =>
    (await runners(c)).filter(({ metadata }) => JSON.stringify(metadata.annotations).includes(`ffprobe/${VERSION}`));
  try {
    await eventually('no runner has it', 90, async () => (await left()).length === 0);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${(await left()).map(describePod).join('\n')}`, { cause: error });
  }
  await removeBrokenImages();
}

const describePod = ({ metadata, status }: Pod): string =>
  JSON.stringify({
    pod: metadata.name,
    phase: status?.phase,
    createdAt: metadata.creationTimestamp,
    deletedAt: metadata.deletionTimestamp,
    labels: metadata.labels,
    annotations: metadata.annotations,
  });

export const runners = async (c: Cluster) =>
  (await c.kube.listAll(PODS, { namespace: RUNNERS, labelSelector: `${LABEL.component}=runner` })).items;

export interface Attacked {
  answer: Answer;
  pod: string;
  got: Record<string, string>;
  error: string;
}

/** A job with this plan as its source. The first one waits until a pool has the attacker. */
export async function attack(
  c: Cluster,
  token: string,
  attempts: readonly Pick<Attempt, 'name' | 'do'>[],
  { userInfo = '', more = {} }: { userInfo?: string; more?: object } = {},
): Promise<Attacked> {
  const plan = planOf(attempts);
  const origin = await c.origin(
    (request, response) =>
      void (request.url === '/plan.mp4'
        ? response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': Buffer.byteLength(plan) }).end(plan)
        : response.writeHead(404).end()),
  );
  const url = `${origin.url.replace('://', `://${userInfo}`)}/plan.mp4`;
  const answer = await c.probe({ url, only: 'ffprobe', ffprobe: { version: VERSION }, ...more }, { token });
  const tool = answer.json['ffprobe'] as { response?: { got?: Record<string, string> }; error?: string } | undefined;
  const pod = answer.json.metadata
    ? ((await jobOf(c.kube, answer.json.metadata.request_id)).status?.runner?.pod ?? '')
    : '';
  return { answer, pod, got: tool?.response?.got ?? {}, error: tool?.error ?? answer.json.error ?? '' };
}
