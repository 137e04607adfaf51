/** The role `api` as a process: what it needs, and its settings. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { createUser } from 'nkeys.js';
import { freePort } from '../free_port.ts';
import type { KubeClient } from '../../src/platform/kube/client.ts';
import { testApiServer } from '../kube/apiserver.ts';
import { ofKubeconfig } from '../kube/kubeconfig.ts';
import { makeDirectory } from '../server_process.ts';
import { startNats } from '../servers.ts';
import { startStore, type StoreFixture } from '../store/fixture.ts';

export const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;

export interface RoleServers {
  stored: StoreFixture;
  kube: KubeClient;
  namespace: string;
  folder: string;
  /** Of a process, with ports of its own. */
  settings(): Promise<{ env: NodeJS.ProcessEnv; url: string; metricsUrl: string; livenessUrl: string }>;
  stop(): Promise<void>;
}

export async function startRoleServers(): Promise<RoleServers> {
  const folder = makeDirectory('role-api');
  const user = createUser();
  const apiServer = await testApiServer({ own: true });
  const [stored, nats, namespace] = await Promise.all([
    startStore({ alone: true }),
    startNats({ conf: `authorization { users: [ { nkey: "${user.getPublicKey()}" } ] }` }),
    apiServer.namespace('role'),
  ]);
  const { publicKey } = await generateKeyPair('ECDH-ES', { crv: 'P-256', extractable: true });
  const keys = (...all: object[]) => JSON.stringify({ keys: all });
  writeFileSync(join(folder, 'api.nk'), user.getSeed());
  writeFileSync(join(folder, 'public.jwks'), keys({ ...(await exportJWK(publicKey)), kid: 'one' }));
  writeFileSync(
    join(folder, 'box.jwks'),
    keys({ kty: 'oct', kid: 'box', k: Buffer.alloc(32, 1).toString('base64url') }),
  );
  const { tls, headers } = (await ofKubeconfig(apiServer.kubeconfig)).read();
  writeFileSync(join(folder, 'ca.crt'), String(tls.ca));
  writeFileSync(join(folder, 'token'), headers['authorization']!.replace('Bearer ', ''));
  return {
    stored,
    kube: apiServer.client,
    namespace,
    folder,
    async settings() {
      const [port, metricsPort, livenessPort] = [await freePort(), await freePort(), await freePort()];
      return {
        url: `http://127.0.0.1:${port}`,
        metricsUrl: `http://127.0.0.1:${metricsPort}`,
        livenessUrl: `http://127.0.0.1:${livenessPort}`,
        env: {
          PATH: process.env['PATH'],
          NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
          KUBERNETES_SERVICE_HOST: apiServer.host,
          KUBERNETES_SERVICE_PORT: String(apiServer.port),
          PY_SERVICE_ACCOUNT: folder,
          PY_NAMESPACE: namespace,
          PY_POSTGRES_URL: stored.server.url,
          PY_NATS_URL: nats.url,
          PY_NATS_NKEY_FILE: join(folder, 'api.nk'),
          PY_SEAL_PUBLIC_FILE: join(folder, 'public.jwks'),
          PY_BOX_FILE: join(folder, 'box.jwks'),
          PY_LISTEN: `127.0.0.1:${port}`,
          PY_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
          PY_LIVENESS_LISTEN: `127.0.0.1:${livenessPort}`,
          PY_DRAIN_MS: '1000',
        },
      };
    },
    async stop() {
      await stored.close();
      await nats.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
