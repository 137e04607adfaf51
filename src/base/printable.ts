/**
 * Sanitises foreign text (a tool's message, a binary's version line) for a resource. Control characters are invalid in
 * YAML: a single one in a message breaks `kubectl get -o yaml` for the whole list. Bidirectional marks and similar
 * characters are removed because they can mislead readers.
 */
export const printable = (text: string, most: number): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]+/gu, ' ')
    .slice(0, most)
    .toWellFormed();

// oxlint-disable-next-line no-control-regex
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
const EACH_UNPRINTABLE = new RegExp(UNPRINTABLE, 'g');

/** What a stranger's text says, as short as this and on one line, for messages. */
export function oneLine(text: string, most: number): string {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  // Nearly every text is plain already.
  return UNPRINTABLE.test(cut) || !cut.isWellFormed() ? cut.replace(EACH_UNPRINTABLE, '?').toWellFormed() : cut;
}
