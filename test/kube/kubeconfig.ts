/** Clients of tests and benchmarks: they are outside of a cluster, and sign in with what a kubeconfig has. */
import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { makeClient, type KubeClient } from '../../src/platform/kube/client.ts';
import type { Credentials } from '../../src/platform/kube/credentials.ts';

interface Kubeconfig {
  clusters: {
    cluster: {
      server: string;
      'certificate-authority'?: string;
      'certificate-authority-data'?: string;
      'tls-server-name'?: string;
    };
  }[];
  users: { user: { token?: string; 'client-certificate-data'?: string; 'client-key-data'?: string } }[];
}

/** Of the first cluster and user in a file: a token, or a certificate as data. `as`: whom that user impersonates. */
export async function ofKubeconfig(file: string, as?: string): Promise<Credentials> {
  const { clusters, users } = parse(await readFile(file, 'utf8')) as Kubeconfig;
  const [{ cluster }, { user }] = [clusters[0]!, users[0]!];
  const bytesOf = (data: string | undefined) => (data === undefined ? undefined : Buffer.from(data, 'base64'));
  const { 'certificate-authority': caFile, 'tls-server-name': servername } = cluster;
  const tls = {
    ca: caFile === undefined ? bytesOf(cluster['certificate-authority-data']) : await readFile(caFile),
    cert: bytesOf(user['client-certificate-data']),
    key: bytesOf(user['client-key-data']),
    ...(servername === undefined ? {} : { servername }),
  };
  const headers: Record<string, string> = {
    ...(user.token === undefined ? {} : { authorization: `Bearer ${user.token}` }),
    ...(as === undefined ? {} : { 'impersonate-user': as }),
  };
  return { server: cluster.server, read: () => ({ tls, headers }) };
}

interface Options {
  kubeconfig: string;
  namespace?: string;
  http2?: boolean;
  as?: string;
}

export async function kubeClient({ kubeconfig, namespace = 'default', as, ...options }: Options): Promise<KubeClient> {
  return makeClient({ ...options, namespace, credentials: await ofKubeconfig(kubeconfig, as) });
}
