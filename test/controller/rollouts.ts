/**
 * Rollouts of the controller's Deployment: real candidates on a real API server, NATS and Postgres, with random delays
 * between their starts and ends, in listing the pools, and in each write. `node test/controller/rollouts.ts 300` runs
 * many of them while other clients keep the API server busy; rollouts.test.ts a few.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { stringify } from 'yaml';
import { CONFIG_MAPS, LEASES, type KubeClient, type Lease } from '../../src/platform/kube/client.ts';
import { recordOf } from '../../src/platform/kube/lease_record.ts';
import { startReflector } from '../../src/platform/kube/reflector.ts';
import { endAll } from '../at_end.ts';
import { until } from '../until.ts';
import { POOL, TOOLS, startCluster, type Cluster } from './cluster_parts.ts';
import type { Candidate } from './controller_part.ts';

const REPLICAS = 2;
const WRITES = ['create', 'mergePatch', 'mergePatchStatus', 'apply', 'delete', 'deleteAll'] as const;

export interface Rolled {
  seed: number;
  rollouts: number;
  terms: number;
  /** Hand-overs from a holder that had not released the lease. */
  taken: string[];
  /** Calls of a leader, and lines of its log, after it knew that it leads no more. */
  workAfter: string[];
  /** Milliseconds between two holders: the median, and the longest. */
  gapMs: { median: number; longest: number };
}

/** Mulberry32: a run is repeated by its seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const deposed = (log: Candidate['log']): boolean =>
  log.findLast(({ msg }) => msg === 'elected as leader' || msg === 'no longer leading')?.msg === 'no longer leading';
const WORK = ['term started', 'catalog applied', 'shared policies of the chart applied'];

/** A client whose calls are late, and noted if they are made by a leader that knows that it leads no more. */
function lateClient(
  kube: KubeClient,
  random: () => number,
  { log, note }: { log: () => Candidate['log']; note: (call: string) => void },
): KubeClient {
  const late = { ...kube } as Record<string, unknown>;
  for (const call of WRITES)
    late[call] = async (type: { kind: string }, ...rest: unknown[]) => {
      if (deposed(log())) note(`${call} ${type.kind}`);
      await wait(random() * 40);
      return (kube[call] as (...args: unknown[]) => Promise<unknown>)(type, ...rest);
    };
  const list: KubeClient['list'] = async (type, options) => {
    if (type.kind === 'ProbePool') await wait(5 + random() * 100);
    return kube.list(type, options);
  };
  return { ...(late as unknown as KubeClient), list };
}

export const chart = async (kube: KubeClient, revision: number): Promise<void> => {
  const lists = {
    catalog: TOOLS.map((tool) => ({ ...tool, command: [...tool.command, `--revision=${revision}`] })),
    pools: [{ name: 'short', ...POOL, minReady: 0, maxPods: 1 + (revision % 5) }],
    policies: [],
  };
  for (const [name, list] of Object.entries(lists))
    await kube.apply(
      CONFIG_MAPS,
      { metadata: { name: `probeyard-${name}` }, data: { [`${name}.yaml`]: stringify(list) } },
      { fieldManager: 'helm', force: true },
    );
};

/** Hand-overs of the Lease, as a watch shows them. */
async function watchLease(kube: KubeClient) {
  const taken: string[] = [];
  const gaps: number[] = [];
  let epochs = 0;
  let freeAt: number | undefined;
  const seen = (lease: Lease, before?: Lease): void => {
    const [now, former] = [recordOf(lease), before && recordOf(before)];
    if (now.epoch > (former?.epoch ?? 0)) epochs++;
    if (former && former.holder !== '' && former.holder !== now.holder && now.holder !== '')
      taken.push(`epoch ${former.epoch} of ${former.holder} by ${now.holder}`);
    if (now.holder === '') freeAt = performance.now();
    else if (freeAt !== undefined) {
      gaps.push(performance.now() - freeAt);
      freeAt = undefined;
    }
  };
  const leases = startReflector<Lease>({
    client: kube,
    type: LEASES,
    fieldSelector: 'metadata.name=probeyard-controller',
    handlers: { add: (lease) => seen(lease), update: seen },
  });
  await leases.synced;
  return { taken, gaps, terms: () => epochs, stop: () => leases.stop() };
}

export async function rollOut(cluster: Cluster, rollouts: number, seed: number): Promise<Rolled> {
  const random = randomFrom(seed);
  const workAfter: string[] = [];
  const lostWhile: string[] = [];
  const watched = await watchLease(cluster.kube);
  let pods = 0;
  const start = async (): Promise<Candidate> => {
    const name = `controller-${pods++}`;
    const own: { candidate?: Candidate } = {};
    own.candidate = await cluster.candidate({
      collects: false,
      env: { PY_POD_NAME: name },
      writes: lateClient(cluster.kube, random, {
        log: () => own.candidate?.log ?? [],
        note: (call) => workAfter.push(`${name}: ${call}`),
      }),
    });
    return own.candidate;
  };
  const end = async (one: Candidate): Promise<void> => {
    await one.stop();
    for (const { msg, why } of one.log)
      if (msg === 'no longer leading' && why !== 'released') lostWhile.push(String(why));
    let knew = false;
    for (const { msg } of one.log) {
      if (msg === 'no longer leading') knew = true;
      else if (msg === 'elected as leader') knew = false;
      else if (knew && WORK.includes(msg)) workAfter.push(msg);
    }
  };
  await chart(cluster.kube, 0);
  let standing = await Promise.all(Array.from({ length: REPLICAS }, start));
  for (let n = 1; n <= rollouts; n++) {
    await chart(cluster.kube, n);
    for (const former of standing.toSorted(() => random() - 0.5)) {
      standing.push(await start());
      await until('one leads', () =>
        standing.some((one) => !deposed(one.log) && one.log.some(({ msg }) => msg === 'elected as leader')),
      );
      await wait(random() * 250);
      await end(former);
      standing = standing.filter((one) => one !== former);
      await wait(random() * 100);
    }
    if (import.meta.main && n % 25 === 0) console.log(`${n} rollouts, ${watched.terms()} terms`);
  }
  for (const one of standing) await end(one);
  await watched.stop();
  const gaps = watched.gaps.toSorted((a, b) => a - b);
  return {
    seed,
    rollouts,
    terms: watched.terms(),
    taken: [...watched.taken, ...lostWhile],
    workAfter,
    gapMs: { median: gaps[gaps.length >> 1] ?? 0, longest: gaps.at(-1) ?? 0 },
  };
}

/** Eight clients that write as fast as they can. */
function busy({ kube }: Cluster): () => Promise<number> {
  const over = new AbortController();
  const loops = Array.from({ length: 8 }, async (_, index) => {
    const name = `busy-${index}`;
    let calls = 0;
    await kube.create(CONFIG_MAPS, { metadata: { name } });
    for (; !over.signal.aborted; calls++)
      await kube.mergePatch(CONFIG_MAPS, name, { data: { calls: String(calls) } }).catch(() => {});
    return calls;
  });
  return async () => {
    over.abort();
    return (await Promise.all(loops)).reduce((sum, calls) => sum + calls, 0);
  };
}

if (import.meta.main) {
  const [rollouts = 300, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number);
  const cluster = await startCluster({ pools: { short: { minReady: 0 } } });
  const end = busy(cluster);
  const began = performance.now();
  const outcome = await rollOut(cluster, rollouts, seed);
  const seconds = (performance.now() - began) / 1000;
  console.log(
    JSON.stringify(
      { ...outcome, seconds: Math.round(seconds), callsBeside: Math.round((await end()) / seconds) },
      null,
      2,
    ),
  );
  await cluster.stop();
  await endAll();
  process.exitCode = outcome.taken.length + outcome.workAfter.length > 0 ? 1 : 0;
}
