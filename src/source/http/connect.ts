/** Sockets to checked addresses, with TLS where it is asked for, directly or by the egress proxy. */
import { once } from 'node:events';
import { connect, isIP, type LookupFunction, type OnReadOpts, type Socket } from 'node:net';
import {
  connect as connectTls,
  createSecureContext,
  getCACertificates,
  TLSSocket,
  type ConnectionOptions,
  type SecureContext,
} from 'node:tls';
import { tunnelThrough, type EgressRoute } from './egress.ts';
import { SourceError } from '../error.ts';
import { connectionTimeout, noConnection, noTls, refusedAddress } from '../failures.ts';
import type { Address, Guard } from '../address/guard.ts';

export interface ConnectOptions {
  guard: Guard;
  /** Whether the origin's certificate must be valid. */
  verify: boolean;
  context: () => SecureContext;
  egress: EgressRoute | undefined;
  timeoutMs: number;
  /** Application protocols for ALPN; undefined: not sent. */
  alpn?: readonly string[] | undefined;
}

/**
 * One context for all connections: parsing the authorities costs 25 ms and 6 MB each time, and 90 ms and 10 MB with the
 * system's list.
 */
export function trustedContext(ca: string | undefined): () => SecureContext {
  let made: SecureContext | undefined;
  return () => (made ??= createSecureContext(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }));
}

interface Dialling {
  /** The one that the name led to before, for a second connection to the same machine. */
  address?: string | undefined;
  /** Takes what a direct connection reads, in place of the socket's stream. */
  onread?: OnReadOpts | undefined;
  /** How long a direct connection took, and its TLS handshake: undefined before that, and 0 without one. */
  onConnected?: (tcpMs: number, tlsMs: number | undefined) => void;
}

/** Opens a socket to a host: the name is resolved once, the addresses are checked, and only these are connected to. */
export async function openSocket(
  host: string,
  port: number,
  secure: boolean,
  options: ConnectOptions & Dialling,
): Promise<Socket> {
  const signal = AbortSignal.timeout(options.timeoutMs);
  try {
    let tcpMs: number | undefined;
    const socket = await dial(host, port, secure, options, signal, (ms) => {
      tcpMs = ms;
      options.onConnected?.(ms, secure ? undefined : 0);
    });
    // The user of the socket handles its errors. One that occurs before must not end the process.
    socket.on('error', () => {});
    if (!secure) return socket;
    const begun = performance.now();
    // Of a tunnel, the TLS of its socket is that with the proxy.
    const isOfHost = tcpMs !== undefined && socket instanceof TLSSocket;
    const protectedOne = isOfHost ? socket : connectTls({ ...tlsOptions(host, options), socket, host });
    await protection(protectedOne, socket, host, signal);
    if (tcpMs !== undefined) options.onConnected?.(tcpMs, performance.now() - begun);
    return protectedOne;
  } catch (error) {
    throw readable(error, signal);
  }
}

/**
 * The address that a socket leads to, which is not the connected one behind an egress proxy. Undefined: known only to
 * the proxy.
 */
export const addressReached = (socket: Socket): string | undefined => reached.get(socket);
const reached = new WeakMap<Socket, string>();

async function dial(
  host: string,
  port: number,
  secure: boolean,
  options: ConnectOptions & Dialling,
  signal: AbortSignal,
  connected: (ms: number) => void,
): Promise<Socket> {
  const { guard, egress, address, onread } = options;
  const through = egress?.applies(host) === true ? egress : undefined;
  if (through?.resolve === 'proxy') {
    await checkForEgress(guard, host, port);
    return tunnelThrough(through, host, port, signal);
  }
  const addresses =
    address === undefined ? await guard.resolveAndCheck(host, port) : [checkedAgain(address, host, port, guard)];
  if (through !== undefined) return tunnelToOne(through, addresses, port, signal);
  // Node races the address families itself; this look-up returns only the checked addresses.
  const checked: LookupFunction = (_name, wanted, done) => {
    if (wanted.all) done(null, addresses);
    else done(null, addresses[0]!.address, addresses[0]!.family);
  };
  const begun = performance.now();
  const where =
    addresses.length === 1
      ? { host: addresses[0]!.address, port, noDelay: true, onread }
      : { host, port, noDelay: true, lookup: checked, autoSelectFamily: true, onread };
  // TLS passes what it reads to a function only if it makes the connection itself.
  const socket =
    secure && onread !== undefined ? connectTls({ ...tlsOptions(host, options), ...where }) : connect(where);
  // Defence in depth: the connected address must be a checked one. The first to know, so that TLS has not begun.
  let isRefused = false;
  socket.prependOnceListener('connect', () => {
    isRefused = guard.check(socket.remoteAddress ?? '', port, host) !== 'ok';
    if (isRefused) socket.destroy();
  });
  try {
    await once(socket, 'connect', { signal });
    if (isRefused) throw refusedAddress();
  } catch (error) {
    socket.destroy();
    throw error;
  }
  reached.set(socket, socket.remoteAddress ?? '');
  connected(performance.now() - begun);
  return socket;
}

function checkedAgain(address: string, host: string, port: number, guard: Guard): Address {
  if (guard.check(address, port, host) !== 'ok') throw refusedAddress();
  return { address, family: isIP(address) === 6 ? 6 : 4 };
}

/** A proxy without IPv6 rejects such an address at once. More tries are not worth the caller's time. */
const MOST_TUNNELS = 3;

async function tunnelToOne(
  egress: EgressRoute,
  addresses: readonly Address[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  let failure: unknown;
  for (const { address } of addresses.slice(0, MOST_TUNNELS)) {
    try {
      const socket = await tunnelThrough(egress, address, port, signal);
      reached.set(socket, address);
      return socket;
    } catch (error) {
      failure = error;
      if (signal.aborted) break;
    }
  }
  throw failure;
}

/**
 * If the proxy resolves names, a name may be unknown here. Then the proxy must enforce the restriction. A name that
 * resolves here must lead to a permitted address.
 */
export async function checkForEgress(guard: Guard, host: string, port: number): Promise<void> {
  try {
    await guard.resolveAndCheck(host, port);
  } catch (error) {
    if (error instanceof SourceError && error.reason === 'dns') return;
    throw error;
  }
}

const tlsOptions = (host: string, { verify, context, alpn }: ConnectOptions): ConnectionOptions => ({
  servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '',
  secureContext: context(),
  rejectUnauthorized: verify,
  ...(alpn === undefined ? {} : { ALPNProtocols: [...alpn] }),
});

async function protection(secure: TLSSocket, socket: Socket, host: string, signal: AbortSignal): Promise<void> {
  secure.on('error', () => {});
  try {
    await once(secure, 'secureConnect', { signal });
  } catch (cause) {
    secure.destroy();
    socket.destroy();
    if (signal.aborted) throw cause;
    throw noTls(host, cause, secure.authorizationError !== null && secure.authorizationError !== undefined);
  }
}

function readable(error: unknown, signal: AbortSignal): SourceError {
  if (error instanceof SourceError) return error;
  return signal.aborted ? connectionTimeout(error) : noConnection(error);
}
