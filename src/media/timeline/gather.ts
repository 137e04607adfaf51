/** From the packet list of ffprobe to a timeline, while it is printed: the list is never held. */
import { ALL_KEYS, ALL_MARKS, MOST_STREAMS } from './limits.ts';
import { packetReader, type StreamLine } from './packets.ts';
import type { Timeline } from './schema.ts';
import { rounded, StreamGatherer } from './stream.ts';

/** Numbers of streams that are left out: that many are told apart. */
const MOST_LEFT_OUT = 10_000;

export interface Gatherer {
  push(bytes: Buffer): void;
  packets(): number;
  /** `cut`: why ffprobe did not come to the end. `known`: streams, where it did not come to list them. */
  told(version: string, cut?: string, known?: readonly StreamLine[]): Timeline;
}

export function timelineGatherer(): Gatherer {
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
    push: (bytes) => reader.push(bytes),
    packets: () => packets,
    told(version, cut, known = []) {
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
