/**
 * Which pool runs a job: the first, by priority and then by name, that serves it. Another leader decides the same,
 * because nothing else counts. Pure.
 */
import type { Kind } from './probe_job.ts';
import type { ProbePool, ProbePoolSpec, ServedKind } from './probe_pool.ts';

/** Content checks, which pools serve as if they were a kind. */
const CHECKS = 'qc' satisfies ServedKind;

/** What a pool is chosen by. */
export interface Routed {
  /** The first of them that any pool serves. */
  kinds: readonly ServedKind[];
  /** Undefined: of any account. */
  account: number | undefined;
  /** Of the ProbeJob. */
  labels: Readonly<Record<string, string>> | undefined;
}

export const inOrder = (pools: Iterable<ProbePool>): ProbePool[] =>
  [...pools].toSorted(
    (one, other) =>
      (other.spec.priority ?? 0) - (one.spec.priority ?? 0) || (one.metadata.name < other.metadata.name ? -1 : 1),
  );

interface ServedAs {
  kind: Kind;
  tools: readonly { name: string }[];
}

/** Content checks decode whole films: no probe waits behind them where a pool serves them. */
export const servedKinds = ({ kind, tools }: ServedAs): ServedKind[] =>
  tools.some(({ name }) => name === CHECKS) ? [CHECKS, kind] : [kind];

type Serves = ProbePoolSpec['serves'];

const fits = ({ kinds, labels = {} }: Serves, kind: ServedKind, given: Routed['labels']): boolean =>
  kinds.includes(kind) && Object.entries(labels).every(([name, value]) => given?.[name] === value);

const serves = (of: Serves, kind: ServedKind, { account, labels }: Omit<Routed, 'kinds'>): boolean =>
  fits(of, kind, labels) && (of.accounts === undefined || (account !== undefined && of.accounts.includes(account)));

/** Those that may run a job: which of them does is a question of its account, too. */
export const mayRun = <Pool extends Pick<ProbePool, 'spec'>>(
  pools: readonly Pool[],
  { kinds, labels }: Omit<Routed, 'account'>,
): Pool[] => pools.filter(({ spec }) => kinds.some((kind) => fits(spec.serves, kind, labels)));

export function routeOf(pools: readonly ProbePool[], { kinds, ...job }: Routed): ProbePool | undefined {
  const first = (kind: ServedKind) => pools.find(({ spec }) => serves(spec.serves, kind, job));
  return kinds.map(first).find((pool) => pool !== undefined);
}

/** The pools that take every job of this one before it; undefined if a job can reach it. */
export function shadowsOf(pools: readonly ProbePool[], { metadata, spec }: ProbePool): string[] | undefined {
  const before = pools.slice(
    0,
    pools.findIndex((one) => one.metadata.name === metadata.name),
  );
  const { kinds, accounts = [undefined], labels = {} } = spec.serves;
  const takers = kinds.flatMap((kind) =>
    accounts.map((account) => routeOf(before, { kinds: [kind], account, labels })?.metadata.name),
  );
  const names = takers.filter((name) => name !== undefined);
  return names.length === takers.length ? [...new Set(names)] : undefined;
}
