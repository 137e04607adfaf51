/** From the packet list of ffprobe to a timeline, while it is printed: the list is never held. */
import { ALL_KEYS, ALL_MARKS, MOST_COLUMNS, MOST_KEYS, MOST_MARKS, MOST_STREAMS } from './limits.ts';
import { packetReader, type Packet, type StreamLine } from './packets.ts';
import type { StreamTimeline, Timeline } from './schema.ts';

/** Shorter pauses are the rounding of a container. */
const SHORTEST_GAP_S = 0.1;
/** Without decoding times, packets are put in the order of presentation: a larger step back begins anew. */
const REORDERED_S = 1;
/** No codec shows a picture later than this many that were decoded after it. */
const MOST_REORDERED = 16;

/** Streams whose packets come now and then: no pause between them is a gap. */
const SPARSE: readonly (string | null)[] = ['subtitle', 'data', 'attachment'];

/** Microseconds. */
const rounded = (seconds: number): number => Math.round(seconds * 1e6) / 1e6;

type Mark = [at: number, length: number];

class Marks {
  count = 0;
  readonly list: Mark[] = [];

  add(at: number, length: number): void {
    this.count += 1;
    if (this.list.length < MOST_MARKS) this.list.push([rounded(at), rounded(length)]);
  }

  told(most: number): { count: number; list: Mark[] } {
    return { count: this.count, list: this.list.slice(0, most) };
  }
}

const NARROWEST_S = 0.125;

const zeros = (length: number): number[] => Array.from({ length }, () => 0);

/**
 * Bits and packets over time, in a bounded number of columns. A column is a power of two seconds wide; when there is no
 * room for another, columns are merged by pairs and are twice as wide.
 */
class Columns {
  step = NARROWEST_S;
  /** Number of the first column: it begins at `base * step`. */
  base = 0;
  bits: number[] = [];
  counts: number[] = [];

  add(time: number, bits: number): void {
    const at = this.#makeRoom(time) - this.base;
    this.bits[at]! += bits;
    this.counts[at]! += 1;
  }

  /** The number of the column that the time is in. */
  #makeRoom(time: number): number {
    for (;;) {
      const column = Math.floor(time / this.step);
      if (this.bits.length === 0) this.base = column;
      const first = Math.min(this.base, column);
      const last = Math.max(this.base + this.bits.length - 1, column);
      if (last - first < MOST_COLUMNS) {
        this.#extend(this.base - first, last - first + 1);
        this.base = first;
        return column;
      }
      this.#mergePairs();
    }
  }

  /** `before`: columns that are put in front. */
  #extend(before: number, length: number): void {
    if (before > 0) {
      this.bits = [...zeros(before), ...this.bits];
      this.counts = [...zeros(before), ...this.counts];
    }
    while (this.bits.length < length) {
      this.bits.push(0);
      this.counts.push(0);
    }
  }

  #mergePairs(): void {
    // A pair begins at an even number.
    const odd = Math.abs(this.base) % 2;
    const merged = (values: readonly number[]): number[] => {
      const pairs = zeros(Math.ceil((values.length + odd) / 2));
      for (const [at, value] of values.entries()) pairs[Math.floor((at + odd) / 2)]! += value;
      return pairs;
    };
    this.bits = merged(this.bits);
    this.counts = merged(this.counts);
    this.base = Math.floor(this.base / 2);
    this.step *= 2;
  }
}

class Gops {
  #count = 0;
  #sum = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = 0;
  #last: number | undefined;

  /** Of each key frame, in their order. */
  key(time: number): void {
    const length = this.#last === undefined ? 0 : time - this.#last;
    this.#last = time;
    if (length <= 0) return;
    this.#count += 1;
    this.#sum += length;
    this.#min = Math.min(this.#min, length);
    this.#max = Math.max(this.#max, length);
  }

  told(open: boolean): StreamTimeline['gops'] {
    if (this.#count === 0) return null;
    return {
      count: this.#count,
      min: rounded(this.#min),
      mean: rounded(this.#sum / this.#count),
      max: rounded(this.#max),
      ...(open ? { open: true } : {}),
    };
  }
}

interface Timed {
  time: number;
  duration: number | null;
}

/**
 * Packets that have a presentation time alone, as the first ones of a Matroska file with B-frames do, in its order:
 * those between two that were decoded one after the other would seem to be missing.
 */
class Reordered {
  #waiting: Timed[] = [];

  /** Those whose place is certain now. */
  *add(packet: Timed): Generator<Timed> {
    const newest = this.#waiting.at(-1);
    if (newest !== undefined && packet.time < newest.time - REORDERED_S) yield* this.rest();
    const at = this.#waiting.findLastIndex(({ time }) => time <= packet.time) + 1;
    this.#waiting.splice(at, 0, packet);
    if (this.#waiting.length > MOST_REORDERED) yield this.#waiting.shift()!;
  }

  *rest(): Generator<Timed> {
    const all = this.#waiting;
    this.#waiting = [];
    yield* all;
  }
}

/** What a timeline says of one stream: gathered packet by packet, in constant memory. */
class StreamGatherer {
  readonly #index: number;
  readonly #columns = new Columns();
  readonly #gaps = new Marks();
  readonly #jumps = new Marks();
  readonly #gops = new Gops();
  readonly #keyTimes: number[] = [];
  #packets = 0;
  #bytes = 0;
  #untimed = 0;
  #keys = 0;
  #sinceKey = 0;
  #start: number | null = null;
  #end: number | null = null;
  #before: (Timed & { decoding: boolean }) | undefined;
  readonly #undecoded = new Reordered();

  constructor(index: number) {
    this.#index = index;
  }

  add({ pts, dts, duration, bytes, key }: Packet): void {
    this.#packets += 1;
    this.#bytes += bytes;
    const time = dts ?? pts;
    const shown = pts ?? dts;
    if (time === null || shown === null) {
      this.#untimed += 1;
      return;
    }
    this.#start = Math.min(this.#start ?? shown, shown);
    this.#end = Math.max(this.#end ?? shown, shown + (duration ?? 0));
    this.#columns.add(time, bytes * 8);
    this.#inOrder({ time, duration }, dts !== null);
    if (key) this.#key(shown);
    else this.#sinceKey += 1;
  }

  #key(time: number): void {
    this.#keys += 1;
    this.#sinceKey = 0;
    if (this.#keyTimes.length < MOST_KEYS) this.#keyTimes.push(rounded(time));
    this.#gops.key(time);
  }

  #inOrder(packet: Timed, decoding: boolean): void {
    for (const ready of decoding ? this.#undecoded.rest() : this.#undecoded.add(packet)) this.#follow(ready, false);
    if (decoding) this.#follow(packet, true);
  }

  #follow({ time, duration }: Timed, decoding: boolean): void {
    const { time: last, duration: lasted, decoding: same } = this.#before ?? {};
    const step = last === undefined ? 0 : time - last;
    this.#before = { time, duration: duration ?? (step > 0 && step < 1 ? step : (lasted ?? null)), decoding };
    if (last === undefined || same !== decoding) return;
    if (step < (decoding ? 0 : -REORDERED_S)) this.#jumps.add(last, step);
    else if (lasted !== null && lasted !== undefined && step - lasted > Math.max(SHORTEST_GAP_S, 2 * lasted))
      this.#gaps.add(last + lasted, step - lasted);
  }

  /** `share`: how many key frames and marks this stream may list. */
  told(line: StreamLine | undefined, share: { keys: number; marks: number }): StreamTimeline {
    for (const packet of this.#undecoded.rest()) this.#follow(packet, false);
    const { type = null, codec = null } = line ?? {};
    const timed = this.#packets - this.#untimed;
    const every = this.#keys > 0 && this.#keys === timed;
    const isVideo = type === 'video' || (type === null && !every);
    const { step, base, bits, counts } = this.#columns;
    return {
      index: this.#index,
      type,
      codec,
      start: this.#start === null ? null : rounded(this.#start),
      end: this.#end === null ? null : rounded(this.#end),
      packets: this.#packets,
      bytes: this.#bytes,
      untimed: this.#untimed,
      step,
      first: base * step,
      bits,
      counts,
      keys: {
        count: isVideo ? this.#keys : 0,
        every: isVideo && every,
        times: isVideo && !every ? this.#keyTimes.slice(0, share.keys) : [],
      },
      gops: isVideo ? this.#gops.told(this.#sinceKey > 0) : null,
      gaps: SPARSE.includes(type) ? { count: 0, list: [] } : this.#gaps.told(share.marks),
      jumps: this.#jumps.told(share.marks),
    };
  }
}

/** Numbers of streams that are left out: that many are told apart. */
const MOST_LEFT_OUT = 10_000;

export function timelineGatherer() {
  const streams = new Map<number, StreamGatherer>();
  const lines = new Map<number, StreamLine>();
  const leftOut = new Set<number>();
  let packets = 0;
  let last: number | null = null;

  const gathererOf = (index: number): StreamGatherer | undefined => {
    const known = streams.get(index);
    if (known) return known;
    if (streams.size >= MOST_STREAMS) {
      if (leftOut.size < MOST_LEFT_OUT) leftOut.add(index);
      return undefined;
    }
    const made = new StreamGatherer(index);
    streams.set(index, made);
    return made;
  };
  const reader = packetReader(
    (packet) => {
      packets += 1;
      last = packet.dts ?? packet.pts ?? last;
      gathererOf(packet.stream)?.add(packet);
    },
    (line) => {
      if (gathererOf(line.index)) lines.set(line.index, line);
    },
  );

  return {
    push: (bytes: Buffer): void => reader.push(bytes),
    packets: (): number => packets,
    /** `cut`: why ffprobe did not come to the end. `known`: streams, where it did not come to list them. */
    told(version: string, cut?: string, known: readonly StreamLine[] = []): Timeline {
      // The line that it was cut in is half a packet.
      if (cut === undefined) reader.end();
      for (const line of known) if (streams.has(line.index) && !lines.has(line.index)) lines.set(line.index, line);
      const share = {
        keys: Math.floor(ALL_KEYS / Math.max(1, streams.size)),
        marks: Math.floor(ALL_MARKS / Math.max(1, streams.size)),
      };
      const all = [...streams].sort(([a], [b]) => a - b);
      return {
        version,
        ...(cut === undefined ? {} : { until: last === null ? 0 : rounded(last), cut }),
        streams_left_out: leftOut.size,
        streams: all.map(([index, stream]) => stream.told(lines.get(index), share)),
      };
    },
  };
}
