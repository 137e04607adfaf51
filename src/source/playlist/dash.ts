import { isNatural, moved, referenceRewriter, toPath, type Place, type Roots } from './mapping.ts';
import { resolveReference } from '../address/target.ts';
import { xmlTags } from '../../base/xml.ts';

/** Rewrites every address in a DASH manifest to one of the proxy, and changes nothing else. */

const ATTRIBUTES: Record<string, readonly string[]> = {
  SegmentTemplate: ['media', 'initialization', 'index', 'bitstreamSwitching'],
  SegmentURL: ['media', 'index'],
  Initialization: ['sourceURL'],
  RepresentationIndex: ['sourceURL'],
  BitstreamSwitching: ['sourceURL'],
  UTCTiming: ['value'],
};
/** Elements whose text is an address relative to the manifest itself. */
const ADDRESSED: ReadonlySet<string> = new Set(['Location', 'PatchLocation', 'ImportedMPD']);
const DEEPEST = 64;
const LONGEST = 8192;
/** Length in escaped form: a character takes up to ten as `&#1114111;`. */
const LONGEST_ESCAPED = 10 * LONGEST;

interface Open {
  name: string;
  base: string;
  ownBase: boolean;
}

export function rewriteDash(text: string, place: Place, { near, full }: Roots): string {
  const away = moved(place);
  const toProxy = referenceRewriter();
  const open: Open[] = [];
  const top = (): string => open.at(-1)?.base ?? place.final;
  // Below a BaseURL, relative addresses are resolved against it and not against the manifest.
  let based = !away;
  let below = away;
  const root = (): string => (below ? full : near);
  let done = 0;
  /** Position of the next end tag, as far as it is known. */
  let close = 0;
  let result = '';
  const replace = (from: number, to: number, by: string): void => {
    result += text.slice(done, from) + by;
    done = to;
  };

  const rewriteText = (name: string, from: number, to: number): void => {
    const parent = open.at(-1);
    const reference = to - from > LONGEST_ESCAPED ? undefined : unescapeXml(text.slice(from, to));
    if (reference === undefined) {
      replace(from, to, `${near}refused/unreadable`);
      return;
    }
    if (name !== 'BaseURL') {
      if (!isNatural(reference) || away) replace(from, to, escape(toProxy(reference, place.final, near)));
      return;
    }
    const base = open.at(-2)?.base ?? place.final;
    if (!isNatural(reference) || (away && open.length <= 1))
      replace(from, to, escape(toProxy(reference, base, root())));
    // Several are alternatives: the first one is the base of relative addresses.
    const own =
      parent === undefined || parent.ownBase || reference.length > LONGEST
        ? undefined
        : resolveReference(base, reference);
    if (parent !== undefined && own !== undefined && own.length <= LONGEST)
      Object.assign(parent, { base: own, ownBase: true });
    below = true;
  };

  const rewriteAttribute = (name: string, attribute: string, value: string): string | undefined => {
    const link = attribute === 'href' || attribute.endsWith(':href');
    if (!link && !ATTRIBUTES[name]?.includes(attribute)) return undefined;
    if (value.length > LONGEST_ESCAPED) return `${near}refused/unreadable`;
    const reference = unescapeXml(value);
    // The value of a time server may also be a time.
    if (name === 'UTCTiming' && !/^https?:\/\/\S+$/i.test(reference)) return undefined;
    if (
      reference === '' ||
      reference === 'urn:mpeg:dash:resolve-to-zero:2013' ||
      (isNatural(reference) && !(link && away))
    )
      return undefined;
    return link ? escape(toProxy(reference, place.final, near)) : escape(toProxy(reference, top(), root()));
  };

  for (const tag of xmlTags(text)) {
    // Markup inside an address that was replaced.
    if (tag.from < done) continue;
    const name = tag.name.slice(tag.name.indexOf(':') + 1);
    if (tag.kind === 'close') {
      if (open.at(-1)?.name === name) open.pop();
      continue;
    }
    if (!based && name === 'BaseURL') based = true;
    // Without a BaseURL the manifest's own address is the base, and that differs from the one that the tool sees.
    if (!based && name === 'Period') {
      based = true;
      replace(
        tag.from,
        tag.from,
        `<BaseURL>${escape(`${full}${toPath(resolveReference(place.final, '.') ?? place.final)}`)}</BaseURL>`,
      );
    }
    if (ATTRIBUTES[name] !== undefined || text.slice(tag.from, tag.to).includes('href')) {
      for (const { name: attribute, from, to } of tag.attributes()) {
        const value = rewriteAttribute(name, attribute, text.slice(from, to));
        // escape() also encodes quotes, so the value is safe between single quotes.
        if (value !== undefined) replace(from, to, value);
      }
    }
    if (tag.kind === 'empty') continue;
    if (name === 'BaseURL' || ADDRESSED.has(name)) {
      if (close < tag.to) close = text.indexOf('</', tag.to);
      if (close === -1) break;
      rewriteText(name, tag.to, close);
    }
    if (open.length >= DEEPEST) break;
    open.push({ name, base: top(), ownBase: false });
  }
  return result + text.slice(done);
}

const escape = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;');

export function unescapeXml(text: string): string {
  const bare = text.trim();
  if (bare.startsWith('<![CDATA[') && bare.endsWith(']]>')) return bare.slice(9, -3).trim();
  return bare
    .replace(/&(amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});/gi, (_all, name: string) => entity(name))
    .trim();
}

function entity(name: string): string {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
  const code = name.startsWith('#x') || name.startsWith('#X') ? parseInt(name.slice(2), 16) : Number(name.slice(1));
  return named[name.toLowerCase()] ?? (code <= 0x10ffff ? String.fromCodePoint(code) : '');
}

/** Whether the manifest will not change. */
export const isFinalDash = (text: string): boolean => !/\stype\s*=\s*["']dynamic/.test(text.slice(0, 16384));
