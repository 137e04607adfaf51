import { mkdir, rm, symlink, copyFile, chmod } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { standInsOfCheckout } from '../cli/stand_in.ts';
import { builderStatus, startBuilder } from './builder.ts';
import { cacheDir, isBuilt, missingParts, type Built } from './build.ts';
import { explain } from './cluster_error.ts';
import { envFile, readEnvironment, writeEnvironment } from './environment.ts';
import { firstProbe, nextSteps } from './first_probe.ts';
import { checkHost, checkPlatform, checkPorts, checkSpace } from './host.ts';
import { installProduct } from './install_product.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { localDir, NODE } from './layout.ts';
import { locked, NODE_LOCK } from './lock.ts';
import { startNode } from './node.ts';
import { checkGo, ensurePackages } from './packages.ts';
import { GO_NEEDED } from './parts.ts';
import { buildImages, type BuiltImage, missingImages, laterTools } from './product_images.ts';
import { expect, type Expected, logTo, say, seconds } from '../../images/progress.ts';
import { wantedNodes } from './joined_nodes.ts';
import { ensureSettings, type Settings } from './settings.ts';
import { buildNode, needsBundled, nodeParts } from './versions.ts';

export interface UpOptions {
  /** Stops when the node itself works, without images and chart. */
  nodeOnly?: boolean;
}

/** Not all tools are needed before a first probe, but one image with all of them is. */
const wantedImages = () => (needsBundled() ? { bundled: true } : { withoutLater: true });

/** What follows the builds: names of steps, and their usual durations. */
const LAST_STEPS: readonly Expected[] = [
  ['the images are on the node', 20],
  ['the chart is installed', 30],
  ['the tools are proven', 10],
];

/** `make up`: from no node, a partial one or a running one to a running node with our chart on it. */
export async function up(options: UpOptions = {}): Promise<void> {
  checkPlatform();
  await locked(NODE_LOCK, async () => {
    await ensurePackages();
    await checkGo(GO_NEEDED);
    if (!(await isBuilt(nodeParts()))) await checkSpace(cacheDir, 9, 'building the parts');
    await checkSpace(NODE.stateDir, 3, 'the node');
    const host = await checkHost(NODE);
    const settings = await ensureSettings(NODE);
    await checkPorts(NODE, settings.hostIp);
    logTo(join(localDir, 'up.log'));
    const images = options.nodeOnly !== true;
    await expectSteps(images);
    const node = async () => {
      const built = await buildNode();
      const outcomes = await startNode({
        built,
        host,
        settings,
        audit: process.env['PROBEYARD_AUDIT'] === '1',
        nodes: wantedNodes(),
      });
      await writeAccess(built, settings.hostIp);
      return { built, outcomes };
    };
    // The images wait for registries most of the time, and the node for the compiler.
    const [{ built, outcomes }, made] = await Promise.all([node(), images ? buildImages(wantedImages()) : []]);
    const product = images ? await deliverProduct(built, settings, made) : false;
    const unchanged = [...outcomes.values()].every((outcome) => outcome === 'kept') && !product;
    say(unchanged ? 'everything was up already: nothing changed' : `up after ${seconds(performance.now())}`);
    const access = `. ${relative(process.cwd(), envFile)}; kubectl get nodes,pods -A`;
    console.log(`\n${images ? await nextSteps(settings.hostIp) : access}`);
  });
}

/** Lines of progress say how much is done, where there is something to wait for. */
async function expectSteps(images: boolean): Promise<void> {
  const steps = [...(await missingParts(nodeParts())), ...(images ? await missingImages(wantedImages()) : [])];
  if (steps.length === 0) return;
  expect([...steps, ...(images ? LAST_STEPS : [])]);
  const sum = steps.reduce((all, [, duration]) => all + duration, 0);
  say(
    `${steps.length} things are to be built, some ${Math.ceil(sum / 60)} min of work; log: ${join(localDir, 'up.log')}`,
  );
}

/**
 * Delivers images and chart, and makes a first probe. Returns whether anything was new. Tools that this probe
 * does not need are left to the background builder.
 */
async function deliverProduct(built: Built, settings: Settings, images: readonly BuiltImage[]): Promise<boolean> {
  const isNew = await installProduct(built, settings.hostIp, images);
  if (isNew || !('PROBEYARD_TOKEN' in (await readEnvironment())))
    await firstProbe(kubeconfigOf(NODE, 'admin'), settings);
  const later = (await laterTools()).flat();
  await startBuilder(later);
  if (later.length > 0) {
    say((await builderStatus()) ?? 'every tool is installed');
    say('until then these versions are missing, and `latest` is the newest that is there; make status shows progress');
  }
  return isNew;
}

/** Writes what a shell and the tests need for access to the cluster into the checkout's folder. */
async function writeAccess(built: Built, hostIp: string): Promise<void> {
  const kubeconfig = join(localDir, 'kubeconfig');
  const bin = join(localDir, 'bin');
  await mkdir(bin, { recursive: true });
  await copyFile(kubeconfigOf(NODE, 'admin'), kubeconfig);
  await chmod(kubeconfig, 0o600);
  for (const [part, program] of [
    ['kubernetes', 'kubectl'],
    ['helm', 'helm'],
    ['containerd', 'ctr'],
  ] as const) {
    await rm(join(bin, program), { force: true });
    await symlink(join(built.get(part)!, program), join(bin, program));
  }
  // With the plugin, which kubectl finds in PATH.
  standInsOfCheckout(bin);
  await writeEnvironment({ KUBECONFIG: kubeconfig, PROBEYARD_HOST_IP: hostIp, PATH: `${bin}:$PATH` });
}

if (import.meta.main) {
  const cluster = process.env['CLUSTER'] ?? '';
  const work = ['', 'local'].includes(cluster)
    ? up({ nodeOnly: process.argv.includes('--node-only') })
    : import('./current.ts').then(({ upElsewhere }) => upElsewhere(cluster));
  await work.catch((error: unknown) => {
    console.error(`\nmake up: ${explain(error)}`);
    // What else is still at work ends with this process.
    process.exit(1);
  });
}
