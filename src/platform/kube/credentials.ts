/** Where the API server is, and what a client shows it: the service account of the pod that this process runs in. */
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { ConnectionOptions as TlsOptions } from 'node:tls';

export type Tls = Pick<TlsOptions, 'ca' | 'cert' | 'key' | 'servername'>;

export interface Credentials {
  server: string;
  /** As the files have it now. */
  read(): { tls: Tls; headers: Record<string, string> };
}

export function ofServiceAccount(folder: string, env: NodeJS.ProcessEnv = process.env): Credentials {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = env;
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    read: () => ({
      tls: { ca: readFileSync(join(folder, 'ca.crt')) },
      headers: { authorization: `Bearer ${readFileSync(join(folder, 'token'), 'utf8').trim()}` },
    }),
  };
}
