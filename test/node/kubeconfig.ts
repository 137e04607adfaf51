import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWhole } from './daemon.ts';
import type { Layout } from './layout.ts';

/** Writes the kubeconfig of one client certificate, with everything inline. Returns its path. */
export async function writeKubeconfig(
  layout: Layout,
  server: string,
  user: string,
  path = kubeconfigOf(layout, user),
): Promise<string> {
  const data = async (file: string) => (await readFile(join(layout.pkiDir, file))).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: layout.name, cluster: { server, 'certificate-authority-data': await data('ca.crt') } }],
    users: [
      {
        name: user,
        user: { 'client-certificate-data': await data(`${user}.crt`), 'client-key-data': await data(`${user}.key`) },
      },
    ],
    contexts: [{ name: layout.name, context: { cluster: layout.name, user } }],
    'current-context': layout.name,
  };
  // JSON is valid YAML.
  await writeWhole(path, `${JSON.stringify(config, null, 2)}\n`);
  return path;
}

export function kubeconfigOf(layout: Layout, user: string): string {
  return join(layout.kubeconfigDir, `${user}.json`);
}
