/** Connections to origins: how many there are, and which request gets one. */
import { authority, type Target, urlOf } from '../address/target.ts';
import { unreachable } from '../error.ts';
import { noAnswer, sourceClosed } from '../failures.ts';
import type { OriginAnswer } from './answer.ts';
import { checkForEgress, type ConnectOptions, openSocket } from './connect.ts';
import { Connection, type RequestOptions } from './connection.ts';
import { dialEgress, type EgressRoute } from './egress.ts';

export type PoolOptions = ConnectOptions & {
  /** Maximum number of connections to one host that bring something. */
  maxPerHost: number;
  idleMs: number;
  headersTimeoutMs: number;
  /** A host that takes a connection within this time is near. */
  nearMs: number;
};

/** The connections to one host. */
interface Host {
  open: Set<Connection>;
  idle: Connection[];
  opening: number;
  waiting: PromiseWithResolvers<Connection>[];
}

/**
 * To one host, with those that are paused. A tool may open many files before it reads on in the first, whose connection
 * is paused until then.
 */
const MOST_OPEN = 64;
/** To all hosts, without a request: a playlist may name another host for each of its segments. */
const MOST_IDLE = 48;
/** To all hosts. Tools need some tens. */
const MOST_IN_ALL = 256;

/**
 * Connections to origins that are kept open between requests and jobs: a seek then costs one round trip instead of two
 * or three. All connections of a pool were checked by the same guard and trust the same certificates.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #hosts = new Map<string, Host>();
  /** The one that has waited longest comes first. */
  readonly #idle = new Set<Connection>();
  readonly #distances: HostDistances;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#distances = new HostDistances(options.nearMs);
  }

  /** Opens connections in advance, up to this number for the host, and up to `far` if it turns out to be far. */
  warm(target: Target, count: number, far = count): void {
    if (this.#closed || this.#options.egress?.applies(target.host)) return;
    if (far > count) void this.isFar(target).then((isFar) => isFar && this.warm(target, far));
    const host = this.#hostOf(target);
    const most = Math.min(count, this.#options.maxPerHost);
    while (host.open.size + host.opening < most && this.#hasRoom()) this.#open(target, host);
    if (host.open.size + host.opening > 0) return;
    this.#distances.failed(keyOf(target));
    this.#forget(target, host);
  }

  /** Number of connections to this host, in use or idle. */
  ready(target: Target): number {
    return this.#hosts.get(keyOf(target))?.open.size ?? 0;
  }

  /** Whether connections to this host take long; false if they are those of an egress proxy. */
  isFar(target: Target): Promise<boolean> {
    if (this.#options.egress?.applies(target.host)) return Promise.resolve(false);
    // Forgotten as one of the oldest: there may be no further connection to measure.
    if (this.ready(target) > 0 && this.roundTripMs(target) === Infinity) return Promise.resolve(false);
    return this.#distances.isFar(keyOf(target));
  }

  /** Infinity: not known. */
  roundTripMs(target: Target): number {
    if (this.#options.egress?.applies(target.host)) return Infinity;
    return this.#distances.fastestMs(keyOf(target));
  }

  /** `received`: as of `RequestOptions`. `put`: sent in place of a GET. `fresh`: the connection was made for this. */
  async get(
    target: Target,
    headers: Record<string, string>,
    signal: AbortSignal,
    received: RequestOptions['received'],
    put?: Buffer,
  ): Promise<{ response: OriginAnswer; fresh: boolean }> {
    if (this.#closed || signal.aborted) throw sourceClosed();
    const { egress, headersTimeoutMs: timeoutMs } = this.#options;
    const all = { host: authority(target), ...headers, connection: 'keep-alive' };
    if (target.scheme === 'http' && egress?.resolve === 'proxy' && egress.applies(target.host)) {
      const connection = await this.#throughProxy(egress, target, signal);
      const own = egress.authorization === undefined ? {} : { 'proxy-authorization': egress.authorization };
      const text = requestText(urlOf(target), { ...all, ...own, connection: 'close' }, put);
      return { response: await connection.ask(text, { timeoutMs, signal, received }), fresh: true };
    }
    const text = requestText(target.path, all, put);
    const connection = await this.#take(target, signal);
    const fresh = connection.isFresh;
    return { response: await connection.ask(text, { timeoutMs, signal, received }), fresh };
  }

  close(): void {
    this.#closed = true;
    for (const { open, waiting } of this.#hosts.values()) {
      for (const connection of open) connection.close(sourceClosed());
      for (const { reject } of waiting.splice(0)) reject(sourceClosed());
    }
    this.#hosts.clear();
  }

  /** Many proxies tunnel to port 443 only, so plain HTTP requests are sent to the proxy itself. */
  async #throughProxy(egress: EgressRoute, target: Target, signal: AbortSignal): Promise<Connection> {
    await checkForEgress(this.#options.guard, target.host, target.port);
    const socket = await dialEgress(egress, AbortSignal.any([signal, AbortSignal.timeout(this.#options.timeoutMs)]));
    const connection = new Connection((changed) => changed.isPaused || changed.close());
    connection.attach(socket, true);
    return connection;
  }

  /** The connection that was used last, or the first that opens or becomes free. */
  async #take(target: Target, signal: AbortSignal): Promise<Connection> {
    const host = this.#hostOf(target);
    const waiting = Promise.withResolvers<Connection>();
    const aborted = (): void => {
      host.waiting = host.waiting.filter((one) => one !== waiting);
      waiting.reject(sourceClosed());
    };
    signal.addEventListener('abort', aborted, { once: true });
    host.waiting.push(waiting);
    this.#serve(host);
    this.#openIfNeeded(target, host);
    try {
      return await waiting.promise;
    } finally {
      signal.removeEventListener('abort', aborted);
    }
  }

  #openIfNeeded(target: Target, host: Host): void {
    const { waiting, opening, open } = host;
    if (this.#closed || waiting.length <= opening || open.size + opening >= MOST_OPEN) return;
    const moving = [...open].filter(({ isPaused }) => !isPaused).length;
    if (moving + opening >= this.#options.maxPerHost) return;
    if (this.#hasRoom()) {
      this.#open(target, host);
      return;
    }
    this.#distances.failed(keyOf(target));
    // This side has no more.
    if (refuse(host, unreachable('limit', 'the source has too many hosts at a time'))) this.#openIfNeeded(target, host);
  }

  /** For one more connection. */
  #hasRoom(): boolean {
    let all = 0;
    for (const { open, opening } of this.#hosts.values()) all += open.size + opening;
    return all < MOST_IN_ALL || this.#closeIdle(0);
  }

  /** The one that has waited longest, if there are more than `most`. */
  #closeIdle(most: number): boolean {
    const [oldest] = this.#idle;
    if (oldest === undefined || this.#idle.size <= most) return false;
    this.#idle.delete(oldest);
    oldest.close();
    return true;
  }

  #serve(host: Host): void {
    while (host.waiting.length > 0) {
      const connection = host.idle.pop();
      if (connection === undefined) return;
      this.#idle.delete(connection);
      if (connection.isIdle) host.waiting.shift()!.resolve(connection);
    }
  }

  #open(target: Target, host: Host): void {
    host.opening++;
    void this.#connect(target, host)
      .then(
        (connection) => {
          host.opening--;
          this.#changed(connection, target, host);
        },
        (error: unknown) => {
          host.opening--;
          this.#distances.failed(keyOf(target));
          // Each failed connection fails one request, and those that are left have their turn.
          if (refuse(host, error as Error)) this.#openIfNeeded(target, host);
        },
      )
      .finally(() => this.#forget(target, host));
  }

  async #connect(target: Target, host: Host): Promise<Connection> {
    const { egress } = this.#options;
    const connection = new Connection((changed) => this.#changed(changed, target, host));
    const tunnelled = egress?.applies(target.host) === true;
    const socket = await openSocket(target.host, target.port, target.scheme === 'https', {
      ...this.#options,
      ...(tunnelled ? {} : { onread: connection.onread }),
      onConnected: (tcpMs, tlsMs) => this.#distances.connected(keyOf(target), tcpMs, tlsMs),
    });
    host.open.add(connection);
    connection.attach(socket, tunnelled);
    if (this.#closed) connection.close(sourceClosed());
    return connection;
  }

  /** It can take a request, is paused, or has closed. */
  #changed(connection: Connection, target: Target, host: Host): void {
    if (!connection.isOpen) {
      host.open.delete(connection);
      this.#idle.delete(connection);
      host.idle = host.idle.filter((one) => one !== connection);
      // A host that takes connections and closes them is not asked for ever more of them.
      if (connection.isFresh) refuse(host, noAnswer());
      this.#openIfNeeded(target, host);
      this.#forget(target, host);
    } else if (connection.isPaused) this.#openIfNeeded(target, host);
    else if (connection.isIdle && !host.idle.includes(connection)) {
      host.idle.push(connection);
      this.#idle.add(connection);
      connection.rest(this.#options.idleMs);
      this.#serve(host);
      this.#closeIdle(MOST_IDLE);
    }
  }

  #hostOf(target: Target): Host {
    const key = keyOf(target);
    const known = this.#hosts.get(key);
    if (known !== undefined) return known;
    const made: Host = { open: new Set(), idle: [], opening: 0, waiting: [] };
    this.#hosts.set(key, made);
    return made;
  }

  /** Hosts are named by playlists: what is known of them must not add up. */
  #forget(target: Target, host: Host): void {
    if (host.open.size + host.opening + host.waiting.length > 0) return;
    if (this.#hosts.get(keyOf(target)) === host) this.#hosts.delete(keyOf(target));
  }
}

/** One that waits fails, unless a connection that opens or is in use may serve it. False: none has failed. */
function refuse({ waiting, opening, open }: Host, error: Error): boolean {
  if (waiting.length <= opening || open.size > 0) return false;
  waiting.shift()!.reject(error);
  return true;
}

const keyOf = ({ host, port, scheme }: Target): string => `${scheme} ${host} ${port}`;

/** A GET or PUT of HTTP/1.1, in Latin-1. Neither the path nor a header can end its line. */
function requestText(path: string, headers: Readonly<Record<string, string>>, put?: Buffer): string {
  if (/[^\x21-\xff]/.test(path)) throw new TypeError('the path of a request has characters that are not allowed');
  let text = `${put ? 'PUT' : 'GET'} ${path} HTTP/1.1\r\n`;
  const length = put ? { 'content-length': String(put.length) } : {};
  for (const [name, value] of Object.entries({ ...headers, ...length })) {
    // In lower case, so that none is there twice.
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw new TypeError(`the header ${JSON.stringify(name)} of a request has characters that are not allowed`);
    text += `${name}: ${value}\r\n`;
  }
  return `${text}\r\n${put?.toString('latin1') ?? ''}`;
}

// How far hosts are, by the fastest of the connections to each: known a round trip before the first answer, so that
// what a far origin is worth (more connections, the end of a file beside its head) costs a near one nothing.

/** Hosts are named by playlists, so their number has a bound. */
const MOST_HOSTS = 256;
/** Late turns of a busy event loop look like distance. */
const FAR = 2;
/** Half of a TLS handshake is computing. */
const TLS_SHARE = 0.5;

interface Known {
  fastestMs: number;
  /** Of those who asked before the first connection. */
  waiting: ((isFar: boolean) => void)[];
}

export class HostDistances {
  readonly #farMs: number;
  readonly #hosts = new Map<string, Known>();

  constructor(nearMs: number) {
    this.#farMs = FAR * nearMs;
  }

  /**
   * `tcpMs`: until the host's system answered. `tlsMs`: of the handshake, undefined before it. Where something on the
   * way accepts connections for hosts, only the handshake tells how far they are.
   */
  connected(host: string, tcpMs: number, tlsMs: number | undefined): void {
    if (tlsMs === undefined && tcpMs <= this.#farMs) return;
    const known = this.#of(host);
    known.fastestMs = Math.min(known.fastestMs, Math.max(tcpMs, (tlsMs ?? 0) * TLS_SHARE));
    this.#answer(known);
  }

  /** There will be no connection. */
  failed(host: string): void {
    const known = this.#hosts.get(host);
    if (known !== undefined) this.#answer(known);
  }

  /** As soon as the first connection is there, or has failed. */
  isFar(host: string): Promise<boolean> {
    const known = this.#of(host);
    if (known.fastestMs !== Infinity) return Promise.resolve(this.#isFar(known));
    return new Promise((resolve) => known.waiting.push(resolve));
  }

  /** Infinity: not known. */
  fastestMs(host: string): number {
    return this.#hosts.get(host)?.fastestMs ?? Infinity;
  }

  #isFar({ fastestMs }: Known): boolean {
    return fastestMs !== Infinity && fastestMs > this.#farMs;
  }

  #answer(known: Known): void {
    for (const answer of known.waiting.splice(0)) answer(this.#isFar(known));
  }

  #of(host: string): Known {
    const known = this.#hosts.get(host);
    if (known !== undefined) return known;
    const oldest = this.#hosts.size < MOST_HOSTS ? undefined : this.#hosts.entries().next().value;
    if (oldest !== undefined) {
      this.#hosts.delete(oldest[0]);
      for (const answer of oldest[1].waiting) answer(false);
    }
    const made: Known = { fastestMs: Infinity, waiting: [] };
    this.#hosts.set(host, made);
    return made;
  }
}
