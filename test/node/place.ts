/** The nodes of the local cluster: where the daemons of each run, and which addresses its pods get. */
import { join } from 'node:path';
import type { Daemon } from './daemon.ts';
import { JOINED, NODE, NODE_NAME, type Joined, type Layout } from './layout.ts';
import type { Settings } from './settings.ts';
import { addressIn, sizeOf } from './subnets.ts';

export interface Place {
  layout: Layout;
  /** Name of the Node, of its certificates' subject, and the end of their files' names. */
  name: string;
  kubelet: 'kubelet' | Joined['kubelet'];
  address: string;
  /** Address on which its daemons report their health. */
  healthAddress: string;
  pods: { first: string; last: string };
  /** File of the network namespace of its daemons and the pods' links; undefined: the machine's. */
  netns: string | undefined;
}

/**
 * All nodes are in one network, without routes between them: the first has half of the addresses, and each of the
 * others a quarter.
 */
export const placesOf = (settings: Settings, nodes: number): [Place, ...Place[]] => [
  firstPlace(settings),
  ...JOINED.slice(0, nodes - 1).map((node, index) => joinedPlace(settings, node, index)),
];

function firstPlace({ podCidr, hostIp }: Settings): Place {
  return {
    layout: NODE,
    name: NODE_NAME,
    kubelet: 'kubelet',
    address: hostIp,
    healthAddress: '127.0.0.1',
    pods: { first: addressIn(podCidr, 2), last: addressIn(podCidr, sizeOf(podCidr) / 2 - 1) },
    netns: undefined,
  };
}

function joinedPlace({ podCidr }: Settings, { layout, name, kubelet }: Joined, index: number): Place {
  const quarter = sizeOf(podCidr) / 4;
  const start = (2 + index) * quarter;
  const address = addressIn(podCidr, start + 1);
  return {
    layout,
    name,
    kubelet,
    address,
    healthAddress: address,
    pods: { first: addressIn(podCidr, start + 2), last: addressIn(podCidr, start + quarter - 2) },
    netns: join(layout.runDir, 'netns'),
  };
}

/** The daemon in the network namespace of its node. `nsenter` becomes the program and keeps its process id. */
export function at({ netns }: Place, daemon: Daemon): Daemon {
  if (netns === undefined) return daemon;
  return { ...daemon, program: '/usr/bin/nsenter', args: [`--net=${netns}`, daemon.program, ...daemon.args] };
}
