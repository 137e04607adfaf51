import { join } from 'node:path';

/** Where one local cluster lives: everything it makes on the machine carries one of these names. */
export interface Layout {
  /** Also the name of its cgroup, at the root of every hierarchy. */
  name: string;
  /** Survives a reboot. */
  stateDir: string;
  /** Sockets and records of processes: means nothing after a reboot. */
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
/** Stands in every iptables rule that is not kube-proxy's or the kubelet's. */
export const RULE_COMMENT = 'probeyard-node';

/**
 * The node. Its ports are the usual ones of Kubernetes; they listen on the pod bridge or on loopback, never on the
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

/** The control plane with simulated nodes: runs beside the node, so everything is elsewhere. */
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

/** The checkout's own folder for what it needs to know of the running cluster. */
export const localDir = join(import.meta.dirname, '..', '..', '.local');
