/**
 * Resolves the host names of sources and webhooks. It uses DNS through c-ares and not getaddrinfo(), which blocks a
 * thread while a name server is silent. libuv gives getaddrinfo() two of its four threads: with 32 silent names,
 * look-ups of Postgres and NATS wait behind them.
 */
import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { makeTurns } from '../../base/turns.ts';
import { type SourceError, unreachable } from '../error.ts';

/** Local name resolution: the hosts file (a pod's hostAliases), and the search domains of resolv.conf. */
export interface LocalNames {
  hosts: ReadonlyMap<string, readonly Address[]>;
  search: readonly string[];
}

const MOST_DOMAINS = 6;

export function readLocalNames(hostsFile: string, resolvConf: string): LocalNames {
  const hosts = new Map<string, Address[]>();
  for (const [address = '', ...names] of wordsOf(hostsFile)) {
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names)
      hosts.set(name.toLowerCase(), [...(hosts.get(name.toLowerCase()) ?? []), { address, family: family as 4 | 6 }]);
  }
  // The last entry takes effect.
  const [, ...domains] = wordsOf(resolvConf).findLast(([key]) => key === 'search' || key === 'domain') ?? [];
  return {
    hosts,
    search: domains
      .map((domain) => domain.toLowerCase().replace(/\.$/, ''))
      .filter((domain) => domain !== '')
      .slice(0, MOST_DOMAINS),
  };
}

const wordsOf = (text: string): string[][] =>
  text.split('\n').map((line) =>
    line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/),
  );

let ownNames: LocalNames | undefined;

/** Read once: Kubernetes writes both files before the container starts. */
const localNames = (): LocalNames => (ownNames ??= readLocalNames(textOf('/etc/hosts'), textOf('/etc/resolv.conf')));

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

export interface Address {
  address: string;
  family: 4 | 6;
}
/** `ours`: the operator named this host, so the machine's hosts file and search domains apply too. */
export type Lookup = (host: string, ours: boolean) => Promise<Address[]>;

export interface ResolverOptions {
  /** Overrides the name servers of resolv.conf. */
  servers?: readonly string[];
  /** Total time for one name, including the wait for a slot. */
  deadlineMs?: number;
  /** Maximum number of concurrent look-ups; further ones wait. */
  mostAtOnce?: number;
  local?: () => LocalNames;
}

/** A lost packet costs one try. */
const TRY_MS = 1500;
const TRIES = 3;
/** Additional time for one address family once the other has answered: some name servers never answer for IPv6. */
const OTHER_FAMILY_MS = 300;
const MOST_PER_FAMILY = 8;
/** Time for one of several candidates of an operator's name. */
const CANDIDATE_MS = 2000;

export function makeResolver({
  servers,
  deadlineMs = 5000,
  mostAtOnce = 64,
  local = localNames,
}: ResolverOptions = {}): Lookup {
  const turns = makeTurns(mostAtOnce);
  const asked = new Map<string, Promise<Address[]>>();
  const ask = (name: string, limitMs: number): Promise<Address[]> => query(name, { servers, limitMs });

  const find = (name: string, ours: boolean): Promise<Address[]> => {
    const until = performance.now() + deadlineMs;
    // Those before it had their places earlier and end by their own deadlines, so none waits beyond its own.
    return turns.run(async () => {
      const left = until - performance.now();
      if (left <= 0) throw unresolved(name, 'too many look-ups are in progress');
      return ours ? await findOurs(name, local(), until, ask) : await ask(name, left);
    });
  };

  return (host, ours) => {
    const name = host.toLowerCase();
    const bare = name.replace(/\.$/, '');
    const family = isIP(bare);
    if (family !== 0) return Promise.resolve([{ address: bare, family: family as 4 | 6 }]);
    // RFC 6761: never resolved by DNS.
    if (bare === 'localhost' || bare.endsWith('.localhost'))
      return Promise.resolve([
        { address: '127.0.0.1', family: 4 },
        { address: '::1', family: 6 },
      ]);
    if (bare.length > 253 || !bare.split('.').every((label) => label.length >= 1 && label.length <= 63))
      return Promise.reject(unresolved(bare.slice(0, 64), 'not a valid host name'));
    // Shares look-ups in progress, because several connections to one host are opened at once.
    const key = `${ours ? 'o' : 'c'} ${ours ? name : bare}`;
    const known = asked.get(key);
    if (known !== undefined) return known;
    const finding = find(ours ? name : bare, ours).finally(() => asked.delete(key));
    asked.set(key, finding);
    return finding;
  };
}

/** Shared by the process, so that one bound covers all look-ups. */
export const resolveName: Lookup = makeResolver();

type Ask = (name: string, limitMs: number) => Promise<Address[]>;

/** Follows resolv.conf(5), except that a name with a dot is tried as absolute first. */
async function findOurs(name: string, { hosts, search }: LocalNames, until: number, ask: Ask): Promise<Address[]> {
  const bare = name.replace(/\.$/, '');
  const known = hosts.get(bare);
  if (known !== undefined) return [...known];
  const longer = name.endsWith('.') ? [] : search.map((domain) => `${bare}.${domain}`);
  let failure: unknown;
  for (const candidate of bare.includes('.') ? [bare, ...longer] : [...longer, bare]) {
    const left = until - performance.now();
    if (left <= 0) break;
    try {
      return await ask(candidate, Math.min(left, CANDIDATE_MS));
    } catch (error) {
      if (failure === undefined || candidate === bare) failure = error;
    }
  }
  throw failure ?? unresolved(bare, 'no answer in time');
}

/**
 * Queries both families in parallel. Settles only when c-ares has finished both, so that the count of look-ups is
 * exact.
 */
async function query(
  name: string,
  { servers, limitMs }: { servers: readonly string[] | undefined; limitMs: number },
): Promise<Address[]> {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  let late = false;
  const deadline = setTimeout(
    () => {
      late = true;
      resolver.cancel();
    },
    Math.max(0, limitMs),
  );
  let patience: NodeJS.Timeout | undefined;
  const impatient = (found: string[]): string[] => {
    if (found.length > 0) patience ??= setTimeout(() => resolver.cancel(), OTHER_FAMILY_MS);
    return found;
  };
  const answers = await Promise.allSettled([
    resolver.resolve4(name).then(impatient),
    resolver.resolve6(name).then(impatient),
  ]);
  clearTimeout(deadline);
  clearTimeout(patience);
  const found = answers.flatMap((answer, at) =>
    answer.status === 'fulfilled' ? addressesOf(answer.value, at === 0 ? 4 : 6) : [],
  );
  if (found.length > 0) return found;
  const codes = answers.flatMap((answer) =>
    answer.status === 'rejected' ? [String((answer.reason as NodeJS.ErrnoException).code)] : [],
  );
  throw unresolved(name, late ? 'no answer in time' : reasonOf(codes));
}

const addressesOf = (found: readonly string[], family: 4 | 6): Address[] =>
  [...new Set(found)]
    .filter((address) => isIP(address) === family)
    .slice(0, MOST_PER_FAMILY)
    .map((address) => ({ address, family }));

const PERMANENT: ReadonlyMap<string, string> = new Map([
  ['ENOTFOUND', 'it does not exist (NXDOMAIN)'],
  ['ENODATA', 'it has no address'],
  ['EBADNAME', 'not a valid host name'],
]);
const PASSING: ReadonlyMap<string, string> = new Map([
  ['ETIMEOUT', 'no answer in time'],
  ['ESERVFAIL', 'the name server failed (SERVFAIL)'],
  ['EREFUSED', 'the name server refused to answer (REFUSED)'],
  ['ECONNREFUSED', 'the name server cannot be reached'],
]);

/** Transient causes take precedence over permanent ones. */
function reasonOf(codes: readonly string[]): string {
  const code =
    codes.find((one) => PASSING.has(one)) ?? codes.find((one) => !PERMANENT.has(one)) ?? codes[0] ?? 'ENODATA';
  return (
    PASSING.get(code) ?? PERMANENT.get(code) ?? `the name server sent an invalid answer (${code.replace(/^E/, '')})`
  );
}

const unresolved = (name: string, why: string): SourceError =>
  unreachable('dns', `cannot resolve host name ${name}: ${why}`);
