/** Faults of the second node (`make up NODES=2` or 3). The first runs the control plane, and cannot be lost alone. */
import { fileURLToPath } from 'node:url';
import { eventually, type Cluster } from '../cluster/fixture.ts';
import { run } from '../node/command.ts';
import { SECOND } from '../node/layout.ts';
import { killNode, linkNode } from '../node/joined_nodes.ts';
import { replicasReady, type Injection } from './injections.ts';
import { moment } from './load.ts';

const KUBECTL = fileURLToPath(new URL('../../.local/bin/kubectl', import.meta.url));
const UP = fileURLToPath(new URL('../node/up.ts', import.meta.url));

/** For what takes longer than the cluster's own kubectl waits. */
const patiently = (c: Cluster, ...args: string[]): Promise<string> =>
  run(KUBECTL, ['--kubeconfig', c.kubeconfig, ...args], { timeoutMs: 300_000 });

const isReady = async (c: Cluster, node: string): Promise<boolean> =>
  (await c.kubectl('get', 'node', node, '-o', 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')) === 'True';

export async function hasSecondNode(c: Cluster): Promise<boolean> {
  const names = (await c.kubectl('get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}')).trim().split(/\s+/);
  return names.includes(SECOND.name);
}

export function skipped(test: Mocha.Context): void {
  console.log('      skipped: the cluster has one node; make up NODES=2 adds another');
  test.skip();
}

/** Pods of the product, by the node that they are on, so that a fault of the node hits some. */
async function isInUse(c: Cluster): Promise<boolean> {
  const pods = await c.kubectl(
    'get',
    'pods',
    '-A',
    '-l',
    'app.kubernetes.io/name=probeyard',
    '--field-selector',
    `spec.nodeName=${SECOND.name},status.phase=Running`,
    '-o',
    'name',
  );
  return pods.includes('runner-') && /probeyard-(api|controller)/.test(pods);
}

/** Puts pods of the product on the second node: after it joined, or was drained, all are on the first. */
export async function useSecondNode(c: Cluster): Promise<void> {
  if (await isInUse(c)) return;
  for (const component of ['api', 'controller']) {
    await c.kubectl('-n', 'probeyard', 'rollout', 'restart', `deployment/probeyard-${component}`);
    await patiently(c, '-n', 'probeyard', 'rollout', 'status', `deployment/probeyard-${component}`, '--timeout=180s');
  }
  // Spread is a preference: runners of a new generation, or after their age, follow it.
  await c.kubectl(
    '-n',
    'probeyard-runners',
    'delete',
    'pods',
    '-l',
    'app.kubernetes.io/component=runner',
    '--wait=false',
  );
  await eventually('the second node runs parts of the product', 120, () => isInUse(c));
}

export const nodeDrained: Injection = async (c) => {
  try {
    await patiently(c, 'drain', SECOND.name, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=240s');
    await moment(2_000);
  } finally {
    await c.kubectl('uncordon', SECOND.name);
  }
  await replicasReady(c, 'api');
  await replicasReady(c, 'controller');
};

/** Its processes end and it answers nobody, until Kubernetes has noticed. Then it starts again. */
export const nodeLost: Injection = async (c) => {
  await linkNode(SECOND, false);
  await killNode(SECOND);
  try {
    await eventually('the node is not ready', 120, async () => !(await isReady(c, SECOND.name)));
    await moment(10_000);
  } finally {
    await linkNode(SECOND, true);
    await run(process.execPath, [UP, '--node-only'], { env: { NODES: '' } });
  }
  await eventually('the node is ready', 120, () => isReady(c, SECOND.name));
  await replicasReady(c, 'api');
  await replicasReady(c, 'controller');
};
