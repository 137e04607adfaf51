import { nextSeq, seqDistance } from './packet.ts';

/** How far beyond a missing packet others are kept. */
const WIDEST = 8192;

export interface Loss {
  from: number;
  to: number;
}

/** Restores the order of packets and tracks losses. No I/O. */
export class PacketOrder<T> {
  /** The first missing sequence number. */
  next: number;
  readonly #held = new Map<number, T>();
  #newest: number;

  constructor(first: number) {
    this.next = first;
    this.#newest = (first - 1) & 0x7fffffff;
  }

  /** `ready`: packets that are in order now; `lost`: the gap revealed by this packet. */
  add(seq: number, packet: T): { ready: T[]; lost: Loss | undefined } {
    const ahead = seqDistance(seq, this.next);
    if (ahead < 0) return { ready: [], lost: undefined };
    if (ahead > WIDEST) {
      // Too far away: the stream is treated as restarted.
      this.#held.clear();
      this.next = seq;
      this.#newest = (seq - 1) & 0x7fffffff;
    }
    const gap = seqDistance(seq, this.#newest);
    const lost = gap > 1 ? { from: nextSeq(this.#newest), to: (seq - 1) & 0x7fffffff } : undefined;
    if (gap > 0) this.#newest = seq;
    this.#held.set(seq, packet);
    return { ready: this.#take(), lost };
  }

  /** Whether packets wait behind a gap. */
  get waits(): boolean {
    return this.#held.size > 0;
  }

  /** The first gap. */
  missing(): Loss | undefined {
    if (!this.waits) return undefined;
    let to = this.next;
    while (!this.#held.has(nextSeq(to))) to = nextSeq(to);
    return { from: this.next, to };
  }

  /** Skips the first gap, or all gaps up to a number. */
  skip(to = this.missing()?.to): T[] {
    if (to === undefined || seqDistance(to, this.next) < 0 || seqDistance(to, this.next) > WIDEST) return [];
    const ready: T[] = [];
    for (const seq of this.#heldUpTo(to)) {
      ready.push(this.#held.get(seq)!);
      this.#held.delete(seq);
    }
    this.next = nextSeq(to);
    if (seqDistance(this.#newest, to) < 0) this.#newest = to;
    return [...ready, ...this.#take()];
  }

  /**
   * Held numbers in order. A sender can name distant numbers repeatedly, so the work is bounded by the smaller of the
   * gap and the held packets.
   */
  #heldUpTo(to: number): number[] {
    const distance = seqDistance(to, this.next) + 1;
    const numbers =
      distance < this.#held.size
        ? Array.from({ length: distance }, (_, i) => (this.next + i) & 0x7fffffff)
        : [...this.#held.keys()];
    return numbers.filter((seq) => this.#held.has(seq) && seqDistance(seq, to) <= 0).sort(seqDistance);
  }

  #take(): T[] {
    const ready: T[] = [];
    for (let packet = this.#held.get(this.next); packet !== undefined; packet = this.#held.get(this.next)) {
      ready.push(packet);
      this.#held.delete(this.next);
      this.next = nextSeq(this.next);
    }
    return ready;
  }
}
