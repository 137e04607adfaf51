/** Matches the streams of the two tools by their properties, not by order alone. */
import { bothOf, FIRST, SECOND, type SideStream, type Sides } from './side.ts';

export type Pair = Sides<SideStream | undefined>;
/** The stream as seen by each tool that has it. */
export const streamsOf = (pair: Pair | undefined): SideStream[] =>
  pair ? bothOf(pair).filter((stream) => stream !== undefined) : [];
/** A cover, which viewers do not consider a video. */
export const isPicture = ({ pair }: { pair: Pair | undefined }): boolean =>
  streamsOf(pair).some(({ picture }) => picture);

/** Maximum number of compared pairs; must be less than PLACES. */
const MOST_LOOKED_AT = 200_000;

/** Score of a trait that both streams share; half of it is subtracted if they differ. */
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
  // Matroska numbers its tracks from one; ffprobe does not show the number.
  if (one.id === undefined && other.id === one.order + 1) score += 4;
  if (one.order === other.order) score += 2;
  for (let at = 0; at < WEIGHTS.length; at++)
    if (a[at] !== undefined && b[at] !== undefined) score += a[at] === b[at] ? WEIGHTS[at]![1] : -WEIGHTS[at]![1] / 2;
  return one.picture === true || other.embedded === true ? score - 6 : score;
}

type Take = (one: SideStream, other: SideStream, score: number) => void;

/**
 * A pair as one small integer that sorts correctly: its score, which has halves, and its position among all pairs. As
 * objects, 2,500 pairs took a sixth of a report's memory.
 */
const PLACES = 2 ** 18;
const HIGHEST = 64;

/** Most similar pairs first, then in stream order. */
function byLikeness(first: readonly SideStream[], second: readonly SideStream[], take: Take): void {
  const [ours, theirs] = [first, second].map((streams) =>
    streams.toSorted((a, b) => a.order - b.order).map((stream): Seen => ({ stream, traits: traitsOf(stream) })),
  ) as [Seen[], Seen[]];
  const across = theirs.length;
  const keys = new Int32Array(ours.length * across);
  let count = 0;
  for (let at = 0; at < ours.length; at++) {
    const one = ours[at]!;
    for (let place = 0; place < across; place++) {
      const other = theirs[place]!;
      if (one.stream.type === other.stream.type)
        keys[count++] = (HIGHEST - likeness(one, other)) * 2 * PLACES + at * across + place;
    }
  }
  for (const key of keys.subarray(0, count).sort()) {
    const pair = key % PLACES;
    const place = pair % across;
    take(ours[(pair - place) / across]!.stream, theirs[place]!.stream, HIGHEST - (key - pair) / PLACES / 2);
  }
}

/**
 * Pairs the most similar streams first. Streams of different types are never paired; the last two of a type always are,
 * however little they share.
 */
export function pairs(first: readonly SideStream[], second: readonly SideStream[]): Pair[] {
  const partner = new Map<SideStream, SideStream>();
  const taken = new Set<SideStream>();
  const take: Take = (one, other, score) => {
    if (partner.has(one) || taken.has(other) || score <= -6) return;
    partner.set(one, other);
    taken.add(other);
  };
  if (first.length * second.length <= MOST_LOOKED_AT) byLikeness(first, second, take);
  else for (const [index, one] of first.entries()) if (second[index]?.type === one.type) take(one, second[index], 0);
  return [
    ...first.map((stream) => ({ [FIRST]: stream, [SECOND]: partner.get(stream) })),
    ...second.filter((stream) => !taken.has(stream)).map((stream) => ({ [FIRST]: undefined, [SECOND]: stream })),
  ];
}
