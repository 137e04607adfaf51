/** Playlists for the examples of rules: as short as a valid one can be. */
const HEAD = '#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-INDEPENDENT-SEGMENTS\n';
const TARGET = '#EXT-X-TARGETDURATION:6';
const lines = (list: readonly string[]): string => list.map((line) => `${line}\n`).join('');

const segments = (first: number | bigint, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `#EXTINF:6,\n${BigInt(first) + BigInt(n)}.ts`);
const hasSegment = (given: readonly string[]): boolean => given.some((line) => line.startsWith('#EXTINF'));

/** A recording with the given lines in its middle. A segment is added if they contain none. */
export function vod(...given: string[]): string {
  const own = hasSegment(given) ? [] : ['#EXTINF:6,', 'a.ts'];
  return `${HEAD}${lines([TARGET, '#EXT-X-PLAYLIST-TYPE:VOD', ...given, ...own, '#EXT-X-ENDLIST'])}`;
}

/** A live playlist of five segments, unless the given lines contain segments. */
export function live(...given: string[]): string {
  const own = hasSegment(given) ? [] : segments(10, 5);
  return `${HEAD}${lines([TARGET, ...given, ...own])}`;
}

/** A live playlist from segment `first` on. */
export const window_ = (first: number | bigint, count = 5, more: string[] = []): string =>
  `${HEAD}${lines([TARGET, `#EXT-X-MEDIA-SEQUENCE:${first}`, ...more, ...segments(first, count)])}`;

/** A low-latency playlist: the control tags can be replaced, the given lines are at the end. */
export function lowLatency(
  given: string[],
  {
    control = 'CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.5,CAN-SKIP-UNTIL=36',
    partInf = '0.5',
    hint = true,
  }: { control?: string; partInf?: string; hint?: boolean } = {},
): string {
  const head = [
    TARGET,
    ...(control === '' ? [] : [`#EXT-X-SERVER-CONTROL:${control}`]),
    ...(partInf === '' ? [] : [`#EXT-X-PART-INF:PART-TARGET=${partInf}`]),
    '#EXT-X-MEDIA-SEQUENCE:10',
    '#EXT-X-PROGRAM-DATE-TIME:2026-01-01T00:00:00Z',
  ];
  const end = hint ? ['#EXT-X-PRELOAD-HINT:TYPE=PART,URI="next.ts"'] : [];
  return `${HEAD}${lines([...head, ...segments(10, 4), ...given, ...end])}`;
}

export const IFRAMES =
  '#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=200000,CODECS="avc1.640028",RESOLUTION=1280x720,URI="iframes.m3u8"';

/** A multivariant playlist. A variant is added if the given lines contain none. */
export function aMain(...given: string[]): string {
  const own = given.some((line) => line.startsWith('#EXT-X-STREAM-INF'));
  return `${HEAD}${lines([...given, ...(own ? [] : [aVariant({})])])}`;
}

export const raw = (...given: string[]): string => lines(given);

/** A variant with changed attributes: `null` removes one. */
export function aVariant(changes: Record<string, string | null>, uri = 'video.m3u8'): string {
  const attributes = new Map([
    ['BANDWIDTH', '2000000'],
    ['AVERAGE-BANDWIDTH', '1500000'],
    ['CODECS', '"avc1.640028,mp4a.40.2"'],
    ['RESOLUTION', '1280x720'],
    ['FRAME-RATE', '25.000'],
    ['CLOSED-CAPTIONS', 'NONE'],
  ]);
  for (const [name, value] of Object.entries(changes))
    if (value === null) attributes.delete(name);
    else attributes.set(name, value);
  return `#EXT-X-STREAM-INF:${[...attributes].map(([name, value]) => `${name}=${value}`).join(',')}\n${uri}`;
}
