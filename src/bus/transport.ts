/**
 * The socket under a NATS connection, and the one way to open such a connection.
 *
 * The transport of nats 2.29.3 leaves sockets behind: `close` does nothing to a dial that is still under way, and
 * `discard` nothing at all. Such a dial succeeds later, is cut off by the server, and its end starts a second dial loop
 * beside the good connection, whose socket then stays open and subscribed. docs/decisions/0006 has the schedule. Here
 * `close`, `disconnect` and `discard` destroy the socket in every state, and a transport reports its end at most once,
 * and only when its dial had succeeded and the client still used it.
 */
import { readFile } from 'node:fs/promises';
import { type Socket, connect as connectTcp, isIP } from 'node:net';
import { TLSSocket, connect as connectTls } from 'node:tls';
import { type ConnectionOptions, ErrorCode, NatsError, type NatsConnection } from 'nats';
import { NatsConnectionImpl, checkOptions, setTransportFactory } from 'nats/lib/nats-base-client/internal_mod.js';
import type { Transport } from 'nats/lib/nats-base-client/transport.js';

/** The first line of a server; a cluster's list of addresses is in it. */
const MOST_INFO_BYTES = 1024 * 1024;

type Server = Parameters<Transport['connect']>[0];
type Options = Parameters<Transport['connect']>[1];
type Info = Parameters<typeof checkOptions>[0];

type Phase = 'dialling' | 'open' | 'ended';

class SocketTransport implements Transport {
  // What the server's tools show of a client.
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
        // Reading the file took a turn, in which the dial may have been given up.
        if (this.isClosed || !this.#socket) throw refused();
        const secured = connectTls({
          socket: this.#socket,
          host,
          servername: isIP(host) ? '' : host,
          ...(ca ? { ca } : {}),
        });
        await this.#until(this.#use(secured), 'secureConnect');
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
    // What cannot be written is found out by the end of the socket, or by an unanswered ping.
    if (!this.isClosed) this.#socket?.write(frame);
  }

  async close(error?: Error): Promise<void> {
    this.#end(error);
  }
  disconnect(): void {
    this.#end();
  }
  /** The client has another transport: the end of this one is no news. */
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

  /** Whatever happens to the socket later ends the transport; an error without a listener would end the process. */
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

  /** The server's first line. It stays among the frames, because the client reads it, too. */
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

const refused = (): NatsError => NatsError.errorForCode(ErrorCode.ConnectionRefused);

/** As `connect` of nats, which would put its own transport under every connection of the process. */
export function connectNats(options: ConnectionOptions): Promise<NatsConnection> {
  // No resolver of its own: the client's asks name servers outside of the dial's time and without the cluster's search
  // list, and one that was silent held it for more than half a minute. The socket asks the system's resolver, within
  // the dial's time.
  setTransportFactory({ factory: () => new SocketTransport() });
  return NatsConnectionImpl.connect(options);
}
