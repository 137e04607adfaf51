/**
 * Finds the tags of an XML text in linear time. Not a parser: it validates nothing, and stops at an unterminated
 * construct.
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

/** The text of the first element of a name in the short XML of cloud services. */
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

export function textIn(xml: string, element: string): string | undefined {
  const found = new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1];
  return found?.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name]!);
}
