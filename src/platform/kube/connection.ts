/**
 * Connections to the API server. All calls share one, and watches have their own: on a shared HTTP/2 connection their
 * events would wait behind bursts of writes.
 */
import { Agent, type Dispatcher } from 'undici';
import type { Credentials, Tls } from './credentials.ts';
import { KubeError } from './errors.ts';
import { leaveSent } from './leave_sent.ts';

export interface ConnectionOptions {
  credentials: Credentials;
  /** HTTP/2 for calls; disabled only for comparison. */
  http2?: boolean;
}

export interface Access {
  origin: string;
  /** Path prefix of the server address, for a proxy that serves several clusters. */
  prefix: string;
  headers: Readonly<Record<string, string>>;
  calls: Dispatcher;
  watches: Dispatcher;
}

/** Reading the token and CA files for every call would cost more than the call itself. */
const REFRESH_MS = 10_000;
/** Calls on a replaced dispatcher may finish within this time; the rest are on a dead connection. */
const DRAIN_MS = 60_000;

const BASE_HEADERS = { accept: 'application/json, */*;q=0.8', 'user-agent': 'probeyard' };

export class SharedKubeConfig {
  readonly #credentials: Credentials;
  readonly #http2: boolean;
  #access: Access | undefined;
  #tls: Tls = {};
  #material = '';
  #readAt = -Infinity;
  #closed = false;

  constructor({ credentials, http2 = true }: ConnectionOptions) {
    this.#credentials = credentials;
    this.#http2 = http2;
  }

  access(): Access {
    if (this.#access !== undefined && performance.now() - this.#readAt < REFRESH_MS) return this.#access;
    return this.#read();
  }

  /** After a 401: reads everything again; true if the credentials are others than those that were sent. */
  reload(sent?: Access['headers']): boolean {
    return this.#read().headers['authorization'] !== sent?.['authorization'];
  }

  /** The connections seem dead: new calls get new ones, running calls may finish. */
  replace(stale: Dispatcher): void {
    const access = this.#access;
    if (access === undefined || this.#closed) return;
    if (access.calls === stale) access.calls = this.#dispatcher(this.#tls, this.#http2);
    else if (access.watches === stale) access.watches = this.#dispatcher(this.#tls, false);
    else return;
    retire(stale);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const access = this.#access;
    if (access !== undefined) await Promise.all([access.calls.destroy(), access.watches.destroy()]);
  }

  #read(): Access {
    if (this.#closed) throw new KubeError('aborted', 'the client is closed');
    const { server: address } = this.#credentials;
    const { tls, headers } = this.#credentials.read();
    const material = JSON.stringify([address, ...Object.entries(tls).map(([name, value]) => [name, String(value)])]);
    if (this.#access === undefined || material !== this.#material) {
      const replaced = this.#access;
      this.#tls = tls;
      const server = new URL(address);
      this.#access = {
        origin: server.origin,
        prefix: server.pathname.replace(/\/$/, ''),
        headers: {},
        calls: this.#dispatcher(tls, this.#http2),
        watches: this.#dispatcher(tls, false),
      };
      this.#material = material;
      if (replaced !== undefined) for (const old of [replaced.calls, replaced.watches]) retire(old);
    }
    this.#access.headers = { ...BASE_HEADERS, ...headers };
    this.#readAt = performance.now();
    return this.#access;
  }

  #dispatcher(tls: Tls, http2: boolean): Dispatcher {
    const agent = new Agent({
      allowH2: http2,
      // HTTP/2 opens a second connection only beyond 100 concurrent calls; HTTP/1.1 needs one per running call.
      connections: http2 ? 8 : 64,
      // The default of 4 s would cost a handshake for every call of an idle controller.
      keepAliveTimeout: 90_000,
      keepAliveMaxTimeout: 90_000,
      connect: { ...tls, timeout: 5_000, keepAlive: true, keepAliveInitialDelay: 15_000 },
      // Deadlines are per call (call.ts), and a quiet watch is not an error.
      headersTimeout: 0,
      bodyTimeout: 0,
      h2Options: { pingInterval: 15_000 },
    });
    return http2 ? agent.compose(leaveSent) : agent;
  }
}

function retire(dispatcher: Dispatcher): void {
  dispatcher.close().catch(() => {});
  setTimeout(() => void dispatcher.destroy().catch(() => {}), DRAIN_MS).unref();
}
