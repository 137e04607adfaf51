/**
 * Where the API server is, and what a client shows it: a pod's service account, or a kubeconfig whose user has a
 * certificate or a token. Every other way of signing in is client-node's, which is loaded for it alone: its models of
 * all Kubernetes APIs take 37 MB of memory (docs/decisions/0011).
 */
import { existsSync, readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { KubeError } from './errors.ts';

export type Tls = Pick<TlsOptions, 'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'servername' | 'rejectUnauthorized'>;

export interface Material {
  tls: Tls;
  headers: Record<string, string>;
}

export interface Credentials {
  server: string;
  namespace: string | undefined;
  /** As the files have it now. */
  read(): Promise<Material>;
}

export interface CredentialOptions {
  kubeconfig?: string;
  context?: string;
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

interface Named {
  name?: string;
}
interface Cluster {
  server?: string;
  'certificate-authority'?: string;
  'certificate-authority-data'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'tls-server-name'?: string;
  'proxy-url'?: string;
}
interface User {
  'client-certificate'?: string;
  'client-certificate-data'?: string;
  'client-key'?: string;
  'client-key-data'?: string;
  token?: string;
  'auth-provider'?: { name?: string; config?: { tokenFile?: string } };
}
interface Kubeconfig {
  'current-context'?: string;
  contexts?: (Named & { context?: { cluster?: string; user?: string; namespace?: string } })[];
  clusters?: (Named & { cluster?: Cluster })[];
  users?: (Named & { user?: User | null })[];
}

/** What `read` below understands of a user. */
const OWN: ReadonlySet<string> = new Set([
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
  'token',
  'auth-provider',
] satisfies (keyof User)[]);

export async function credentialsOf(options: CredentialOptions = {}): Promise<Credentials> {
  const file = options.kubeconfig ?? defaultFile();
  if (file === undefined && existsSync(join(ACCOUNT, 'token'))) return ofServiceAccount(ACCOUNT, process.env);
  return (
    (file === undefined || file.includes(delimiter) ? undefined : await ofKubeconfig(file, options.context)) ??
    (await import('./client_node.ts')).ofClientNode(options)
  );
}

function defaultFile(): string | undefined {
  const named = process.env['KUBECONFIG'];
  if (named !== undefined && named !== '') return named;
  const usual = join(homedir(), '.kube', 'config');
  return existsSync(usual) ? usual : undefined;
}

/** The account of the pod that this process runs in. */
export function ofServiceAccount(folder: string, env: NodeJS.ProcessEnv): Credentials {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = env;
  const namespace = join(folder, 'namespace');
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    namespace: existsSync(namespace) ? readFileSync(namespace, 'utf8').trim() : undefined,
    read: () =>
      Promise.resolve({ tls: { ca: readFileSync(join(folder, 'ca.crt')) }, headers: bearer(join(folder, 'token')) }),
  };
}

const bearer = (file: string) => ({ authorization: `Bearer ${readFileSync(file, 'utf8').trim()}` });

/** Undefined: its user signs in in a way that is client-node's. */
async function ofKubeconfig(file: string, wanted: string | undefined): Promise<Credentials | undefined> {
  // Not needed in a pod.
  const { parse } = await import('yaml');
  const config = parse(readFileSync(file, 'utf8')) as Kubeconfig | null;
  const current = wanted ?? config?.['current-context'];
  const context = config?.contexts?.find(({ name }) => name === current)?.context;
  const cluster = config?.clusters?.find(({ name }) => name === context?.cluster)?.cluster;
  const user = config?.users?.find(({ name }) => name === context?.user)?.user;
  if (typeof cluster?.server !== 'string' || !user) return undefined;
  const provider = user['auth-provider'];
  if (Object.keys(user).some((key) => !OWN.has(key))) return undefined;
  if (provider !== undefined && typeof provider.config?.tokenFile !== 'string') return undefined;
  if (cluster['proxy-url'] !== undefined)
    throw new KubeError('configuration', 'proxy-url in a kubeconfig is not supported');
  const skips = cluster['insecure-skip-tls-verify'] === true;
  if (!cluster.server.startsWith('https:') && !skips)
    throw new KubeError('configuration', `the kubeconfig names ${cluster.server}: only https is supported`);
  const bytesOf = (path: string | undefined, data: string | undefined): Buffer | undefined =>
    data !== undefined
      ? Buffer.from(data, 'base64')
      : path === undefined
        ? undefined
        : readFileSync(resolve(dirname(file), path));
  return {
    server: cluster.server,
    namespace: context?.namespace,
    read: () => {
      const ca = bytesOf(cluster['certificate-authority'], cluster['certificate-authority-data']);
      const cert = bytesOf(user['client-certificate'], user['client-certificate-data']);
      const key = bytesOf(user['client-key'], user['client-key-data']);
      return Promise.resolve({
        tls: {
          ...(ca ? { ca } : {}),
          ...(cert ? { cert } : {}),
          ...(key ? { key } : {}),
          ...(cluster['tls-server-name'] === undefined ? {} : { servername: cluster['tls-server-name'] }),
          ...(skips ? { rejectUnauthorized: false } : {}),
        },
        headers:
          provider?.config?.tokenFile !== undefined
            ? bearer(provider.config.tokenFile)
            : user.token === undefined
              ? {}
              : { authorization: `Bearer ${user.token}` },
      });
    },
  };
}
