/**
 * The socket of a NATS connection, and the only way to open such a connection.
 *
 * The transport of nats 2.29.3 leaks sockets: `close` does not abort a connect in progress, and `discard` does nothing
 * at all. Such a connect succeeds later, is closed by the server, and that starts a second connect loop beside the good
 * connection, whose socket then stays open and subscribed. docs/decisions/0010 has the sequence of events. Here
 * `close`, `disconnect` and `discard` destroy the socket in every state. A transport reports its end at most once, and
 * only if its connect had succeeded and the client still used it.
 */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Socket, connect as connectTcp, isIP } from 'node:net';
import { TLSSocket, connect as connectTls } from 'node:tls';
import { type ConnectionOptions, ErrorCode, NatsError, type NatsConnection } from 'nats';
import { NatsConnectionImpl, checkOptions, setTransportFactory } from 'nats/lib/nats-base-client/internal_mod.js';
import type { Transport } from 'nats/lib/nats-base-client/transport.js';

/** Bound of a server's first line, which contains a cluster's list of addresses. */
const MOST_INFO_BYTES = 1024 * 1024;

export interface NatsOptions extends ConnectionOptions {
  /** Accepts a certificate of the given authority for this host that has expired. Only to have it renewed. */
  acceptsExpired?: boolean;
}

type Server = Parameters<Transport['connect']>[0];
type Options = Parameters<Transport['connect']>[1];
type Info = Parameters<typeof checkOptions>[0];

type Phase = 'dialling' | 'open' | 'ended';

class SocketTransport implements Transport {
  // Shown by the server's tools for a client.
  readonly lang = 'nats.js';
  readonly version = '2.29.3';
  closeError?: Error;
  #phase: Phase = 'dialling';
  #socket: Socket | undefined;
  #frames: Uint8Array[] = [];
  #arrived = Promise.withResolvers<void>();
  readonly #closed = Promise.withResolvers<void | Error>();

  get isClosed(): boolean {
    return this.#phase === 'ended';
  }
  isEncrypted(): boolean {
    return this.#socket instanceof TLSSocket;
  }
  closed(): Promise<void | Error> {
    return this.#closed.promise;
  }

  async connect(server: Server, options: Options): Promise<void> {
    try {
      const host = server.tlsName || server.hostname;
      await this.#until(this.#use(connectTcp(server.port, server.hostname)), 'connect');
      const info = await this.#info();
      checkOptions(info, options);
      if (info.tls_required || (info.tls_available && options.tls !== null)) {
        const ca = options.tls?.caFile ? await readFile(options.tls.caFile) : options.tls?.ca;
        // Reading the file was asynchronous, and the connect may have been aborted meanwhile.
        if (this.isClosed || !this.#socket) throw refused();
        const secured = connectTls({
          socket: this.#socket,
          host,
          servername: isIP(host) ? '' : host,
          ...(ca ? { ca } : {}),
          rejectUnauthorized: (options as NatsOptions).acceptsExpired !== true,
        });
        await this.#until(this.#use(secured), 'secureConnect');
        if (!secured.authorized && !isOnlyExpired(secured, String(ca ?? ''), host)) throw refused();
      }
      if (this.isClosed || !this.#socket) throw refused();
      this.#phase = 'open';
      this.#socket.on('data', (frame: Uint8Array) => this.#take(frame)).resume();
    } catch (error) {
      this.#destroy();
      throw error;
    }
  }

  send(frame: Uint8Array): void {
    // A failed write is detected by the end of the socket, or by an unanswered ping.
    if (!this.isClosed) this.#socket?.write(frame);
  }

  async close(error?: Error): Promise<void> {
    this.#end(error);
  }
  disconnect(): void {
    this.#end();
  }
  /** The client has another transport, so the end of this one is not reported. */
  discard(): void {
    this.#destroy();
  }

  async *[Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array> {
    while (!this.isClosed) {
      const frames = this.#frames;
      this.#frames = [];
      for (const frame of frames) {
        // After a discard the client's parser belongs to the next transport.
        if (this.isClosed) return;
        yield frame;
      }
      if (this.#frames.length > 0) continue;
      this.#arrived = Promise.withResolvers();
      await this.#arrived.promise;
    }
  }

  #take(frame: Uint8Array): void {
    this.#frames.push(frame);
    this.#arrived.resolve();
  }

  /** Any later failure of the socket ends the transport. An error without a listener would end the process. */
  #use<T extends Socket>(socket: T): T {
    this.#socket = socket;
    let cause: Error | undefined;
    socket.setNoDelay(true);
    socket.on('error', (error) => {
      cause = error;
    });
    socket.on('end', () => this.#end());
    socket.on('close', () => this.#end(cause));
    return socket;
  }

  #until(socket: Socket, event: 'connect' | 'secureConnect'): Promise<void> {
    return new Promise((resolve, reject) => {
      let cause: Error | undefined;
      socket.once(event, resolve);
      socket.once('error', (error) => {
        cause = error;
      });
      socket.once('close', () => reject(cause ?? refused()));
    });
  }

  /** The server's first line. It is kept among the frames, because the client reads it too. */
  #info(): Promise<Info> {
    const socket = this.#socket;
    return new Promise((resolve, reject) => {
      let text = '';
      const read = (frame: Buffer): void => {
        this.#frames.push(frame);
        text += frame.toString('latin1');
        const line = text.indexOf('\r\n');
        if (line < 0 && text.length < MOST_INFO_BYTES) return;
        socket?.off('data', read).pause();
        const [, json] = /^INFO\s+([^\r\n]+)\r\n/i.exec(text) ?? [];
        try {
          if (!json) throw new NatsError('the server did not send INFO first', ErrorCode.BadPayload);
          resolve(JSON.parse(json) as Info);
        } catch (error) {
          reject(error as Error);
        }
      };
      socket?.on('data', read).once('close', () => reject(refused()));
    });
  }

  #end(error?: Error): void {
    const wasOpen = this.#phase === 'open';
    this.#destroy();
    if (!wasOpen) return;
    if (error) this.closeError = error;
    this.#closed.resolve(error);
  }

  #destroy(): void {
    this.#phase = 'ended';
    this.#socket?.destroy();
    this.#frames = [];
    this.#arrived.resolve();
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** TLS names only one error of a certificate, so the others are looked for here. */
function isOnlyExpired(socket: TLSSocket, authorities: string, host: string): boolean {
  // A code, whatever its type says.
  const code = String(socket.authorizationError);
  const certificate = socket.getPeerX509Certificate();
  if (!certificate || !code.includes('CERT_HAS_EXPIRED')) return false;
  const isForHost = isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host);
  return (
    isForHost !== undefined &&
    [...authorities.matchAll(PEM)].some(([pem]) => {
      const authority = new X509Certificate(pem);
      return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
    })
  );
}

const refused = (): NatsError => NatsError.errorForCode(ErrorCode.ConnectionRefused);

/** Replaces `connect` of nats, which would install its own transport for all connections of the process. */
export function connectNats(options: NatsOptions): Promise<NatsConnection> {
  // Without the client's resolver: that one queries name servers outside the connect time-out and without the cluster's
  // search domains, and a silent one blocked it for over half a minute. The socket uses the system's resolver, within
  // the time-out.
  setTransportFactory({ factory: () => new SocketTransport() });
  return NatsConnectionImpl.connect(options);
}
