import { join } from 'node:path';

/** Paths and names of one local cluster. Everything that it creates on the machine has one of them. */
export interface Layout {
  /** Also the name of its cgroup, at the root of every hierarchy. */
  name: string;
  /** Survives a reboot. */
  stateDir: string;
  /** Sockets and process records, which are invalid after a reboot. */
  runDir: string;
  logDir: string;
  pkiDir: string;
  kubeconfigDir: string;
  ports: Ports;
}

export interface Ports {
  etcd: number;
  etcdPeer: number;
  api: number;
  controllerManager: number;
  scheduler: number;
  kubelet: number;
  kubeletHealth: number;
  proxyHealth: number;
  proxyMetrics: number;
}

export const NODE_NAME = 'probeyard-node';
export const BRIDGE = 'probeyard0';
/** The comment of every iptables rule except those of kube-proxy and the kubelet. */
export const RULE_COMMENT = 'probeyard-node';

/**
 * The node. Its ports are the usual ones of Kubernetes, on the pod bridge or on loopback, never on the machine's
 * network.
 */
export const NODE: Layout = layout('probeyard-node', {
  etcd: 2379,
  etcdPeer: 2380,
  api: 6443,
  controllerManager: 10257,
  scheduler: 10259,
  kubelet: 10250,
  kubeletHealth: 10248,
  proxyHealth: 10256,
  proxyMetrics: 10249,
});

/** A node beside the first. */
export interface Joined {
  /** Name of the Node. */
  name: string;
  layout: Layout;
  kubelet: `kubelet-${number}`;
  /** Its link to the bridge, on the machine's side. */
  uplink: string;
}

export const SECOND = joined(2, 'second');
export const JOINED: readonly Joined[] = [SECOND, joined(3, 'third')];

/**
 * Below the folders and the cgroup of the first node. Keys and kubeconfigs are with those of the first. The ports are
 * in a network namespace of its own.
 */
function joined(number: number, ordinal: string): Joined {
  const own = {
    ...NODE,
    name: `${NODE.name}/${ordinal}`,
    stateDir: join(NODE.stateDir, ordinal),
    runDir: join(NODE.runDir, ordinal),
    logDir: join(NODE.logDir, ordinal),
  };
  return { name: `${NODE_NAME}-${number}`, layout: own, kubelet: `kubelet-${number}`, uplink: `probeyard${number}` };
}

/** The control plane with simulated nodes. It runs beside the node, so all of its paths and ports differ. */
export const SIMULATED: Layout = layout('probeyard-simulated', {
  etcd: 22379,
  etcdPeer: 22380,
  api: 26443,
  controllerManager: 30257,
  scheduler: 30259,
  kubelet: 30250,
  kubeletHealth: 30248,
  proxyHealth: 30256,
  proxyMetrics: 30249,
});

function layout(name: string, ports: Ports): Layout {
  const stateDir = `/var/lib/${name}`;
  return {
    name,
    stateDir,
    runDir: `/run/${name}`,
    logDir: join(stateDir, 'logs'),
    pkiDir: join(stateDir, 'pki'),
    kubeconfigDir: join(stateDir, 'kubeconfig'),
    ports,
  };
}

/** The checkout's folder for data on the running cluster. */
export const localDir = join(import.meta.dirname, '..', '..', '.local');
