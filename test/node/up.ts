import { mkdir, rm, symlink, copyFile, chmod } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { builderStatus, startBuilder } from './builder.ts';
import { buildParts, cacheDir, isBuilt, type Built } from './build.ts';
import { installChart } from './chart.ts';
import { explain } from './cluster_error.ts';
import { envFile, readEnvironment, writeEnvironment } from './environment.ts';
import { firstProbe } from './first_probe.ts';
import { checkHost, checkPlatform, checkPorts, checkSpace } from './host.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { localDir, NODE } from './layout.ts';
import { locked, NODE_LOCK } from './lock.ts';
import { startNode } from './node.ts';
import { checkGo, ensurePackages } from './packages.ts';
import { GO_NEEDED, NODE_PARTS } from './parts.ts';
import { buildImages, deliverImages, slowTools } from './product_images.ts';
import { say, seconds } from './progress.ts';
import { ensureSettings } from './settings.ts';

export interface UpOptions {
  /** Stops when the node itself works, without images and chart. */
  nodeOnly?: boolean;
}

/** `make up`: from no node, a partial one or a running one to a running node with our chart on it. */
export async function up(options: UpOptions = {}): Promise<void> {
  checkPlatform();
  await locked(NODE_LOCK, async () => {
    await ensurePackages();
    await checkGo(GO_NEEDED);
    if (!(await isBuilt(NODE_PARTS))) await checkSpace(cacheDir, 9, 'building the parts');
    await checkSpace(NODE.stateDir, 3, 'the node');
    const host = await checkHost(NODE);
    const settings = await ensureSettings(NODE);
    await checkPorts(NODE, settings.hostIp);
    const built = await buildParts(NODE_PARTS);
    const outcomes = await startNode({ built, host, settings, audit: process.env['PROBEYARD_AUDIT'] === '1' });
    await writeAccess(built, settings.hostIp);
    const product = options.nodeOnly ? false : await deliverProduct(built, settings.hostIp);
    const unchanged = [...outcomes.values()].every((outcome) => outcome === 'kept') && !product;
    say(unchanged ? 'everything was up already: nothing changed' : `up after ${seconds(performance.now())}`);
    console.log(
      `\n  . ${relative(process.cwd(), envFile)}    # KUBECONFIG, PATH and addresses\n  kubectl get nodes,pods -A`,
    );
  });
}

/**
 * Delivers images and chart, and makes a first probe. Returns whether anything was new. Tools that take minutes to
 * compile are left to the background builder.
 */
async function deliverProduct(built: Built, hostIp: string): Promise<boolean> {
  const kubeconfig = kubeconfigOf(NODE, 'admin');
  const images = await buildImages({ withoutSlow: true });
  const later = await slowTools();
  const imported = await deliverImages(NODE, built, images);
  const installed = await installChart({ helm: join(built.get('helm')!, 'helm'), kubeconfig, images, hostIp });
  const news = imported > 0 || installed;
  if (news || !('PROBEYARD_TOKEN' in (await readEnvironment()))) await firstProbe(kubeconfig, hostIp);
  await startBuilder(later);
  if (later.length > 0) {
    say((await builderStatus()) ?? 'every tool is installed');
    say('until then these versions are missing, and `latest` is the newest that is there; make status shows progress');
  }
  return news;
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
  await writeEnvironment({ KUBECONFIG: kubeconfig, PROBEYARD_HOST_IP: hostIp, PATH: `${bin}:$PATH` });
}

if (import.meta.main) {
  const work =
    process.env['CLUSTER'] === 'current'
      ? import('./current.ts').then(({ upCurrent }) => upCurrent())
      : up({ nodeOnly: process.argv.includes('--node-only') });
  await work.catch((error: unknown) => {
    console.error(`\nmake up: ${explain(error)}`);
    process.exitCode = 1;
  });
}
