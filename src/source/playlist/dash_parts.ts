/** The initialization and the first segment of each representation of a manifest's first period. */
import { resolveReference } from '../address/target.ts';
import type { Named } from './first_parts.ts';
import { unescapeXml, xmlTags, type Tag } from '../../base/xml.ts';

/** What an element says of segments. Its children inherit it. */
interface Scope {
  name: string;
  base: string;
  ownBase?: boolean;
  id?: string | undefined;
  bandwidth?: string | undefined;
  initialization?: string | undefined;
  media?: string | undefined;
  startNumber?: string | undefined;
  time?: string | undefined;
}

const MOST_NAMED = 64;
const DEEPEST = 16;

export function firstDashParts(text: string, url: string): Named[] {
  // Which segment is the first of a live manifest depends on the time.
  const isLive = /\stype\s*=\s*["']dynamic/.test(text);
  const open: Scope[] = [{ name: '', base: url }];
  const named: Named[] = [];
  const top = (): Scope => open.at(-1)!;

  const begin = (tag: Tag, name: string): void => {
    const { base, id, bandwidth, initialization, media, startNumber, time } = top();
    const said = Object.fromEntries(
      tag.attributes().map((one) => [one.name, unescapeXml(text.slice(one.from, one.to))]),
    );
    const scope: Scope = { name, base, id, bandwidth, initialization, media, startNumber, time };
    if (name === 'Representation') Object.assign(scope, { id: said['id'], bandwidth: said['bandwidth'] });
    const parent = open.at(-1)!;
    const owner = name === 'S' ? open.at(-3) : parent;
    if (name === 'SegmentTemplate') Object.assign(parent, picked(said, ['initialization', 'media', 'startNumber']));
    if (name === 'Initialization') Object.assign(open.at(-2) ?? {}, { initialization: said['sourceURL'] });
    if (name === 'SegmentURL') open.at(-2)!.media ??= said['media'];
    if (name === 'S' && owner !== undefined) owner.time ??= said['t'];
    open.push(scope);
  };

  const end = (): void => {
    const scope = open.pop()!;
    if (scope.name !== 'Representation') return;
    for (const [pattern, isMedia] of [
      [scope.initialization, false],
      [isLive ? undefined : scope.media, true],
    ] as const)
      if (pattern !== undefined && pattern !== '')
        named.push({ reference: filled(pattern, scope), from: scope.base, isPlaylist: false, isMedia });
  };

  for (const tag of xmlTags(text)) {
    const name = tag.name.slice(tag.name.indexOf(':') + 1);
    if (named.length >= MOST_NAMED || open.length > DEEPEST) break;
    if (tag.kind === 'close') {
      if (name === 'Period') break;
      if (top().name === name) end();
      continue;
    }
    if (name === 'BaseURL' && tag.kind === 'open') {
      const scope = top();
      const close = text.indexOf('<', tag.to);
      const base = close === -1 ? undefined : resolveReference(scope.base, unescapeXml(text.slice(tag.to, close)));
      // Several are alternatives.
      if (base !== undefined && scope.ownBase !== true) Object.assign(scope, { base, ownBase: true });
    }
    begin(tag, name);
    if (tag.kind === 'empty') end();
  }
  return named;
}

const picked = (from: Record<string, string>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));

const LONGEST_PADDING = 20;

function filled(pattern: string, { id = '', bandwidth = '', startNumber = '1', time = '0' }: Scope): string {
  const values: Record<string, string> = {
    RepresentationID: id,
    Bandwidth: bandwidth,
    Number: startNumber,
    Time: time,
  };
  return pattern.replace(
    /\$(RepresentationID|Bandwidth|Number|Time)?(?:%0(\d{1,2})d)?\$/g,
    (_all, name: string | undefined, width = '0') =>
      name === undefined ? '$' : values[name]!.padStart(Math.min(Number(width), LONGEST_PADDING), '0'),
  );
}
