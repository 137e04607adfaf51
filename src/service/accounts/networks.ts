/**
 * Groups client addresses for limits. An IPv6 client controls a /64: a limit per address would be none, with 2^64 of
 * them.
 */
import ipaddr from 'ipaddr.js';

/** Accepts `192.0.2.1:443` and `[2001:db8::1]:443`, as some proxies write them. */
function parsed(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const bare = text
    .trim()
    .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
    .replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
    .replace(/%.*$/s, '');
  if (!ipaddr.IPv4.isValidFourPartDecimal(bare) && !ipaddr.IPv6.isValid(bare)) return null;
  return ipaddr.process(bare);
}

const folded = (text: string, v4Bits: number): string => {
  const address = parsed(text);
  // All invalid values count as one client: otherwise an attacker could invent any number of them.
  if (address === null) return 'unknown';
  const bits = address.kind() === 'ipv4' ? v4Bits : 64;
  const bytes = address.toByteArray().map((byte, index) => (index < bits / 8 ? byte : 0));
  return `${ipaddr.fromByteArray(bytes).toString()}/${bits}`;
};

const PRIVATE: readonly string[] = ['private', 'loopback', 'linkLocal', 'uniqueLocal', 'carrierGradeNat'];

/**
 * Whether many callers come from this address. Without a trusted proxy, a private address is usually that of a node or
 * a proxy in front (SNAT), and not that of a caller.
 */
export const isShared = (address: string, trustedHops: number): boolean =>
  trustedHops === 0 && PRIVATE.includes(parsed(address)?.range() ?? '');

/** One IPv4 address, or a /64 of IPv6. */
export const siteOf = (address: string): string => folded(address, 32);

/** A /24 of IPv4, or a /64 of IPv6. */
export const networkOf = (address: string): string => folded(address, 24);
