/** Matches the streams of the two tools: by what they are, not by their order alone. */
import { bothOf, FIRST, SECOND, type SideStream, type Sides } from './side.ts';

export type Pair = Sides<SideStream | undefined>;
/** The stream as each tool that sees it tells it. */
export const streamsOf = (pair: Pair | undefined): SideStream[] =>
  pair ? bothOf(pair).filter((stream) => stream !== undefined) : [];
/** A cover, which is no video for anyone who watches it. */
export const isPicture = ({ pair }: { pair: Pair | undefined }): boolean =>
  streamsOf(pair).some(({ picture }) => picture);

const MOST_LOOKED_AT = 200_000;

/** The score of a trait that two streams share; half of it is taken off where they differ. */
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
  // Matroska numbers its tracks from one; the first tool does not show the number.
  if (one.id === undefined && other.id === one.order + 1) score += 4;
  if (one.order === other.order) score += 2;
  for (let at = 0; at < WEIGHTS.length; at++)
    if (a[at] !== undefined && b[at] !== undefined) score += a[at] === b[at] ? WEIGHTS[at]![1] : -WEIGHTS[at]![1] / 2;
  return one.picture === true || other.embedded === true ? score - 6 : score;
}

/**
 * The most alike first. Streams of different types are never a pair; the last two of a type are one, however little
 * they share.
 */
export function pairs(first: readonly SideStream[], second: readonly SideStream[]): Pair[] {
  const candidates: { one: SideStream; other: SideStream; score: number }[] = [];
  if (first.length * second.length <= MOST_LOOKED_AT) {
    const [ours, theirs] = [first, second].map((streams) =>
      streams.map((stream): Seen => ({ stream, traits: traitsOf(stream) })),
    );
    for (const one of ours!)
      for (const other of theirs!)
        if (one.stream.type === other.stream.type)
          candidates.push({ one: one.stream, other: other.stream, score: likeness(one, other) });
    candidates.sort((a, b) => b.score - a.score || a.one.order - b.one.order || a.other.order - b.other.order);
  } else {
    for (const [index, one] of first.entries())
      if (second[index]?.type === one.type) candidates.push({ one, other: second[index], score: 0 });
  }
  const partner = new Map<SideStream, SideStream>();
  const taken = new Set<SideStream>();
  for (const { one, other, score } of candidates) {
    if (partner.has(one) || taken.has(other) || score <= -6) continue;
    partner.set(one, other);
    taken.add(other);
  }
  return [
    ...first.map((stream) => ({ [FIRST]: stream, [SECOND]: partner.get(stream) })),
    ...second.filter((stream) => !taken.has(stream)).map((stream) => ({ [FIRST]: undefined, [SECOND]: stream })),
  ];
}
