/** The protocol version that a playlist needs, and the one that it declares. */
import { has, lineOf, tagsOf, text, type Playlist } from '../playlist.ts';
import { info, must, type Rule } from '../rule.ts';
import type { Note } from './catalog.ts';

export const NEWEST_VERSION = 13;

export const VERSION_RULES = {
  'version-low': must('8')`EXT-X-VERSION is too low for what the playlist uses.
    Raise EXT-X-VERSION to the number in the message.`,
  'version-unknown': info('4.4.1.2')`EXT-X-VERSION is not a version of the specification.
    Use a version that the specification knows.`,
  'removed-attribute': info('8')`PROGRAM-ID was removed in version 6 of the protocol. Remove PROGRAM-ID.`,
} satisfies Record<string, Rule>;

interface Need {
  version: number;
  why: string;
  line: number;
}

export function judgeVersion(playlist: Playlist, note: Note): void {
  const named = playlist.version ?? 1;
  if (named > NEWEST_VERSION) note('version-unknown', playlist.versionLine, String(named));
  for (const { tag } of playlist.variants)
    if (tag.attributes.has('PROGRAM-ID') && named >= 6) note('removed-attribute', tag.line);
  let worst: Need | undefined;
  for (const need of needsOf(playlist)) if (need.version > named && need.version > (worst?.version ?? 0)) worst = need;
  if (worst === undefined) return;
  const names = playlist.version === undefined ? 'names none' : `names ${named}`;
  note('version-low', worst.line, `${worst.why} needs ${worst.version}, and the playlist ${names}`);
}

function* needsOf(playlist: Playlist): Generator<Need> {
  const broken = playlist.segments.find(({ duration }) => !Number.isInteger(duration));
  if (broken !== undefined) yield { version: 3, why: 'a duration with a fraction', line: broken.infLine };
  const { iframesOnly } = playlist;
  const uses = (name: string, attribute: string): boolean =>
    tagsOf(playlist, name).some(({ attributes }) => attributes.has(attribute));
  const byTag: readonly [name: string, version: number, why?: string][] = [
    ['EXT-X-BYTERANGE', 4],
    ['EXT-X-I-FRAMES-ONLY', 4],
    iframesOnly ? ['EXT-X-MAP', 5] : ['EXT-X-MAP', 6, 'EXT-X-MAP without EXT-X-I-FRAMES-ONLY'],
    ['EXT-X-DEFINE', uses('EXT-X-DEFINE', 'QUERYPARAM') ? 11 : 8],
    ['EXT-X-SKIP', uses('EXT-X-SKIP', 'RECENTLY-REMOVED-DATERANGES') ? 10 : 9],
  ];
  for (const [name, version, why = name] of byTag)
    if (has(playlist, name)) yield { version, why, line: lineOf(playlist, name) };
  for (const key of playlist.tags) {
    if (key.name !== 'EXT-X-KEY' && key.name !== 'EXT-X-SESSION-KEY') continue;
    if (key.attributes.has('IV')) yield { version: 2, why: 'IV', line: key.line };
    if (key.attributes.has('KEYFORMAT') || key.attributes.has('KEYFORMATVERSIONS'))
      yield { version: 5, why: 'KEYFORMAT', line: key.line };
  }
  for (const { tag: media, type } of playlist.renditions) {
    const channel = text(media, 'INSTREAM-ID');
    if (channel === undefined) continue;
    if (type !== 'CLOSED-CAPTIONS') yield { version: 13, why: `INSTREAM-ID of ${type}`, line: media.line };
    else if (channel.startsWith('SERVICE')) yield { version: 7, why: 'INSTREAM-ID with SERVICE', line: media.line };
  }
  for (const { tag: variant } of playlist.variants)
    for (const name of variant.attributes.keys())
      if (name.startsWith('REQ-')) yield { version: 12, why: name, line: variant.line };
}
