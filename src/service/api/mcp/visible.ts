/**
 * JSON without characters that a reader does not see: controls, zero-width and bidirectional marks, variation
 * selectors, tag characters. Text in them could tell a model what nobody sees.
 */
const UNSEEN =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class
  /[\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

const UNSEEN_ONE = new RegExp(UNSEEN.source, 'u');

const escaped = (text: string): string =>
  Array.from({ length: text.length }, (_, index) => `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`).join(
    '',
  );

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SHORT_ESCAPES = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d]);
const ESCAPED_BYTES = 6;

/** UTF-8 bytes of a text as visible JSON with its quotes, without making it. */
export function visibleBytes(text: string): number {
  if (!/[^\x20\x21\x23-\x5b\x5d-\x7e]/.test(text)) return text.length + 2;
  let bytes = 2;
  for (const character of text) {
    const code = character.codePointAt(0)!;
    if (code === QUOTE || code === BACKSLASH || SHORT_ESCAPES.has(code)) bytes += 2;
    else if (code < 0x20 || (code >= 0xd800 && code <= 0xdfff)) bytes += ESCAPED_BYTES;
    else if (code < 0x7f) bytes += 1;
    else if (UNSEEN_ONE.test(character)) bytes += ESCAPED_BYTES * character.length;
    else bytes += code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

/** `json`: a JSON text. The result is one, too, and means the same. */
export const visible = (json: string): string => json.replaceAll(UNSEEN, escaped);
