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
