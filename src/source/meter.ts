/** What each tool of a job costs the origin. A byte counts to the tool that first asked for it. */
import type { Exchange } from './http/exchange.ts';

export interface OriginUse {
  requests: number;
  /** Opened for these requests. */
  connections: number;
  /** That were read from sockets, heads and framing included. */
  bytes: number;
  /** In which the tool waited for the origin. */
  ms: number;
}

type Count = Exchange['count'];

export class Meter implements Count {
  readonly #job: Count;
  readonly #use: OriginUse = { requests: 0, connections: 0, bytes: 0, ms: 0 };
  #waiting = 0;
  #since = 0;

  /** `job`: counts all tools of the job together. */
  constructor(job: Count) {
    this.#job = job;
  }

  get use(): OriginUse {
    const running = this.#waiting > 0 ? performance.now() - this.#since : 0;
    return { ...this.#use, ms: this.#use.ms + running };
  }

  request(fresh: boolean): void {
    this.#use.requests++;
    if (fresh) this.#use.connections++;
    this.#job.request(fresh);
  }

  bytes(count: number): void {
    this.#use.bytes += count;
    this.#job.bytes(count);
  }

  /** The tool waits for the origin. Waits that overlap are counted once. */
  begin(): void {
    if (this.#waiting++ === 0) this.#since = performance.now();
  }

  end(): void {
    if (--this.#waiting === 0) this.#use.ms += performance.now() - this.#since;
  }
}
