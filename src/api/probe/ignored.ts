/** `X-Ignored-Fields`: what was accepted and had no effect, for whoever wonders why. */
import type { Context } from '../http/context.ts';

export const IGNORED_HEADER = 'X-Ignored-Fields';

const MOST_NAMES = 32;
const LONGEST_NAME = 64;

/** Adds to those that are named already. Callers choose names: what a header cannot hold reads `?`. */
export function nameIgnored(ctx: Context, names: readonly string[]): void {
  if (names.length === 0) return;
  const before = ctx.response.get(IGNORED_HEADER) as string | undefined;
  const shown = names.slice(0, MOST_NAMES).map((name) => name.replaceAll(/[^\w.-]/gu, '?').slice(0, LONGEST_NAME));
  ctx.set(IGNORED_HEADER, [...(before ? [before] : []), ...shown].join(', '));
}
