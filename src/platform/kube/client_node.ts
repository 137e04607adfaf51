/** The ways of signing in that only client-node knows: plugins, identity providers, several kubeconfigs in one. */
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import type { CredentialOptions, Credentials } from './credentials.ts';
import { KubeError } from './errors.ts';

export function ofClientNode(options: CredentialOptions): Credentials {
  const config = new KubeConfig();
  if (options.kubeconfig !== undefined) config.loadFromFile(options.kubeconfig);
  else config.loadFromDefault();
  if (options.context !== undefined) config.setCurrentContext(options.context);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new KubeError('configuration', 'no cluster in the kubeconfig, and not inside a pod');
  if (cluster.proxyUrl !== undefined)
    throw new KubeError('configuration', 'proxy-url in a kubeconfig is not supported');
  return {
    server: cluster.server,
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    async read() {
      const applied: RequestOptions = {};
      await config.applyToHTTPSOptions(applied);
      const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = applied;
      const given = { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized };
      return {
        tls: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
        headers: headersOf(applied),
      };
    },
  };
}

function headersOf({ headers, auth }: RequestOptions): Record<string, string> {
  return {
    ...Object.fromEntries(
      Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value).trim()]),
    ),
    ...(typeof auth === 'string' ? { authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {}),
  };
}
