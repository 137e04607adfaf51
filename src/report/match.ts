/** Which stream of one tool is which of the other: by what they are, not by their place alone. */
import type { SideStream } from './side.ts';

export interface Pair { ffprobe: SideStream | undefined; mediainfo: SideStream | undefined }

const MOST_LOOKED_AT = 200_000;

function likeness(one: SideStream, other: SideStream): number {
  if (one.type !== other.type) return -Infinity;
  const [a, b] = [one.fields, other.fields];
  const agrees = (path: string, weight: number) => (a[path] === undefined || b[path] === undefined ? 0 : a[path] === b[path] ? weight : -weight / 2);
  return (
    (one.id !== undefined && one.id === other.id ? 8 : 0)
    // Matroska's tracks have numbers from one on, where ffprobe shows none.
    + (one.id === undefined && other.id === one.order + 1 ? 4 : 0)
    + (one.order === other.order ? 2 : 0)
    + agrees('codec.name', 4) + agrees('size.width', 2) + agrees('size.height', 2) + agrees('sample_rate', 2) + agrees('channels', 2) + agrees('language', 2) + agrees('title', 1)
    + (one.picture === true || other.embedded === true ? -6 : 0)
  );
}

/** The likest first. Streams of two kinds are never a pair; the last pair of a kind is one however little they have in common. */
export function pairs(ffprobe: readonly SideStream[], mediainfo: readonly SideStream[]): Pair[] {
  const candidates: { one: SideStream; other: SideStream; score: number }[] = [];
  if (ffprobe.length * mediainfo.length <= MOST_LOOKED_AT) {
    for (const one of ffprobe) for (const other of mediainfo) if (one.type === other.type) candidates.push({ one, other, score: likeness(one, other) });
    candidates.sort((a, b) => b.score - a.score || a.one.order - b.one.order || a.other.order - b.other.order);
  } else {
    for (const [index, one] of ffprobe.entries()) if (mediainfo[index]?.type === one.type) candidates.push({ one, other: mediainfo[index], score: 0 });
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
