/** Rewrites every address in a DASH manifest to one of the proxy, and changes nothing else. */
import { isNatural, moved, referenceRewriter, toPath, type Place, type Roots } from './mapping.ts';
import { resolveReference } from '../address/target.ts';
import { escapeXml, unescapeXml, xmlTags, type Tag } from '../../base/xml.ts';

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

export const rewriteDash = (text: string, place: Place, roots: Roots): string =>
  new DashRewriter(text, place, roots).rewrite();

class DashRewriter {
  readonly #text: string;
  readonly #place: Place;
  readonly #roots: Roots;
  readonly #away: boolean;
  readonly #toProxy = referenceRewriter();
  readonly #open: { name: string; base: string; ownBase: boolean }[] = [];
  /** Below a BaseURL, relative addresses are resolved against it and not against the manifest. */
  #based: boolean;
  #below: boolean;
  #result = '';
  /** How much of the text the result has. */
  #done = 0;
  /** Position of the next end tag, as far as it is known. */
  #close = 0;

  constructor(text: string, place: Place, roots: Roots) {
    this.#text = text;
    this.#place = place;
    this.#roots = roots;
    this.#away = moved(place);
    this.#based = !this.#away;
    this.#below = this.#away;
  }

  rewrite(): string {
    for (const tag of xmlTags(this.#text)) {
      // Markup inside an address that was replaced.
      if (tag.from < this.#done) continue;
      const name = tag.name.slice(tag.name.indexOf(':') + 1);
      if (tag.kind === 'close') {
        if (this.#open.at(-1)?.name === name) this.#open.pop();
        continue;
      }
      this.#giveBase(name, tag.from);
      this.#rewriteAttributes(name, tag);
      if (tag.kind === 'empty') continue;
      if (name === 'BaseURL' || ADDRESSED.has(name)) {
        if (this.#close < tag.to) this.#close = this.#text.indexOf('</', tag.to);
        if (this.#close === -1) break;
        this.#rewriteText(name, tag.to, this.#close);
      }
      if (this.#open.length >= DEEPEST) break;
      this.#open.push({ name, base: this.#top(), ownBase: false });
    }
    return this.#result + this.#text.slice(this.#done);
  }

  #top(): string {
    return this.#open.at(-1)?.base ?? this.#place.final;
  }

  #root(): string {
    return this.#below ? this.#roots.full : this.#roots.near;
  }

  #replace(from: number, to: number, by: string): void {
    this.#result += this.#text.slice(this.#done, from) + by;
    this.#done = to;
  }

  /** Without a BaseURL the manifest's own address is the base, and that differs from the one that the tool sees. */
  #giveBase(name: string, at: number): void {
    if (this.#based || (name !== 'BaseURL' && name !== 'Period')) return;
    this.#based = true;
    if (name === 'BaseURL') return;
    const { final } = this.#place;
    const base = `${this.#roots.full}${toPath(resolveReference(final, '.') ?? final)}`;
    this.#replace(at, at, `<BaseURL>${escapeXml(base)}</BaseURL>`);
  }

  #rewriteText(name: string, from: number, to: number): void {
    const { near } = this.#roots;
    const { final } = this.#place;
    const reference = to - from > LONGEST_ESCAPED ? undefined : unescapeXml(this.#text.slice(from, to));
    if (reference === undefined) return this.#replace(from, to, `${near}refused/unreadable`);
    if (name !== 'BaseURL') {
      if (!isNatural(reference) || this.#away)
        this.#replace(from, to, escapeXml(this.#toProxy(reference, final, near)));
      return;
    }
    const base = this.#open.at(-2)?.base ?? final;
    if (!isNatural(reference) || (this.#away && this.#open.length <= 1))
      this.#replace(from, to, escapeXml(this.#toProxy(reference, base, this.#root())));
    this.#below = true;
    const parent = this.#open.at(-1);
    // Several are alternatives: the first one is the base of relative addresses.
    if (parent === undefined || parent.ownBase || reference.length > LONGEST) return;
    const own = resolveReference(base, reference);
    if (own !== undefined && own.length <= LONGEST) Object.assign(parent, { base: own, ownBase: true });
  }

  #rewriteAttributes(name: string, tag: Tag): void {
    if (ATTRIBUTES[name] === undefined && !this.#text.slice(tag.from, tag.to).includes('href')) return;
    for (const { name: attribute, from, to } of tag.attributes()) {
      const value = this.#rewritten(name, attribute, this.#text.slice(from, to));
      // escapeXml() also encodes quotes, so the value is safe between single quotes.
      if (value !== undefined) this.#replace(from, to, value);
    }
  }

  #rewritten(name: string, attribute: string, value: string): string | undefined {
    const { near } = this.#roots;
    const link = attribute === 'href' || attribute.endsWith(':href');
    if (!link && !ATTRIBUTES[name]?.includes(attribute)) return undefined;
    if (value.length > LONGEST_ESCAPED) return `${near}refused/unreadable`;
    const reference = unescapeXml(value);
    // The value of a time server may also be a time.
    if (name === 'UTCTiming' && !/^https?:\/\/\S+$/i.test(reference)) return undefined;
    if (
      reference === '' ||
      reference === 'urn:mpeg:dash:resolve-to-zero:2013' ||
      (isNatural(reference) && !(link && this.#away))
    )
      return undefined;
    const [base, root] = link ? [this.#place.final, near] : [this.#top(), this.#root()];
    return escapeXml(this.#toProxy(reference, base, root));
  }
}

/** Whether the manifest will not change. */
export const isFinalDash = (text: string): boolean => !/\stype\s*=\s*["']dynamic/.test(text.slice(0, 16384));
