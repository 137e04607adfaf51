/** Clients of tests and benchmarks: they are outside of a cluster, and sign in with what a kubeconfig has. */
import { makeClient, type KubeClient } from '../../src/platform/kube/client.ts';

interface Options {
  kubeconfig: string;
  namespace?: string;
  http2?: boolean;
}

export const kubeClient = (options: Options): Promise<KubeClient> => makeClient(options);
