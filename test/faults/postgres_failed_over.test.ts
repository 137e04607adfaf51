import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PODS } from '../../src/platform/kube/client.ts';
import { LABEL } from '../../src/platform/kube/resource.ts';
import { NAMESPACE, cluster, eventually, type Cluster } from '../cluster/fixture.ts';
import { openRelease, type Release } from '../cluster/helm.ts';
import { run } from '../node/command.ts';
import { postgresDirectory, type PostgresServer } from '../servers.ts';
import { sql, startAddress, startPair, type Address, type Pair } from '../store/pair.ts';
import { POSTGRES_PAIR } from './links.ts';
import { assertTold, moment, settled, underLoad } from './load.ts';
import { unlessLong } from '../long.ts';
import { whole, wholeCluster } from './whole.ts';

const INSTALLED = 'probeyard-postgres-0';
/** Until an operator notices that a primary is gone. */
const NOTICED_AFTER_MS = 5_000;

const program = (name: string): string => join(postgresDirectory(), name);

/** One address inside the cluster, and the Secret that names it. */
const objectsOf = (host: string, port: number): object[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: POSTGRES_PAIR, namespace: NAMESPACE },
    spec: { ports: [{ port: 5432, targetPort: port }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: POSTGRES_PAIR, namespace: NAMESPACE, labels: { 'kubernetes.io/service-name': POSTGRES_PAIR } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [host], conditions: { ready: true } }],
    ports: [{ port }],
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: POSTGRES_PAIR, namespace: NAMESPACE },
    stringData: { url: `postgres://probeyard@${POSTGRES_PAIR}.${NAMESPACE}.svc:5432/postgres` },
  },
];

/** Copies accounts, tokens and requests of the installation, as they are now. */
async function copyData(c: Cluster, to: PostgresServer, folder: string): Promise<void> {
  const { podIP } = (await c.kube.get(PODS, INSTALLED, { namespace: NAMESPACE })).status as { podIP: string };
  const read = 'read -r password < /etc/postgres-password/password; echo "$password"';
  const password = await c.kubectl('-n', NAMESPACE, 'exec', INSTALLED, '-c', 'postgres', '--', 'sh', '-c', read);
  const file = join(folder, 'data.sql');
  await run(
    program('pg_dump'),
    ['--no-owner', '--no-privileges', '-h', podIP, '-U', 'probeyard', '-d', 'probeyard', '-f', file],
    { env: { PATH: process.env['PATH'] ?? '', PGPASSWORD: password.trim() } },
  );
  // The installed server may be of a newer minor version, which adds this to columns, than that of this machine.
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/^ALTER TABLE ONLY .* SET \(pg_attver=\d+\);\n/gm, ''));
  await run(program('psql'), ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', to.url, '-f', file]);
}

describe('the primary of two PostgreSQL servers is killed, and the standby promoted', function () {
  this.timeout(900_000);
  let c: Cluster | undefined;
  let release: Release | undefined;
  let onPair: Cluster | undefined;
  let address: Address | undefined;
  let pair: Pair | undefined;
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-pair-'));
  let current: PostgresServer;

  /** Printed as by psql in the installed pod, for the reckoning. */
  const psql = async (query: string): Promise<string> =>
    (
      await run(program('psql'), ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', current.url, '-c', query])
    ).trim();

  before(async function () {
    unlessLong(this, 'it moves the installation to other servers and back, which takes minutes');
    c = await wholeCluster();
    release = await openRelease(c.kubeconfig);
    pair = await startPair({ max_connections: '100' });
    await copyData(c, pair.primary, folder);
    current = pair.primary;
    address = await startAddress(current.port, c.hostIp);
    const file = join(folder, 'objects.json');
    const items = objectsOf(c.hostIp, address.port);
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await c.kubectl('apply', '-f', file);
    await release.upgrade(`postgres.external.existingSecret=${POSTGRES_PAIR}`);
    onPair = await cluster(psql);
    await whole(onPair);
    // Their watches would be counted with those before the fault.
    await eventually('the replaced pods are gone', 120, async () => {
      const labelSelector = `${LABEL.component} in (api,controller)`;
      return (await c!.kube.listAll(PODS, { namespace: NAMESPACE, labelSelector })).items.length === 4;
    });
  });
  after(async () => {
    await onPair?.close();
    if (address !== undefined) {
      await release?.upgrade();
      await c?.kubectl('-n', NAMESPACE, 'delete', 'service,endpointslice,secret', POSTGRES_PAIR, '--ignore-not-found');
      await address.close();
    }
    await release?.close();
    await pair?.stop();
    rmSync(folder, { recursive: true, force: true });
    await c?.close();
  });

  it('no request is lost or doubled', async () => {
    const { primary, standby } = pair!;
    const reckoning = await underLoad(onPair!, async () => {
      await primary.kill();
      await moment(NOTICED_AFTER_MS);
      await sql(standby, 'select pg_promote()');
      current = standby;
      address!.leadTo(standby.port);
    });
    assertTold(reckoning, 0.5, { answered: true });
    await settled(onPair!);
  });
});
