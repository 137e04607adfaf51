import { buildParts } from './build.ts';
import { installChart, uninstallChart } from './chart.ts';
import { ClusterError } from './cluster_error.ts';
import { attempt } from './command.ts';
import { buildImages } from './product_images.ts';
import { say, timed } from '../../images/progress.ts';
import {
  CONTAINER_CLUSTERS,
  type ContainerCluster,
  isContainerCluster,
  nodesOf,
  runtimeOf,
} from './container_nodes.ts';
import { importInto } from './images.ts';
import { pushImages } from './registry.ts';
import { onPath } from './packages.ts';

/** With the default values the release has no address of its own; the notes of helm say the same for others. */
const INSTALLED = `installed. A way in, a link that signs you in (once, within an hour), and a token for requests:

kubectl -n probeyard port-forward service/probeyard-api 8080:80 &
kubectl -n probeyard exec deployment/probeyard-api -- node src/main.ts sign-in-link http://127.0.0.1:8080
kubectl -n probeyard get secret probeyard-admin -o go-template='{{.data.token | base64decode}}{{"\\n"}}'

Read on: http://127.0.0.1:8080/docs/quickstart`;

/** `make up CLUSTER=…`, but for the local node. */
export async function upElsewhere(cluster: string): Promise<void> {
  if (cluster === 'current') return upCurrent();
  if (isContainerCluster(cluster)) return upContainers(cluster);
  const known = ['local', 'current', ...CONTAINER_CLUSTERS].join(', ');
  throw new ClusterError('NO_SUCH_CLUSTER', `CLUSTER=${cluster} is not known; known: ${known}`);
}

/** `make up CLUSTER=kind`: without a node of our own and without a registry. The images are loaded into the nodes. */
async function upContainers(kind: ContainerCluster): Promise<void> {
  const context = await currentContext();
  const nodes = await nodesOf(kind, process.env['NAME']);
  say(`installing on the cluster of kubectl's context "${context}", with the nodes ${nodes.join(', ')}`);
  const images = await buildImages();
  const archives = images.map(({ ref, archive, digest }) => ({ name: ref, archive, digest }));
  for (const node of nodes) await timed(`the images are on ${node}`, () => importInto(runtimeOf(node), archives));
  await installChart({ helm: await helmProgram(), images });
  say(INSTALLED);
}

/**
 * `make up CLUSTER=current REGISTRY=host/path`: without a node. Pushes the images to the registry and installs the
 * chart in kubectl's context.
 */
async function upCurrent(): Promise<void> {
  const registry = process.env['REGISTRY'] ?? '';
  if (registry === '')
    throw new ClusterError(
      'NO_REGISTRY',
      'CLUSTER=current needs REGISTRY=host/path: a registry that you can push to and the cluster can pull from',
    );
  const context = await currentContext();
  say(`installing on the cluster of kubectl's context "${context}"`);
  const images = await pushImages(registry, await buildImages());
  await installChart({ helm: await helmProgram(), images, registry });
  say(INSTALLED);
}

export async function downCurrent(): Promise<void> {
  const context = await currentContext();
  const gone = await uninstallChart(await helmProgram());
  say(
    gone
      ? `uninstalled from the cluster of kubectl's context "${context}"; its ` +
          'CustomResourceDefinitions stay, as helm keeps them'
      : `nothing is installed on the cluster of kubectl's context "${context}"`,
  );
}

async function currentContext(): Promise<string> {
  if (!onPath('kubectl'))
    throw new ClusterError('NO_KUBECTL', 'CLUSTER=current needs kubectl, with a context that is your cluster');
  const result = await attempt('kubectl', ['config', 'current-context']);
  if (result.code !== 0)
    throw new ClusterError('NO_CONTEXT', `kubectl has no current context: ${result.stderr.trim()}`);
  return result.stdout.trim();
}

async function helmProgram(): Promise<string> {
  if (onPath('helm')) return 'helm';
  return `${(await buildParts(['helm'])).get('helm')!}/helm`;
}
