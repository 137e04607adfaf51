import { Agent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as SecureAgent, request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { checkForEgress, openSocket, type ConnectOptions } from './connect.ts';
import { dialEgress } from './egress.ts';
import { HostDistances } from './host_distances.ts';
import { boundInterim } from './interim.ts';
import { SourceError } from '../error.ts';
import { answerTimeout, noAnswer, sourceClosed, wrongProtocol } from '../failures.ts';
import { authority, urlOf, type Target } from '../address/target.ts';

export type PoolOptions = ConnectOptions & {
  /** Maximum number of connections to one host. */
  maxPerHost: number;
  idleMs: number;
  headersTimeoutMs: number;
  /** A host that takes a connection within this time is near. */
  nearMs: number;
};

export interface Answer {
  response: IncomingMessage;
  /** made for this request */ fresh: boolean;
}

/**
 * Connections to origins that are kept open between requests and jobs: a seek then costs one round trip instead of two
 * or three. All connections of a pool were checked by the same guard and trust the same certificates. It uses Node's
 * agents and not undici, which costs 13 MB of memory in every warm pod (61 to 74 MB of RSS).
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #plain: Agent;
  readonly #secure: SecureAgent;
  readonly #waiting = new Map<string, Promise<Socket | undefined>[]>();
  readonly #open = new Map<string, number>();
  readonly #ready = new Map<string, number>();
  readonly #distances: HostDistances;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#distances = new HostDistances(options.nearMs);
    const settings = {
      keepAlive: true,
      maxSockets: options.maxPerHost,
      maxFreeSockets: options.maxPerHost,
      scheduling: 'lifo' as const,
      timeout: options.idleMs,
    };
    this.#plain = new Agent(settings);
    this.#secure = new SecureAgent({ ...settings, maxCachedSessions: 0 });
    this.#plain.createConnection = this.#connector(false) as Agent['createConnection'];
    this.#secure.createConnection = this.#connector(true) as Agent['createConnection'];
  }

  /** Opens connections in advance, up to this number for the host, and up to `far` if it turns out to be far. */
  warm(target: Target, count: number, far = count): void {
    if (this.#closed || this.#options.egress?.applies(target.host)) return;
    const secure = target.scheme === 'https';
    const key = keyOf(target.host, target.port, secure);
    if (far > count) void this.isFar(target).then((isFar) => isFar && this.warm(target, far));
    const list = this.#waiting.get(key) ?? [];
    this.#waiting.set(key, list);
    const most = Math.min(count, this.#options.maxPerHost);
    while ((this.#open.get(key) ?? 0) < most) {
      const opening: Promise<Socket | undefined> = this.#connect(target.host, target.port, secure, key).then(
        (socket) => {
          const drop = (): void => {
            if (list.includes(opening)) list.splice(list.indexOf(opening), 1);
            socket.destroy();
          };
          socket.on('error', drop);
          socket.setTimeout(this.#options.idleMs, () => list.includes(opening) && drop());
          socket.unref();
          return socket;
        },
        () => undefined,
      );
      list.push(opening);
    }
  }

  /** Number of connections to this host, in use or idle. */
  ready(target: Target): number {
    return this.#ready.get(keyOf(target.host, target.port, target.scheme === 'https')) ?? 0;
  }

  /** Whether connections to this host take long; false if they are those of an egress proxy. */
  isFar(target: Target): Promise<boolean> {
    if (this.#options.egress?.applies(target.host)) return Promise.resolve(false);
    return this.#distances.isFar(keyOf(target.host, target.port, target.scheme === 'https'));
  }

  async #connect(host: string, port: number, secure: boolean, key: string): Promise<Socket> {
    add(this.#open, key, 1);
    try {
      const socket = await openSocket(host, port, secure, {
        ...this.#options,
        onConnected: (tcpMs, tlsMs) => this.#distances.connected(key, tcpMs, tlsMs),
      });
      add(this.#ready, key, 1);
      socket.once('close', () => {
        add(this.#ready, key, -1);
        add(this.#open, key, -1);
      });
      if (this.#closed) socket.destroy();
      return socket;
    } catch (error) {
      add(this.#open, key, -1);
      this.#distances.failed(key);
      throw error;
    }
  }

  async get(target: Target, headers: Record<string, string>, signal: AbortSignal): Promise<Answer> {
    if (this.#closed) throw sourceClosed();
    const { egress } = this.#options;
    const secure = target.scheme === 'https';
    const options: RequestOptions = {
      agent: secure ? this.#secure : this.#plain,
      host: target.host,
      port: target.port,
      path: target.path,
      headers: { host: authority(target), ...headers },
      signal,
    };
    if (!secure && egress?.resolve === 'proxy' && egress.applies(target.host)) {
      // Many proxies tunnel to port 443 only, so plain HTTP requests are sent to the proxy itself.
      await checkForEgress(this.#options.guard, target.host, target.port);
      const socket = await dialEgress(egress, AbortSignal.any([signal, AbortSignal.timeout(this.#options.timeoutMs)]));
      options.agent = undefined;
      options.createConnection = () => socket;
      options.path = urlOf(target);
      if (egress.authorization !== undefined)
        options.headers = { ...(options.headers as object), 'proxy-authorization': egress.authorization };
    }
    const request = secure ? httpsRequest(options) : httpRequest(options);
    boundInterim(request);
    return new Promise<Answer>((resolve, reject) => {
      const late = setTimeout(() => request.destroy(answerTimeout()), this.#options.headersTimeoutMs);
      request.on('error', (error: Error) => {
        clearTimeout(late);
        reject(failed(error, request.reusedSocket, signal));
      });
      request.once('response', (response) => {
        clearTimeout(late);
        // An error of a discarded response must not be unhandled.
        response.on('error', () => {});
        resolve({ response, fresh: !request.reusedSocket });
      });
      request.end();
    });
  }

  close(): void {
    this.#closed = true;
    this.#plain.destroy();
    this.#secure.destroy();
    for (const list of this.#waiting.values())
      for (const opening of list) void opening.then((socket) => socket?.destroy());
    this.#waiting.clear();
  }

  #connector(secure: boolean) {
    return (
      options: { host: string; port: number },
      done: (error: Error | null, socket?: Socket) => void,
    ): undefined => {
      const host = options.host;
      const port = Number(options.port);
      const key = keyOf(host, port, secure);
      void this.#take(key)
        .then((warm) => warm ?? this.#connect(host, port, secure, key))
        .then(
          (socket) => {
            socket.setTimeout(0);
            done(null, socket);
          },
          (error: unknown) => done(error as Error),
        );
      return undefined;
    };
  }

  async #take(key: string): Promise<Socket | undefined> {
    const list = this.#waiting.get(key);
    for (let opening = list?.shift(); opening !== undefined; opening = list?.shift()) {
      const socket = await opening;
      if (socket === undefined || socket.destroyed || !socket.readable) continue;
      socket.ref();
      return socket;
    }
    return undefined;
  }
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const keyOf = (host: string, port: number, secure: boolean): string => `${secure ? 's' : 'p'} ${host} ${port}`;

/** The origin closed a kept connection meanwhile: the request may be sent again. */
export class StaleConnection extends Error {}

function failed(error: Error, reused: boolean, signal: AbortSignal): Error {
  if (error instanceof SourceError) return error;
  if (signal.aborted) return sourceClosed();
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (reused && (code === 'ECONNRESET' || code === 'EPIPE')) return new StaleConnection(code);
  const options = { detail: code, cause: error };
  return code.startsWith('HPE_') ? wrongProtocol('HTTP', options) : noAnswer(options);
}
