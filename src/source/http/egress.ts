/** Tunnels through the egress proxy of the installation. */
import { once } from 'node:events';
import { request } from 'node:http';
import { BlockList, connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { SourceError, unreachable } from '../error.ts';
import { addCidr } from '../address/ranges.ts';
import { hostText } from '../address/target.ts';

/**
 * The installation's egress proxy. Its address comes from the operator and is not checked by the guard; the
 * destinations are.
 */
export interface Egress {
  /** `http://proxy:3128`, `https://user:pass@proxy:443` */
  url: string;
  /** Names, suffixes (`.example.com`) and CIDRs that are connected to directly. */
  noProxy?: readonly string[];
  /**
   * Where host names are resolved. `here`, the default: the proxy gets the checked address, so that its name server
   * cannot return a different one. `proxy`: it gets the name, and must itself deny private ranges.
   */
  resolve?: EgressResolve;
}
export type EgressResolve = 'here' | 'proxy';

export type EgressRoute = ReturnType<typeof egressRoute>;

/** `context`: what vouches for a proxy that speaks TLS; without it, Node's own authorities. */
export function egressRoute(egress: Egress, context?: () => SecureContext) {
  const url = new URL(egress.url);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError('the egress proxy must be an http or https address');
  const user = decodeURIComponent(url.username);
  const authorization =
    user === '' ? undefined : `Basic ${Buffer.from(`${user}:${decodeURIComponent(url.password)}`).toString('base64')}`;
  const entries = (egress.noProxy ?? []).map((entry) => entry.trim().toLowerCase()).filter((entry) => entry !== '');
  const names = entries.filter((entry) => isIP(entry.split('/')[0]!) === 0);
  const ranges = new BlockList();
  for (const entry of entries) if (!names.includes(entry)) addCidr(ranges, entry);
  const direct = (host: string): boolean => {
    const family = isIP(host);
    if (family !== 0) return ranges.check(host, family === 6 ? 'ipv6' : 'ipv4');
    return names.some(
      (name) => name === '*' || host === name.replace(/^\*?\./, '') || host.endsWith(`.${name.replace(/^\*?\./, '')}`),
    );
  };
  const applies = (host: string): boolean => !direct(host.toLowerCase());
  return { url, authorization, context, resolve: egress.resolve ?? 'here', applies };
}

/** Connects to the egress proxy itself. */
export async function dialEgress(route: EgressRoute, signal: AbortSignal): Promise<Socket> {
  const host = route.url.hostname.replace(/^\[|\]$/g, '');
  const secure = route.url.protocol === 'https:';
  const port = route.url.port === '' ? (secure ? 443 : 80) : Number(route.url.port);
  const socket: Socket = secure
    ? connectTls({ host, port, servername: isIP(host) === 0 ? host : '', secureContext: route.context?.() })
    : connect({ host, port });
  try {
    await once(socket, secure ? 'secureConnect' : 'connect', { signal });
    return socket;
  } catch (cause) {
    socket.destroy();
    throw unreachable('connect', 'the egress proxy cannot be reached', { cause });
  }
}

/** Opens a tunnel through the proxy to a host. */
export async function tunnelThrough(
  route: EgressRoute,
  host: string,
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = await dialEgress(route, signal);
  const authority = `${hostText(host)}:${port}`;
  const asked = request({
    createConnection: () => socket,
    method: 'CONNECT',
    path: authority,
    signal,
    headers: {
      host: authority,
      ...(route.authorization === undefined ? {} : { 'proxy-authorization': route.authorization }),
    },
  });
  asked.end();
  const answered = new Promise<{ status: number; head: Buffer }>((resolve, reject) => {
    asked.once('connect', (response, _socket, head: Buffer) => resolve({ status: response.statusCode ?? 0, head }));
    asked.once('response', (response) => resolve({ status: response.statusCode ?? 0, head: Buffer.alloc(0) }));
    asked.once('error', reject);
  });
  try {
    const { status, head } = await answered;
    if (status < 200 || status > 299) {
      throw unreachable('connect', `the egress proxy refused the connection (${status})`, { detail: authority });
    }
    if (head.length > 0) socket.unshift(head);
    return socket;
  } catch (error) {
    socket.destroy();
    if (error instanceof SourceError) throw error;
    throw unreachable('connect', 'the egress proxy did not open a connection', { detail: authority, cause: error });
  }
}
