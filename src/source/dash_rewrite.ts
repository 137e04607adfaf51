import { isNatural, moved, rewriteReference, toPath, type Place } from './mapping.ts';
import { resolveReference } from './target.ts';

/** Turns every address in a DASH manifest into one of the proxy. Not an XML parser: it finds tags, and touches nothing else. */

const attributes: Record<string, readonly string[]> = {
  SegmentTemplate: ['media', 'initialization', 'index', 'bitstreamSwitching'],
  SegmentURL: ['media', 'index'],
  Initialization: ['sourceURL'],
  RepresentationIndex: ['sourceURL'],
  BitstreamSwitching: ['sourceURL'],
  UTCTiming: ['value'],
};
/** Elements whose text is an address relative to the manifest itself. */
const addressed: ReadonlySet<string> = new Set(['Location', 'PatchLocation', 'ImportedMPD']);

type Open = { name: string; base: string; ownBase: boolean };

export function rewriteDash(text: string, place: Place, prefix: string): string {
  const away = moved(place);
  const open: Open[] = [];
  let done = 0;
  let result = '';
  const tag = /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<\?[\s\S]*?\?>|<!DOCTYPE[^>]*>|<(\/?)([A-Za-z_][\w.:-]*)((?:[^<>"']|"[^"]*"|'[^']*')*?)(\/?)>/g;
  const base = (): string => open.at(-1)?.base ?? place.final;

  for (let match = tag.exec(text); match !== null; match = tag.exec(text)) {
    const [whole, closing, qualified, inside = '', selfClosing] = match;
    if (qualified === undefined) continue;
    const name = qualified.slice(qualified.indexOf(':') + 1);
    if (closing === '/') {
      if (open.at(-1)?.name === name) open.pop();
      continue;
    }
    if (selfClosing !== '/' && (name === 'BaseURL' || addressed.has(name))) {
      const end = text.indexOf('</', tag.lastIndex);
      const parent = open.at(-1);
      if (end === -1) continue;
      const reference = unescape(text.slice(tag.lastIndex, end));
      const from = name === 'BaseURL' ? (open.at(-2)?.base ?? place.final) : place.final;
      const top = open.length <= 1 || name !== 'BaseURL';
      const target = name === 'BaseURL' && parent !== undefined && !parent.ownBase ? resolveReference(from, reference) : undefined;
      const natural = isNatural(reference) && !(top && away);
      result += text.slice(done, tag.lastIndex) + (natural ? text.slice(tag.lastIndex, end) : escape(rewriteReference(reference, from, prefix)));
      done = end;
      tag.lastIndex = end;
      if (target !== undefined && parent !== undefined) {
        parent.base = target;
        parent.ownBase = true;
      }
      open.push({ name, base: base(), ownBase: false });
      continue;
    }
    const changed = rewriteTag(whole, name, inside, { base: base(), document: place.final, away, prefix });
    result += text.slice(done, match.index) + changed;
    done = tag.lastIndex;
    if (selfClosing === '/') continue;
    open.push({ name, base: base(), ownBase: false });
    if (name === 'MPD' && away && !hasOwnBase(text, tag.lastIndex)) {
      result += `<BaseURL>${escape(`${prefix}/${toPath(resolveReference(place.final, '.') ?? place.final)}`)}</BaseURL>`;
    }
  }
  return result + text.slice(done);
}

type Context = { base: string; document: string; away: boolean; prefix: string };

function rewriteTag(whole: string, name: string, inside: string, { base, document, away, prefix }: Context): string {
  const wanted = attributes[name] ?? [];
  if (wanted.length === 0 && !inside.includes('href')) return whole;
  return whole.replace(/([\w:.-]+)(\s*=\s*)(?:"([^"]*)"|'([^']*)')/g, (all: string, attribute: string, equals: string, double: string | undefined, single: string | undefined) => {
    const link = attribute === 'href' || attribute.endsWith(':href');
    if (!link && !wanted.includes(attribute)) return all;
    const reference = unescape(double ?? single ?? '');
    // A time server's value may be a time or several addresses; the tools do not ask it.
    if (name === 'UTCTiming' && !/^https?:\/\/\S+$/i.test(reference)) return all;
    if (reference === '' || reference === 'urn:mpeg:dash:resolve-to-zero:2013') return all;
    if (isNatural(reference) && !(link && away)) return all;
    return `${attribute}${equals}"${escape(rewriteReference(reference, link ? document : base, prefix))}"`;
  });
}

/** Whether the MPD has a BaseURL of its own, before its first Period. */
function hasOwnBase(text: string, from: number): boolean {
  const rest = text.slice(from).replace(/<!--[\s\S]*?-->/g, '');
  const period = rest.search(/<(?:\w+:)?Period[\s>]/);
  return /<(?:\w+:)?BaseURL[\s>]/.test(period === -1 ? rest : rest.slice(0, period));
}

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

function unescape(text: string): string {
  const bare = /^\s*<!\[CDATA\[([\s\S]*?)\]\]>\s*$/.exec(text)?.[1] ?? text.replace(/&(amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});/gi, (_all, name: string) => entity(name));
  return bare.trim();
}

function entity(name: string): string {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
  const code = name.startsWith('#x') || name.startsWith('#X') ? parseInt(name.slice(2), 16) : Number(name.slice(1));
  return named[name.toLowerCase()] ?? (code <= 0x10ffff ? String.fromCodePoint(code) : '');
}

/** A manifest that will not change. */
export const isFinalDash = (text: string): boolean => !/<(?:\w+:)?MPD[^>]*\stype\s*=\s*["']dynamic/.test(text);
