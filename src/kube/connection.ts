/**
 * Connections to the API server. client-node reads the kubeconfig or the pod's service account and authenticates; the
 * connections are managed here. client-node creates a dispatcher, and so a TLS connection, for every call. Here all
 * calls share one, and watches have their own: on a shared HTTP/2 connection their events would wait behind bursts of
 * writes.
 */
import { readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { KubeConfig, type RequestContext } from '@kubernetes/client-node';
import { Agent, type Dispatcher } from 'undici';
import { KubeError } from './errors.ts';

export interface ConnectionOptions {
  kubeconfig?: string;
  context?: string;
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

export class SharedKubeConfig extends KubeConfig {
  #options: ConnectionOptions;
  #access: Access | undefined;
  #material = '';
  #readAt = -Infinity;
  #reading: Promise<Access> | undefined;
  #closed = false;

  constructor(options: ConnectionOptions = {}) {
    super();
    this.#options = options;
    this.#load();
  }

  #load(): void {
    if (this.#options.kubeconfig !== undefined) this.loadFromFile(this.#options.kubeconfig);
    else this.loadFromDefault();
    if (this.#options.context !== undefined) this.setCurrentContext(this.#options.context);
    if (this.getCurrentCluster() === null)
      throw new KubeError('configuration', 'no cluster in the kubeconfig, and not inside a pod');
  }

  get namespace(): string {
    return this.getContextObject(this.getCurrentContext())?.namespace ?? 'default';
  }

  /** For client-node's own API classes: `config.makeApiClient(CoreV1Api)` shares these connections too. */
  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    const { headers, calls } = await this.access();
    for (const [name, value] of Object.entries(headers)) context.setHeaderParam(name, value);
    context.setDispatcher(calls);
  }

  async access(): Promise<Access> {
    if (this.#access !== undefined && performance.now() - this.#readAt < REFRESH_MS) return this.#access;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** After a 401: reloads everything; true if the credentials changed. */
  async reload(): Promise<boolean> {
    const before = this.#access?.headers['authorization'];
    this.#load();
    this.#readAt = -Infinity;
    return (await this.access()).headers['authorization'] !== before;
  }

  /** The connections seem dead: new calls get new ones, running calls may finish. */
  replace(stale: Dispatcher): void {
    const access = this.#access;
    if (access === undefined || this.#closed) return;
    if (access.calls === stale) access.calls = this.#dispatcher(this.#tls, this.#options.http2 ?? true);
    else if (access.watches === stale) access.watches = this.#dispatcher(this.#tls, false);
    else return;
    retire(stale);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const access = this.#access;
    if (access !== undefined) await Promise.all([access.calls.destroy(), access.watches.destroy()]);
  }

  #tls: RequestOptions = {};

  async #read(): Promise<Access> {
    if (this.#closed) throw new KubeError('aborted', 'the client is closed');
    const options: RequestOptions = {};
    await this.applyToHTTPSOptions(options);
    const { ca, cert, key, pfx, passphrase, servername, rejectUnauthorized } = options;
    const given = Object.entries({ ca, cert, key, pfx, passphrase, servername, rejectUnauthorized }).filter(
      ([, value]) => value !== undefined,
    );
    const material = JSON.stringify(given.map(([name, value]) => [name, String(value)]));
    if (this.#access === undefined || material !== this.#material) {
      const replaced = this.#access;
      this.#tls = Object.fromEntries(given);
      const server = new URL(this.getCurrentCluster()!.server);
      this.#access = {
        origin: server.origin,
        prefix: server.pathname.replace(/\/$/, ''),
        headers: {},
        calls: this.#dispatcher(this.#tls, this.#options.http2 ?? true),
        watches: this.#dispatcher(this.#tls, false),
      };
      this.#material = material;
      if (replaced !== undefined) for (const old of [replaced.calls, replaced.watches]) retire(old);
    }
    this.#access.headers = headersOf(options);
    // client-node caches a token file for a minute, which is too long after a 401.
    const tokenFile = (this.getCurrentUser()?.authProvider as { config?: { tokenFile?: string } } | undefined)?.config
      ?.tokenFile;
    if (tokenFile !== undefined)
      this.#access.headers = {
        ...this.#access.headers,
        authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`,
      };
    this.#readAt = performance.now();
    return this.#access;
  }

  #dispatcher(tls: RequestOptions, http2: boolean): Dispatcher {
    const cluster = this.getCurrentCluster();
    if (cluster?.proxyUrl !== undefined)
      throw new KubeError('configuration', 'proxy-url in a kubeconfig is not supported');
    return new Agent({
      allowH2: http2,
      // HTTP/2 opens a second connection only beyond 100 concurrent calls; HTTP/1.1 needs one per running call.
      connections: http2 ? 8 : 64,
      // The default of 4 s would cost a handshake for every call of an idle controller.
      keepAliveTimeout: 90_000,
      keepAliveMaxTimeout: 90_000,
      connect: { ...(tls as object), timeout: 5_000, keepAlive: true, keepAliveInitialDelay: 15_000 },
      // Deadlines are per call (call.ts), and a quiet watch is not an error.
      headersTimeout: 0,
      bodyTimeout: 0,
      h2Options: { pingInterval: 15_000 },
    });
  }
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = { accept: 'application/json, */*;q=0.8', 'user-agent': 'probeyard' };
  for (const [name, value] of Object.entries(options.headers ?? {})) headers[name.toLowerCase()] = String(value).trim();
  if (typeof options.auth === 'string')
    headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  return headers;
}

function retire(dispatcher: Dispatcher): void {
  dispatcher.close().catch(() => {});
  setTimeout(() => void dispatcher.destroy().catch(() => {}), DRAIN_MS).unref();
}
