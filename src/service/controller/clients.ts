/** The clients of a controller, and what its parts may use. */
import { readFile } from 'node:fs/promises';
import { connectBus, type Bus } from '../../platform/bus/connect.ts';
import { INBOX } from '../../platform/bus/permissions.ts';
import { limitsOf, postgresOf, type Config } from '../../base/config.ts';
import { clientOfPod, type KubeClient } from '../../platform/kube/client.ts';
import type { Logger } from '../../base/log.ts';
import { watchOpeningKeys } from '../../platform/seal/watch_keys.ts';
import { openStore, type Store } from '../../platform/store/store.ts';
import type { ControllerMetrics } from './metrics.ts';

/** What the parts of a controller are given. */
export interface ControllerDeps {
  config: Config<'controller'>;
  log: Logger;
  metrics: ControllerMetrics;
  kube: KubeClient;
  store: Store;
  bus: Bus;
}

export async function connect(config: Config<'controller'>, log: Logger) {
  const kube = clientOfPod(config);
  /** Used only for the Lease, so that a renewal never waits behind a thousand other calls. */
  const leaseClient = clientOfPod(config);
  const keys = watchOpeningKeys(config.sealPrivateFile, (error) =>
    log.error({ err: error }, 'cannot reload the private seal keys'),
  );
  const issuerSeed = (await readFile(config.natsIssuerFile, 'utf8')).trim();
  const store = await openStore({
    ...postgresOf(config),
    name: `probeyard-controller ${config.podName}`,
    defaultLimits: limitsOf(config),
    waitForServer: true,
    onError: (error) => log.warn({ err: error }, 'Postgres connection failed'),
  });
  const bus = await connectBus({
    url: config.natsUrl,
    caFile: config.natsCaFile || undefined,
    credentialsFile: config.natsNkeyFile,
    name: `controller/${config.podName}`,
    inboxPrefix: INBOX.controller,
    onStatus: (status) => log.info({ status }, 'NATS connection status changed'),
    onError: (error) => log.warn({ err: error }, 'NATS connection error'),
  });
  return { kube, leaseClient, store, bus, keys, issuerSeed };
}
