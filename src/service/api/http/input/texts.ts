/**
 * Finds texts that cannot be stored: Postgres rejects U+0000 in text and jsonb, and an unpaired surrogate is not valid
 * UTF-8.
 */

const isPlain = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Maximum path length in an error, counted from the outermost member. */
const MOST_STEPS = 8;

/** Path of the first one, including names of members. The input is bounded in depth and in values (json.ts). */
export function unstorableIn(input: unknown): string[] | undefined {
  if (typeof input === 'string') return isPlain(input) ? undefined : [];
  if (typeof input !== 'object' || input === null) return undefined;
  for (const name of Object.keys(input)) {
    const inner = isPlain(name) ? unstorableIn((input as Record<string, unknown>)[name]) : [];
    if (inner) return [name, ...inner].slice(0, MOST_STEPS);
  }
  return undefined;
}
