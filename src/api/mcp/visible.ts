/**
 * JSON without characters that a reader does not see: controls, zero-width and bidirectional marks, variation
 * selectors, tag characters. Text in them could tell a model what nobody sees.
 */
const UNSEEN =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class
  /[\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

const escaped = (text: string): string =>
  Array.from({ length: text.length }, (_, index) => `\\u${text.charCodeAt(index).toString(16).padStart(4, '0')}`).join(
    '',
  );

/** `json`: a JSON text. The result is one, too, and means the same. */
export const visible = (json: string): string => json.replaceAll(UNSEEN, escaped);
