/** Clusters whose nodes are containers of this machine: kind, k3d, minikube. Images are loaded into them. */
import { ClusterError } from './cluster_error.ts';
import { run } from './command.ts';
import type { Runtime } from './images.ts';
import { onPath } from './packages.ts';

/** Labels of the containers that are nodes; NAME is the name of the cluster, with the default of its program. */
const LABELS = {
  kind: { cluster: 'kind', filters: (name: string) => [`label=io.x-k8s.kind.cluster=${name}`] },
  k3d: { cluster: 'k3s-default', filters: (name: string) => ['label=app=k3d', `label=k3d.cluster=${name}`] },
  minikube: { cluster: 'minikube', filters: (name: string) => [`label=name.minikube.sigs.k8s.io=${name}`] },
} as const;

export type ContainerCluster = keyof typeof LABELS;

export const CONTAINER_CLUSTERS = Object.keys(LABELS) as ContainerCluster[];

export const isContainerCluster = (name: string): name is ContainerCluster => Object.hasOwn(LABELS, name);

/** Load balancers carry the labels of a cluster, too, and have no containerd. */
const NOT_A_NODE = /-(?:serverlb|external-load-balancer|tools)$/;

function engine(): string {
  const found = ['docker', 'podman'].find(onPath);
  if (found === undefined) throw new ClusterError('NO_ENGINE', 'there is neither docker nor podman on PATH');
  return found;
}

/** Names of the containers that are the nodes. */
export async function nodesOf(kind: ContainerCluster, name: string = LABELS[kind].cluster): Promise<string[]> {
  const filters = LABELS[kind].filters(name).flatMap((filter) => ['--filter', filter]);
  const text = await run(engine(), ['ps', ...filters, '--format', '{{.Names}}']);
  const nodes = text.split(/\s+/).filter((node) => node !== '' && !NOT_A_NODE.test(node));
  if (nodes.length === 0)
    throw new ClusterError('NO_NODES', `no node of the ${kind} cluster "${name}" runs here; NAME=… names another`);
  return nodes.sort();
}

/** The containerd in such a container. An archive goes there through its standard input. */
export function runtimeOf(node: string): Runtime {
  const program = engine();
  const command = (interactive: boolean, args: readonly string[]): string[] => [
    program,
    'exec',
    ...(interactive ? ['-i'] : []),
    node,
    'ctr',
    '-n',
    'k8s.io',
    ...args,
  ];
  return {
    ctr: (args) => {
      const [first = '', ...rest] = command(false, args);
      return run(first, rest);
    },
    load: (archive) =>
      run('sh', [
        '-c',
        'archive=$1; shift; exec "$@" < "$archive"',
        'sh',
        archive,
        ...command(true, ['images', 'import', '-']),
      ]),
  };
}
