import { ClusterError } from '../node/cluster_error.ts';
import { readEnvironment } from '../node/environment.ts';

export interface LocalCluster {
  kubeconfig: string;
  /** The host's address on the pod bridge, which pods can reach. */
  hostIp: string;
  /** All variables of `.local/env`. */
  environment: Readonly<Record<string, string>>;
}

/** The running local cluster as described by `make up`. */
export async function localCluster(): Promise<LocalCluster> {
  const environment = await readEnvironment();
  const { KUBECONFIG: kubeconfig, PROBEYARD_HOST_IP: hostIp } = environment;
  if (kubeconfig === undefined || hostIp === undefined)
    throw new ClusterError('NOT_UP', 'there is no local cluster: make up');
  return { kubeconfig, hostIp, environment };
}
