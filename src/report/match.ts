/** Which stream of one tool is which of the other: by what they are, not by their place alone. */
import type { SideStream } from './side.ts';

export interface Pair {
  ffprobe: SideStream | undefined;
  mediainfo: SideStream | undefined;
}

const MOST_LOOKED_AT = 200_000;

/** What two streams have in common counts so much; half of it against them where they differ. */
const WEIGHTS: readonly (readonly [string, number])[] = [
  ['codec.name', 4],
  ['size.width', 2],
  ['size.height', 2],
  ['sample_rate', 2],
  ['channels', 2],
  ['language', 2],
  ['title', 1],
];
type Traits = readonly (string | number | boolean | undefined)[];
const traitsOf = ({ fields }: SideStream): Traits => WEIGHTS.map(([path]) => fields[path]);

interface Seen {
  stream: SideStream;
  traits: Traits;
}

function likeness({ stream: one, traits: a }: Seen, { stream: other, traits: b }: Seen): number {
  let score = 0;
  if (one.id !== undefined && one.id === other.id) score += 8;
  // Matroska's tracks have numbers from one on, where ffprobe shows none.
  if (one.id === undefined && other.id === one.order + 1) score += 4;
  if (one.order === other.order) score += 2;
  for (let at = 0; at < WEIGHTS.length; at++)
    if (a[at] !== undefined && b[at] !== undefined) score += a[at] === b[at] ? WEIGHTS[at]![1] : -WEIGHTS[at]![1] / 2;
  return one.picture === true || other.embedded === true ? score - 6 : score;
}

/**
 * The likest first. Streams of two kinds are never a pair; the last pair of a kind is one however little they have in
 * common.
 */
export function pairs(ffprobe: readonly SideStream[], mediainfo: readonly SideStream[]): Pair[] {
  const candidates: { one: SideStream; other: SideStream; score: number }[] = [];
  if (ffprobe.length * mediainfo.length <= MOST_LOOKED_AT) {
    const [ours, theirs] = [ffprobe, mediainfo].map((streams) =>
      streams.map((stream): Seen => ({ stream, traits: traitsOf(stream) })),
    );
    for (const one of ours!)
      for (const other of theirs!)
        if (one.stream.type === other.stream.type)
          candidates.push({ one: one.stream, other: other.stream, score: likeness(one, other) });
    candidates.sort((a, b) => b.score - a.score || a.one.order - b.one.order || a.other.order - b.other.order);
  } else {
    for (const [index, one] of ffprobe.entries())
      if (mediainfo[index]?.type === one.type) candidates.push({ one, other: mediainfo[index], score: 0 });
  }
  const partner = new Map<SideStream, SideStream>();
  const taken = new Set<SideStream>();
  for (const { one, other, score } of candidates) {
    if (partner.has(one) || taken.has(other) || score <= -6) continue;
    partner.set(one, other);
    taken.add(other);
  }
  return [
    ...ffprobe.map((stream) => ({ ffprobe: stream, mediainfo: partner.get(stream) })),
    ...mediainfo.filter((stream) => !taken.has(stream)).map((stream) => ({ ffprobe: undefined, mediainfo: stream })),
  ];
}
