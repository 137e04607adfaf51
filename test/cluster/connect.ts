import { ClusterError } from '../node/cluster_error.ts';
import { readEnvironment } from '../node/environment.ts';

export interface LocalCluster {
  kubeconfig: string;
  /** The host on the pod bridge: what listens there can be reached from pods. */
  hostIp: string;
  /** Everything of `.local/env`. */
  environment: Readonly<Record<string, string>>;
}

/** The running local cluster, as `make up` left it described. */
export async function localCluster(): Promise<LocalCluster> {
  const environment = await readEnvironment();
  const { KUBECONFIG: kubeconfig, PROBEYARD_HOST_IP: hostIp } = environment;
  if (kubeconfig === undefined || hostIp === undefined)
    throw new ClusterError('NOT_UP', 'there is no local cluster: make up');
  return { kubeconfig, hostIp, environment };
}
