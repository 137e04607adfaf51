import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import type { Probe } from '../finding.ts';
import { quantile, shownMs } from '../api_server.ts';
import type { Settings } from '../settings.ts';

const ROUNDS = 5;
const WARN_MS = 500;

export interface Lookup {
  name: string;
  durationsMs: readonly number[];
  /** Code of the error, such as ENOTFOUND or EAI_AGAIN. */
  problem?: string | undefined;
}

interface Facts {
  lookups: readonly Lookup[];
  /** Of /etc/resolv.conf. */
  servers: readonly string[];
}

async function lookUp(name: string): Promise<Lookup> {
  const durationsMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    try {
      await lookup(name);
    } catch (error) {
      return { name, durationsMs, problem: (error as NodeJS.ErrnoException).code ?? (error as Error).message };
    }
    durationsMs.push(performance.now() - began);
  }
  return { name, durationsMs };
}

export const serversIn = (resolvConf: string): string[] =>
  resolvConf.split('\n').flatMap((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? []);

/** A cache on each node listens on an address of its own, which no selector of pods covers. */
function nodeCaches(servers: readonly string[]): object[] {
  return servers
    .filter((server) => server.startsWith('169.254.'))
    .map((server) => ({
      to: [{ ipBlock: { cidr: `${server}/32` } }],
      ports: [
        { protocol: 'UDP', port: 53 },
        { protocol: 'TCP', port: 53 },
      ],
    }));
}

export const dns: Probe<Facts, Settings> = {
  id: 'dns',
  title: 'DNS',
  wanted: `every name resolves within ${shownMs(WARN_MS)}`,
  why: 'Each source is looked up by its name. networkPolicy.dns says which pods answer.',
  collect: async ({ names, nats }) => ({
    lookups: await Promise.all([...new Set([...names, ...nats.map(({ host }) => host)])].map(lookUp)),
    servers: serversIn(await readFile('/etc/resolv.conf', 'utf8').catch(() => '')),
  }),
  verdict({ lookups, servers }) {
    const failed = lookups.filter(({ problem }) => problem !== undefined);
    const rules = nodeCaches(servers);
    const extra = ['runnerExtraEgress', 'apiExtraEgress', 'controllerExtraEgress'];
    const set =
      rules.length === 0 ? undefined : Object.fromEntries(extra.map((name) => [`networkPolicy.${name}`, rules]));
    if (failed.length > 0) {
      const problems = failed.map(({ name, problem }) => `${name}: ${problem}`).join(', ');
      return { status: 'fail', found: `${problems} (asked ${servers.join(', ') || 'no server'})`, set };
    }
    const slowest = Math.max(...lookups.map(({ durationsMs }) => quantile(durationsMs, 0.5)));
    const found = `${lookups.map(({ name }) => name).join(', ')} in ${shownMs(slowest)}`;
    return { status: slowest > WARN_MS ? 'warn' : 'pass', found, set };
  },
};
