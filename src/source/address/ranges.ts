/** Public addresses. All others are refused unless an operator allows them explicitly. */
import { BlockList, isIP } from 'node:net';

/** Non-public IPv4: IANA's special-purpose registry, and metadata addresses of clouds. */
const PRIVATE_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '168.63.129.16/32', // one cloud's host agent, on a public address
];

/** IPv6 is refused by default: only global unicast is public, except for ranges that embed IPv4 or are reserved. */
const PUBLIC_IPV6 = ['2000::/3'];
const PRIVATE_IPV6 = [
  '2001::/23', // Teredo, ORCHID, benchmarks
  '2001:db8::/32',
  '2002::/16', // documentation; 6to4
  '2620:4f:8000::/48',
  '3fff::/20',
];

export function blockList(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) addCidr(list, cidr);
  return list;
}

export function addCidr(list: BlockList, cidr: string): void {
  const [address = '', bits] = cidr.split('/');
  const family = isIP(address);
  const most = family === 6 ? 128 : 32;
  const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : NaN;
  if (family === 0 || address.includes('%') || !(prefix >= 0 && prefix <= most))
    throw new TypeError(`not a CIDR: ${cidr}`);
  list.addSubnet(address, prefix, family === 6 ? 'ipv6' : 'ipv4');
}

const NOT_PUBLIC_4 = blockList(PRIVATE_IPV4);
const PUBLIC_6 = blockList(PUBLIC_IPV6);
const NOT_PUBLIC_6 = blockList(PRIVATE_IPV6);

export const isPublic4 = (address: string): boolean => !NOT_PUBLIC_4.check(address, 'ipv4');
export const isPublic6 = (address: string): boolean =>
  PUBLIC_6.check(address, 'ipv6') && !NOT_PUBLIC_6.check(address, 'ipv6');

/** The IPv4 address inside an IPv4-mapped or NAT64 one, which is judged by that address. */
export function embeddedIPv4(address: string): { kind: 'mapped' | 'nat64'; address: string } | undefined {
  const groups = ipv6Groups(address);
  if (groups === undefined) return undefined;
  const last = `${groups[6]! >> 8}.${groups[6]! & 255}.${groups[7]! >> 8}.${groups[7]! & 255}`;
  const head = groups.slice(0, 6);
  if (head.slice(0, 5).every((g) => g === 0) && head[5] === 0xffff) return { kind: 'mapped', address: last };
  if (head[0] === 0x64 && head[1] === 0xff9b) return { kind: 'nat64', address: last };
  return undefined;
}

/** The eight groups of an IPv6 address in any spelling. */
function ipv6Groups(address: string): number[] | undefined {
  if (isIP(address) !== 6 || address.includes('%')) return undefined;
  const normal = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = normal.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const gap = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...(tail === undefined ? [] : gap), ...right].map((group) => parseInt(group, 16));
}
