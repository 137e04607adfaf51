/** `X-Ignored-Fields`: fields that were accepted without effect. */
import type { Context } from '../http/context.ts';

export const IGNORED_HEADER = 'X-Ignored-Fields';

const MOST_NAMES = 32;
const LONGEST_NAME = 64;

/**
 * Appends to names that are already set. Callers choose the names, so characters that are invalid in a header become
 * `?`.
 */
export function nameIgnored(ctx: Context, names: readonly string[]): void {
  if (names.length === 0) return;
  const before = ctx.response.get(IGNORED_HEADER) as string | undefined;
  const shown = names.slice(0, MOST_NAMES).map((name) => name.replaceAll(/[^\w.-]/gu, '?').slice(0, LONGEST_NAME));
  ctx.set(IGNORED_HEADER, [...(before ? [before] : []), ...shown].join(', '));
}
