import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { PODS } from '../../src/kube/client.ts';
import { LABEL } from '../../src/kube/resource.ts';
import { NAMESPACE, cluster, eventually, type Cluster } from '../cluster/fixture.ts';
import { openRelease, type Release } from '../cluster/helm.ts';
import { run } from '../node/command.ts';
import { postgresDirectory, startPostgres, type PostgresServer } from '../servers.ts';
import { startAddress, type Address } from '../store/address.ts';
import { until } from '../until.ts';
import { assertTold, moment, settled, underLoad } from './load.ts';
import { unlessLong } from './long.ts';
import { whole, wholeCluster } from './whole.ts';

const INSTALLED = 'probeyard-postgres-0';
const PAIR = 'postgres-pair';
/** Until an operator notices that a primary is gone. */
const NOTICED_AFTER_MS = 5_000;

const program = (name: string): string => join(postgresDirectory(), name);

/** One address inside the cluster, and the Secret that names it. */
const objectsOf = (host: string, port: number): object[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: PAIR, namespace: NAMESPACE },
    spec: { ports: [{ port: 5432, targetPort: port }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: PAIR, namespace: NAMESPACE, labels: { 'kubernetes.io/service-name': PAIR } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [host], conditions: { ready: true } }],
    ports: [{ port }],
  },
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: PAIR, namespace: NAMESPACE },
    stringData: { url: `postgres://probeyard@${PAIR}.${NAMESPACE}.svc:5432/postgres` },
  },
];

async function query<T>({ url }: PostgresServer, text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows as T[];
  } finally {
    await client.end();
  }
}

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
  const servers: PostgresServer[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-pair-'));
  let current: PostgresServer;

  const sql = (text: string): Promise<string> =>
    run(program('psql'), ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', current.url, '-c', text]).then(
      (printed) => printed.trim(),
    );

  before(async function () {
    unlessLong(this, 'it moves the installation to other servers and back, which takes minutes');
    c = await wholeCluster();
    release = await openRelease(c.kubeconfig);
    const primary = await startPostgres({ settings: { max_connections: '100' } });
    servers.push(primary);
    await copyData(c, primary, folder);
    servers.push(await startPostgres({ standbyOf: primary.port, settings: { max_connections: '100' } }));
    await query(primary, `alter system set synchronous_standby_names = '*'`);
    await query(primary, 'select pg_reload_conf()');
    await until('the standby is synchronous', async () => {
      const [state] = await query<{ sync_state: string }>(primary, 'select sync_state from pg_stat_replication');
      return state?.sync_state === 'sync';
    });
    current = primary;
    address = await startAddress(primary.port, c.hostIp);
    const file = join(folder, 'objects.json');
    const items = objectsOf(c.hostIp, address.port);
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await c.kubectl('apply', '-f', file);
    await release.upgrade(`postgres.external.existingSecret=${PAIR}`);
    onPair = await cluster(sql);
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
      await c?.kubectl('-n', NAMESPACE, 'delete', 'service,endpointslice,secret', PAIR, '--ignore-not-found');
      await address.close();
    }
    await release?.close();
    for (const server of servers) await server.stop();
    rmSync(folder, { recursive: true, force: true });
    await c?.close();
  });

  it('no request is lost or doubled', async () => {
    const [primary, standby] = servers as [PostgresServer, PostgresServer];
    const reckoning = await underLoad(onPair!, async () => {
      await primary.kill();
      await moment(NOTICED_AFTER_MS);
      await query(standby, 'select pg_promote()');
      current = standby;
      address!.leadTo(standby.port);
    });
    assertTold(reckoning, 0.5, { answered: true });
    await settled(onPair!);
  });
});
