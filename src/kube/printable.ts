/**
 * Text of others (a tool's message, a binary's version line) as a resource may carry it. Control characters are no
 * YAML: one of them in one message and `kubectl get -o yaml` fails for the whole list. Bidirectional marks and the like
 * only serve to deceive.
 */
export const printable = (text: string, most: number): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]+/gu, ' ')
    .slice(0, most)
    .toWellFormed();
