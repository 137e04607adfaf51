/**
 * The network that enforces NetworkPolicies, on demand (`make up NETWORK_POLICY=1`): iptables hands the first packet of
 * each connection of a pod to a daemon, which decides. Connections from the node itself, as those of the kubelet and of
 * tests, pass.
 */
import { readFile } from 'node:fs/promises';
import { ClusterError } from './cluster_error.ts';
import { flags, program, type ControlPlane } from './control_plane.ts';
import type { Daemon } from './daemon.ts';
import { POLICY_DAEMON } from './daemons.ts';
import { ensureRule } from './iptables.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { BRIDGE, NODE, NODE_NAME } from './layout.ts';
import { wantedNodes } from './joined_nodes.ts';

const QUEUE = '100';
/** INPUT has what pods send to the node itself, the API server included. Services are resolved before both. */
const CHAINS = ['FORWARD', 'INPUT'];
const RULE = ['-i', BRIDGE, '-m', 'conntrack', '--ctstate', 'NEW', '-j', 'NFQUEUE', '--queue-num', QUEUE];

export function wantsPolicies(env: NodeJS.ProcessEnv = process.env): boolean {
  const asked = env['NETWORK_POLICY'] ?? '';
  if (!['', '0', '1'].includes(asked))
    throw new ClusterError('NO_SUCH_CHOICE', `NETWORK_POLICY=${asked}: 1 enforces NetworkPolicies, 0 does not`);
  if (asked === '1' && wantedNodes(env['NODES']) > 1)
    throw new ClusterError('ONE_NODE_ONLY', 'NETWORK_POLICY=1 needs NODES=1: it does not enforce on a further node');
  return asked === '1';
}

/** The rules come last: packets that they match are dropped where no daemon is. */
export async function enforcePolicies(plane: ControlPlane, ensure: (daemon: Daemon) => Promise<void>): Promise<void> {
  await ensure(networkPolicies(plane));
  for (const chain of CHAINS) await ensureRule('mangle', chain, 'append', RULE);
}

function networkPolicies(plane: ControlPlane): Daemon {
  return {
    name: POLICY_DAEMON,
    program: program(plane, POLICY_DAEMON, POLICY_DAEMON),
    args: flags({ kubeconfig: kubeconfigOf(NODE, 'admin'), node: NODE_NAME, queue: QUEUE }),
    ready: hasQueue,
    readyWithinMs: 60_000,
  };
}

/** The queue is there once the daemon has read the policies. */
async function hasQueue(): Promise<boolean> {
  const queues = await readFile('/proc/net/netfilter/nfnetlink_queue', 'utf8').catch(() => '');
  return new RegExp(`^\\s*${QUEUE}\\s`, 'm').test(queues);
}
