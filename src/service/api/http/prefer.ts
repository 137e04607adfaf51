/** `Prefer: respond-async` (RFC 7240): the caller does not want to hold the connection until the request has ended. */
import type { Context } from './context.ts';

/** Longer headers are ignored: no genuine client sends that many preferences. */
const MOST = 4_096;
const QUOTED = /"(?:[^"\\]|\\.)*"/g;

export function prefersAsync(ctx: Pick<Context, 'method' | 'get'>): boolean {
  const header = ctx.get('Prefer');
  if (ctx.method !== 'POST' || header.length > MOST) return false;
  return header
    .replaceAll(QUOTED, '')
    .split(',')
    .some((preference) => preference.split(';')[0]!.trim().toLowerCase() === 'respond-async');
}

export const PREFERENCE_APPLIED = 'Preference-Applied';
