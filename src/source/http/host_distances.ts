/**
 * How far hosts are, by the fastest of the connections to each: known a round trip before the first answer, so that
 * what a far origin is worth (more connections, the end of a file beside its head) costs a near one nothing.
 */

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
