import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Address } from './resolver.ts';

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

let known: LocalNames | undefined;

/** Read once: Kubernetes writes both files before the container starts. */
export const localNames = (): LocalNames =>
  (known ??= readLocalNames(textOf('/etc/hosts'), textOf('/etc/resolv.conf')));

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
