/**
 * XML as it is read from origins and services, and written. It finds the tags of a text in linear time and validates
 * nothing: a DASH manifest is rewritten in place, so every byte beside its addresses stays. What callers send, the
 * policies of MediaConch, is validated by saxes.
 */

export interface Attribute {
  name: string;
  /** of the value, without its quotes */ from: number;
  to: number;
}
export interface Tag {
  kind: 'open' | 'close' | 'empty';
  name: string;
  from: number;
  /** past the `>` */ to: number;
  attributes(): Attribute[];
}

export function* xmlTags(text: string): Generator<Tag> {
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    const skipped = skip(text, at);
    if (skipped === -1) return;
    if (skipped > at) {
      at = skipped;
      continue;
    }
    const close = text[at + 1] === '/';
    const name = nameAt(text, at + (close ? 2 : 1));
    if (name === '') {
      at++;
      continue;
    }
    const to = endOfTag(text, at + 1);
    if (to === -1) return;
    const from = at;
    yield {
      kind: close ? 'close' : text[to - 2] === '/' ? 'empty' : 'open',
      name,
      from,
      to,
      attributes: () => attributesOf(text.slice(from, to), from),
    };
    at = to;
  }
}

/**
 * The position after a comment, a CDATA section, an instruction or a document type; `at` itself for a tag; -1 for an
 * unterminated construct.
 */
function skip(text: string, at: number): number {
  // The second character is checked first: 8 MB contain millions of them.
  const second = text.charCodeAt(at + 1);
  if (second === QUESTION) return past(text, '?>', at + 2);
  if (second !== EXCLAMATION) return at;
  if (text.startsWith('--', at + 2)) return past(text, '-->', at + 4);
  if (text.startsWith('[CDATA[', at + 2)) return past(text, ']]>', at + 9);
  const plain = text.indexOf('>', at);
  if (plain === -1) return -1;
  // Searched only up to the `>`: searching to the end of the text took ten minutes for 8 MB of `<!>`.
  for (let bracket = at + 2; bracket < plain; bracket++) {
    if (text.charCodeAt(bracket) !== BRACKET) continue;
    const inner = text.indexOf(']', bracket);
    return inner === -1 ? -1 : past(text, '>', inner);
  }
  return plain + 1;
}

const QUESTION = 63;
const EXCLAMATION = 33;
const BRACKET = 91;

function past(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from);
  return found === -1 ? -1 : found + end.length;
}

const NAME_HERE = /[A-Za-z_][\w.:-]{0,127}/y;

function nameAt(text: string, at: number): string {
  NAME_HERE.lastIndex = at;
  return NAME_HERE.exec(text)?.[0] ?? '';
}

function endOfTag(text: string, from: number): number {
  const mark = /["'>]/g;
  mark.lastIndex = from;
  for (let match = mark.exec(text); match !== null; match = mark.exec(text)) {
    if (match[0] === '>') return mark.lastIndex;
    const quote = text.indexOf(match[0], mark.lastIndex);
    if (quote === -1) return -1;
    mark.lastIndex = quote + 1;
  }
  return -1;
}

/**
 * Attributes within a tag's text, which begins at `offset`. Nothing is required after a name, so the scan never
 * backtracks.
 */
function attributesOf(tag: string, offset: number): Attribute[] {
  const found: Attribute[] = [];
  const mark = /["']|([\w:.-]+)\s*(?:=\s*(["'])?)?/g;
  for (let match = mark.exec(tag); match !== null; match = mark.exec(tag)) {
    const [all, name, quote = name === undefined ? all : undefined] = match;
    if (quote === undefined) continue;
    const start = mark.lastIndex;
    const end = tag.indexOf(quote, start);
    if (end === -1) break;
    if (name !== undefined) found.push({ name, from: offset + start, to: offset + end });
    mark.lastIndex = end + 1;
  }
  return found;
}

/** The text of the first element of a name, as in the short answers of cloud services. */
export function textIn(xml: string, element: string): string | undefined {
  let from: number | undefined;
  for (const { kind, name, from: start, to } of xmlTags(xml)) {
    if (from !== undefined && kind === 'close' && name === element) return unescapeXml(xml.slice(from, start));
    from = kind === 'open' && name === element ? to : undefined;
  }
  return undefined;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const ESCAPES = new Map(Object.entries(ENTITIES).map(([name, character]) => [character, `&${name};`]));

export const escapeXml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ESCAPES.get(character)!);

export function unescapeXml(text: string): string {
  const bare = text.trim();
  if (bare.startsWith('<![CDATA[') && bare.endsWith(']]>')) return bare.slice(9, -3).trim();
  return unescapeText(bare).trim();
}

/** With its spaces: of a name that may begin or end with them. */
export const unescapeText = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});/gi, (_all, name: string) => entity(name));

function entity(name: string): string {
  const code = name.startsWith('#x') || name.startsWith('#X') ? parseInt(name.slice(2), 16) : Number(name.slice(1));
  return ENTITIES[name.toLowerCase()] ?? (code <= 0x10ffff ? String.fromCodePoint(code) : '');
}
