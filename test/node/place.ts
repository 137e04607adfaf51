/** The nodes of the local cluster: where the daemons of each run, and which addresses its pods get. */
import { join } from 'node:path';
import type { Daemon } from './daemon.ts';
import { NODE, NODE_NAME, SECOND, SECOND_NAME, type Layout } from './layout.ts';
import type { Settings } from './settings.ts';
import { addressIn, sizeOf } from './subnets.ts';

export interface Place {
  layout: Layout;
  /** Name of the Node, of its certificates' subject, and the end of their files' names. */
  name: string;
  kubelet: 'kubelet' | 'kubelet-2';
  address: string;
  /** Address on which its daemons report their health. */
  healthAddress: string;
  pods: { first: string; last: string };
  /** File of the network namespace of its daemons and the pods' links; undefined: the machine's. */
  netns: string | undefined;
}

/** Both nodes are in one network, without routes between them: each has half of the addresses. */
export function firstPlace({ podCidr, hostIp }: Settings): Place {
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

export function secondPlace({ podCidr }: Settings): Place {
  const size = sizeOf(podCidr);
  const address = addressIn(podCidr, size / 2 + 1);
  return {
    layout: SECOND,
    name: SECOND_NAME,
    kubelet: 'kubelet-2',
    address,
    healthAddress: address,
    pods: { first: addressIn(podCidr, size / 2 + 2), last: addressIn(podCidr, size - 2) },
    netns: join(SECOND.runDir, 'netns'),
  };
}

/** The daemon in the network namespace of its node. `nsenter` becomes the program and keeps its process id. */
export function at({ netns }: Place, daemon: Daemon): Daemon {
  if (netns === undefined) return daemon;
  return { ...daemon, program: '/usr/bin/nsenter', args: [`--net=${netns}`, daemon.program, ...daemon.args] };
}
