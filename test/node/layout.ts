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
export const SECOND_NAME = 'probeyard-node-2';
export const BRIDGE = 'probeyard0';
/** The second node's link to the bridge, on the machine's side. */
export const UPLINK = 'probeyard2';
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

/**
 * The second node, below the folders and the cgroup of the first. Keys and kubeconfigs are with those of the first. Its
 * ports are in a network namespace of its own.
 */
export const SECOND: Layout = {
  ...NODE,
  name: `${NODE.name}/second`,
  stateDir: join(NODE.stateDir, 'second'),
  runDir: join(NODE.runDir, 'second'),
  logDir: join(NODE.logDir, 'second'),
};

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
