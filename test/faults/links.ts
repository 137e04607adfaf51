/**
 * The connections that each process of the product holds to NATS, Postgres and the API server, by the tables of the
 * node, and the watches that the API server counts. A fault may break any of them; afterwards there are as many as
 * before, and no more.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { eventually, NAMESPACE, type Cluster } from '../cluster/fixture.ts';

const ROLES = ['api', 'controller', 'runner'] as const;
type Role = (typeof ROLES)[number];
const ROLE_OF: Readonly<Record<Role, RegExp>> = {
  api: /^probeyard-api-/,
  controller: /^probeyard-controller-/,
  runner: /^runner-/,
};
const SERVERS = ['nats', 'postgres', 'kubernetes'] as const;
type Server = (typeof SERVERS)[number];

export interface Links {
  role: Role;
  pod: string;
  pid: number;
  to: Record<Server, number>;
}

/** The Service that is used in place of the installed PostgreSQL while `postgres_failed_over` runs. */
export const POSTGRES_PAIR = 'postgres-pair';

const ESTABLISHED = '01';

interface Service {
  metadata: { name: string };
  spec: { clusterIP?: string; ports?: { port: number }[] };
}
interface NatsPod {
  status: { podIP?: string };
}
const NATS_PODS = ['-n', NAMESPACE, 'get', 'pods', '-l', 'app.kubernetes.io/component=nats', '-o', 'json'];
const NATS_PORT = 4222;

/** `0A010203:10E8` in /proc/net/tcp: the address in the machine's byte order, the port in network order. */
const endpoint = (address: string, port: number): string =>
  `${address
    .split('.')
    .toReversed()
    .map((part) => Number(part).toString(16).padStart(2, '0'))
    .join('')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();

/** Peers of the established TCP connections of this process alone. Other processes share its network. */
function peersOf(pid: number): string[] {
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        // Closed between the two reads.
        return [];
      }
    }),
  );
  return readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const fields = line.trim().split(/\s+/);
      return fields[3] === ESTABLISHED && own.has(fields[9] ?? '') ? [fields[2] ?? ''] : [];
    });
}

/** Process 1 of a runner's agent, which only waits for it and holds nothing. */
const waits = (pid: string): boolean =>
  readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('/app/bin/listener\0');

/** The main process of each container of the product. */
function mainProcesses(): { role: Role; pod: string; pid: number }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const pod = /\0PY_POD_NAME=([^\0]+)\0/.exec(`\0${readFileSync(`/proc/${name}/environ`, 'latin1')}`)?.[1];
        const role = ROLES.find((one) => pod !== undefined && ROLE_OF[one].test(pod));
        return pod === undefined || role === undefined || waits(name) ? [] : [{ role, pod, pid: Number(name) }];
      } catch {
        return [];
      }
    });
}

async function links(c: Cluster): Promise<Links[]> {
  const { items } = JSON.parse(await c.kubectl('get', 'services', '-A', '-o', 'json')) as { items: Service[] };
  const serviceOf = (...names: string[]): string => {
    const spec = items.find(({ metadata }) => names.includes(metadata.name))?.spec;
    const [port] = spec?.ports ?? [];
    if (spec?.clusterIP === undefined || port === undefined)
      throw new Error(`there is no service ${names.join(' or ')}`);
    return endpoint(spec.clusterIP, port.port);
  };
  const nats = serviceOf('probeyard-nats');
  const servers = JSON.parse(await c.kubectl(...NATS_PODS)) as { items: NatsPod[] };
  const peers: Record<Server, readonly string[]> = {
    // A cluster of NATS tells its clients the addresses of all its servers.
    nats: [nats, ...servers.items.flatMap(({ status }) => (status.podIP ? [endpoint(status.podIP, NATS_PORT)] : []))],
    postgres: [serviceOf('probeyard-postgres', POSTGRES_PAIR)],
    kubernetes: [serviceOf('kubernetes')],
  };
  return mainProcesses().flatMap(({ role, pod, pid }) => {
    try {
      const open = peersOf(pid);
      const count = (server: Server): number => open.filter((peer) => peers[server].includes(peer)).length;
      return [
        { role, pod, pid, to: { nats: count('nats'), postgres: count('postgres'), kubernetes: count('kubernetes') } },
      ];
    } catch {
      // It has exited meanwhile.
      return [];
    }
  });
}

/** Watches of the product's own resources, as counted by the API server. */
async function watches(c: Cluster): Promise<Record<string, number>> {
  const text = await c.kubectl('get', '--raw', '/metrics');
  const counts: Record<string, number> = {};
  for (const [, labels, value] of text.matchAll(/^apiserver_longrunning_requests\{([^}]*)\} (\d+)/gm)) {
    if (!/group="probeyard.dev"/.test(labels!) || !/verb="WATCH"/.test(labels!)) continue;
    const resource = /resource="(\w+)"/.exec(labels!)?.[1] ?? '';
    counts[resource] = (counts[resource] ?? 0) + Number(value);
  }
  return counts;
}

/** For each role, the most that one of its processes holds. */
const mostOf = (all: readonly Links[], role: Role, server: Server): number =>
  Math.max(0, ...all.filter((one) => one.role === role).map(({ to }) => to[server]));

export interface Held {
  links: Links[];
  watches: Record<string, number>;
}
export const held = async (c: Cluster): Promise<Held> => ({ links: await links(c), watches: await watches(c) });

/**
 * What a cluster at rest holds. After a replica was killed, nobody drives the batches, or watches ProbeBatches and
 * ProbeSources, until its lease is over; the garbage collector of the cluster watches them, too.
 */
export const heldAtRest = (c: Cluster): Promise<Held> =>
  eventually('a replica watches ProbeBatches and ProbeSources', 60, async () => {
    const all = await held(c);
    return ['probebatches', 'probesources'].every((kind) => (all.watches[kind] ?? 0) >= 2) && all;
  });

/** A pool of ten, and a listener for changed tokens; the API has one for batches and one for webhooks, too. */
const POSTGRES_AT_MOST = { api: 13, controller: 11 };

/** Throws the difference, so that a polling wait can repeat it. */
export function assertHeldAsBefore(now: Held, before: Held): void {
  for (const { pod, pid, role, to } of now.links) {
    assert.equal(to.nats, 1, `${pod} (${pid}) holds ${to.nats} connections to NATS`);
    if (role !== 'runner')
      assert.ok(
        to.postgres >= 1 && to.postgres <= POSTGRES_AT_MOST[role],
        `${pod} (${pid}) holds ${to.postgres} connections to Postgres`,
      );
    const most = mostOf(before.links, role, 'kubernetes') + 1;
    assert.ok(
      to.kubernetes <= most,
      `${pod} (${pid}) holds ${to.kubernetes} connections to the API server, ${most} at most before`,
    );
  }
  assert.deepEqual(now.watches, before.watches, 'watches of the API server');
}
