import { once } from 'node:events';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, getCACertificates, type SecureContext, type TLSSocket } from 'node:tls';
import { tunnelThrough, type EgressRoute } from './egress.ts';
import { SourceError } from './error.ts';
import type { Guard } from './guard.ts';

export type ConnectOptions = {
  guard: Guard;
  /** Whether the origin's certificate must be good. */
  verify: boolean;
  context: () => SecureContext;
  egress: EgressRoute | undefined;
  timeoutMs: number;
  /** What is spoken over TLS, as it is named there; undefined: not said. */
  alpn?: readonly string[] | undefined;
};

/** One context for all connections: to parse the authorities anew costs 25 ms and 6 MB, with the system's own list 90 ms and 10 MB. */
export function trustedContext(ca: string | undefined): () => SecureContext {
  let made: SecureContext | undefined;
  return () => (made ??= createSecureContext(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }));
}

/** Opens a socket to a host: the name is resolved once, the addresses are checked, and only these are dialled. */
export async function openSocket(host: string, port: number, secure: boolean, options: ConnectOptions): Promise<Socket> {
  const signal = AbortSignal.timeout(options.timeoutMs);
  try {
    const socket = await dial(host, port, options, signal);
    // Whoever uses it listens for its errors; one that comes in between must not end the process.
    socket.on('error', () => {});
    return secure ? await startTls(socket, host, options, signal) : socket;
  } catch (error) {
    throw readable(error, signal);
  }
}

async function dial(host: string, port: number, { guard, egress }: ConnectOptions, signal: AbortSignal): Promise<Socket> {
  if (egress?.applies(host)) {
    await checkForEgress(guard, host, port);
    return tunnelThrough(egress, host, port, signal);
  }
  const addresses = await guard.resolveAndCheck(host, port);
  // Node races the families itself; the look-up that it is given knows only the checked addresses.
  const checked: LookupFunction = (_name, wanted, done) => {
    if (wanted.all) done(null, addresses);
    else done(null, addresses[0]!.address, addresses[0]!.family);
  };
  const socket = addresses.length === 1
    ? connect({ host: addresses[0]!.address, port, noDelay: true })
    : connect({ host, port, noDelay: true, lookup: checked, autoSelectFamily: true });
  try {
    await once(socket, 'connect', { signal });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  // Belt and braces: what was reached must be what was checked.
  if (guard.check(socket.remoteAddress ?? '', port, host) !== 'ok') {
    socket.destroy();
    throw new SourceError('refused', 'The address is not allowed: it is private, local or reserved.');
  }
  return socket;
}

/** Behind an egress proxy a name may be unknown here. Then the proxy is the wall; a name that is known must lead to a good address. */
export async function checkForEgress(guard: Guard, host: string, port: number): Promise<void> {
  try {
    await guard.resolveAndCheck(host, port);
  } catch (error) {
    if (error instanceof SourceError && error.reason === 'dns') return;
    throw error;
  }
}

async function startTls(socket: Socket, host: string, { verify, context, alpn }: ConnectOptions, signal: AbortSignal): Promise<TLSSocket> {
  const secure = connectTls({ socket, host, servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '', secureContext: context(), rejectUnauthorized: verify, ...(alpn === undefined ? {} : { ALPNProtocols: [...alpn] }) });
  secure.on('error', () => {});
  try {
    await once(secure, 'secureConnect', { signal });
    return secure;
  } catch (cause) {
    secure.destroy();
    socket.destroy();
    if (signal.aborted) throw cause;
    const code = (cause as NodeJS.ErrnoException).code ?? '';
    const certificate = secure.authorizationError !== null && secure.authorizationError !== undefined || certificateCode.test(code);
    throw new SourceError('origin-unreachable', certificate ? 'The certificate of the host cannot be trusted.' : 'No TLS connection to the host could be made.', {
      reason: certificate ? 'certificate' : 'tls', detail: `${host}: ${code}`, cause,
    });
  }
}

const certificateCode = /CERT|ALTNAME|ISSUER|SELF_SIGNED|UNABLE_TO_VERIFY|CRL|HOSTNAME_MISMATCH/;

function readable(error: unknown, signal: AbortSignal): SourceError {
  if (error instanceof SourceError) return error;
  if (signal.aborted) return new SourceError('origin-unreachable', 'The host did not accept a connection in time.', { reason: 'timeout', cause: error });
  const code = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  return new SourceError('origin-unreachable', 'The host does not accept connections.', { reason: 'connect', detail: String(code), cause: error });
}
