/** Decides which addresses may be connected to, and resolves a name to those that may. */
import { BlockList, isIP } from 'node:net';
import { isSourceError, unreachable } from '../error.ts';
import { refusedAddress } from '../failures.ts';
import type { SourceException } from '../../base/source_settings.ts';
import { addCidr, blockList, embeddedIPv4, isPublic4, isPublic6 } from './ranges.ts';
import { resolveName, type Address, type Lookup } from './resolver.ts';

export type { Address, Lookup } from './resolver.ts';

export interface GuardOptions {
  allow?: readonly SourceException[];
  /** Service, pod and node ranges of the cluster: refused even if they are public addresses. */
  denyExtra?: readonly string[];
  /**
   * The operator's own host names, in addition to those in `allow`: they are resolved with the machine's hosts file and
   * search domains.
   */
  ownHosts?: readonly string[];
  lookup?: Lookup;
}

export interface Guard {
  /** Whether a socket may be opened to this address. */
  check(address: string, port?: number, host?: string): 'ok' | 'refused';
  /**
   * The permitted addresses of a name. Throws `refused` if there is none, and `origin-unreachable` if the name has no
   * address.
   */
  resolveAndCheck(host: string, port: number): Promise<Address[]>;
  /** Guards with equal keys make equal decisions, so they can share connections. */
  readonly key: string;
}

interface Rule {
  list: BlockList | undefined;
  host: string | undefined;
  port: number | undefined;
}

export function makeGuard(options: GuardOptions = {}): Guard {
  const allow = options.allow ?? [];
  const rules = allow.map(ruleOf);
  const denied = blockList(options.denyExtra ?? []);
  const look = options.lookup ?? resolveName;
  const own = [
    ...rules.flatMap(({ host }) => host ?? []),
    ...(options.ownHosts ?? []).map((name) => name.toLowerCase()),
  ];

  const allowed = (
    address: string,
    family: 'ipv4' | 'ipv6',
    port: number | undefined,
    host: string | undefined,
  ): boolean =>
    rules.some((rule) => {
      if (rule.port !== undefined && rule.port !== port) return false;
      if (rule.host !== undefined && (host === undefined || !hostFits(rule.host, host))) return false;
      if (rule.list !== undefined) return rule.list.check(address, family);
      // An exception by name alone does not permit loopback, link-local or metadata addresses: whoever controls the
      // name could point it there.
      return !NEVER_BY_NAME.check(address, family);
    });

  const check: Guard['check'] = (address, port, host) => {
    const family = address.includes('%') ? 0 : isIP(address);
    if (family === 0) return 'refused';
    if (family === 4)
      return (isPublic4(address) && !denied.check(address, 'ipv4')) || allowed(address, 'ipv4', port, host)
        ? 'ok'
        : 'refused';
    const inner = embeddedIPv4(address);
    if (inner?.kind === 'mapped') return check(inner.address, port, host);
    if (isPublic6(address) && !denied.check(address, 'ipv6')) return 'ok';
    if (!allowed(address, 'ipv6', port, host)) return 'refused';
    return inner === undefined ? 'ok' : check(inner.address, port, host);
  };

  const resolveAndCheck: Guard['resolveAndCheck'] = async (host, port) => {
    const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
    const family = isIP(bare);
    const found: Address[] =
      family === 0
        ? await resolve(
            look,
            bare,
            own.some((name) => hostFits(name, bare)),
          )
        : [{ address: bare, family: family as 4 | 6 }];
    const good = found.filter(({ address }) => check(address, port, bare) === 'ok');
    if (good.length > 0) return good;
    throw refusedAddress({ detail: `${bare}:${port} is ${found.map(({ address }) => address).join(', ')}` });
  };

  const key = JSON.stringify([allow, options.denyExtra ?? []]);
  return { check, resolveAndCheck, key };
}

const NEVER_BY_NAME = blockList([
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/3',
  '::/96',
  'fe80::/10',
  'ff00::/8',
  'fd00:ec2::/32',
  'fd20:ce::/32',
  '168.63.129.16/32',
  '100.100.100.200/32',
  '192.0.0.0/24',
]);

function ruleOf({ cidr, host, port }: SourceException): Rule {
  if (cidr === undefined && host === undefined) throw new TypeError('an exception must name a cidr or a host');
  if (cidr === undefined) return { list: undefined, host: host?.toLowerCase(), port };
  const list = new BlockList();
  addCidr(list, cidr);
  return { list, host: host?.toLowerCase(), port };
}

function hostFits(wanted: string, host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return wanted.startsWith('*.') ? name.endsWith(wanted.slice(1)) && name.length > wanted.length - 1 : name === wanted;
}

async function resolve(look: Lookup, host: string, ours: boolean): Promise<Address[]> {
  let found: Address[];
  try {
    found = await look(host, ours);
  } catch (error) {
    if (isSourceError(error)) throw error;
    throw unreachable('dns', `cannot resolve host name ${host}`, { detail: (error as Error).message, cause: error });
  }
  if (found.length === 0) throw unreachable('dns', `cannot resolve host name ${host}: it has no address`);
  return found;
}
