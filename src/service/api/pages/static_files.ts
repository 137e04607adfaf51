/** Files of pages as the image brings them, each beside its packed forms (images/packed.ts). */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Context } from '../http/request_context.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.tgz': 'application/gzip',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};

const PACKINGS = { br: '.br', gzip: '.gz', identity: '' } as const;
type Packing = keyof typeof PACKINGS;

export interface StaticFile {
  type: string;
  etag: string;
  bodies: ReadonlyMap<Packing, Buffer>;
}

export const isStatic = (name: string): boolean => extname(name) in TYPES;

const etagOf = (body: Buffer): string => createHash('sha256').update(body).digest('base64url').slice(0, 22);

export function readStaticFile(path: string): StaticFile {
  const bodies = new Map<Packing, Buffer>();
  for (const [packing, extension] of Object.entries(PACKINGS) as [Packing, string][])
    if (packing === 'identity' || existsSync(path + extension)) bodies.set(packing, readFileSync(path + extension));
  return { type: TYPES[extname(path)]!, etag: etagOf(bodies.get('identity')!), bodies };
}

/** For a file that no build has packed. */
export const packedFile = ({ body, type }: { body: Buffer; type: string }): StaticFile => ({
  type,
  etag: etagOf(body),
  bodies: new Map<Packing, Buffer>([
    ['gzip', gzipSync(body, { level: 9 })],
    ['identity', body],
  ]),
});

/** No frame around the page, no form that leaves it, and nothing but what the policy lists. */
export const pageHeaders = (policy: Readonly<Record<string, string>>): Record<string, string> => ({
  'Content-Security-Policy': Object.entries({
    'default-src': `'none'`,
    ...policy,
    'base-uri': `'none'`,
    'form-action': `'none'`,
    'frame-ancestors': `'none'`,
  })
    .map(([name, value]) => `${name} ${value}`)
    .join('; '),
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
});

/** The name of an asset contains a hash of its content; anything else is checked again each time. */
export function sendStaticFile(
  ctx: Context,
  { type, etag, bodies }: StaticFile,
  { headers, isAsset, status = 200 }: { headers: Record<string, string>; isAsset: boolean; status?: number },
): void {
  const packing = (ctx.acceptsEncodings(...bodies.keys()) || 'identity') as Packing;
  ctx.set({
    ...headers,
    Vary: 'Accept-Encoding',
    'Cache-Control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
    ETag: `"${etag}-${packing}"`,
  });
  ctx.status = status;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  if (packing !== 'identity') ctx.set('Content-Encoding', packing);
  ctx.type = type;
  ctx.body = bodies.get(packing)!;
}
