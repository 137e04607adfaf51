import { isFinalDash, rewriteDash } from './dash.ts';
import { isFinalHls, rewriteHls } from './hls.ts';
import type { Place, Roots } from './mapping.ts';

export interface Rewriting {
  kind: 'hls' | 'dash';
  bytes: Uint8Array;
  place: Place;
  roots: Roots;
}
export interface Rewritten {
  body: Uint8Array;
  /** it will not change */ final: boolean;
}

/** Rewrites the addresses of a playlist to the proxy's. Pure, so it can run in a worker thread. */
export function rewrite({ kind, bytes, place, roots }: Rewriting): Rewritten {
  const given = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // Everything except addresses must be preserved byte for byte, in any encoding.
  const utf8 = given.toString('utf8');
  const encoding = Buffer.from(utf8, 'utf8').equals(given) ? 'utf8' : 'latin1';
  const text = encoding === 'utf8' ? utf8 : given.toString('latin1');
  if (kind === 'hls') return { body: Buffer.from(rewriteHls(text, place, roots), encoding), final: isFinalHls(text) };
  return { body: Buffer.from(rewriteDash(text, place, roots), encoding), final: isFinalDash(text) };
}
