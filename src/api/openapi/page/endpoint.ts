/**
 * `GET /docs`: the description as a page that can send requests. Everything is served from here: nothing is loaded from
 * other addresses, and the page's policy forbids it.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Handler } from '../../http/context.ts';
import { methods } from '../../http/middleware.ts';

/** The web component creates style elements; scripts are only loaded from files served here. */
const POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self' 'unsafe-inline'`,
  `connect-src 'self'`,
  'img-src data:',
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

interface File {
  body: Buffer;
  packed: Buffer;
  etag: string;
  type: string;
}

function fileOf(url: URL | string, type: string): File {
  const body = readFileSync(new URL(url));
  return {
    body,
    packed: gzipSync(body, { level: 9 }),
    etag: `"${createHash('sha256').update(body).digest('base64url')}"`,
    type,
  };
}

const give = (read: () => File): Handler[] => {
  let file: File | undefined;
  return [
    methods('GET', 'HEAD'),
    function answerFile(ctx) {
      file ??= read();
      ctx.set({
        'Content-Security-Policy': POLICY,
        'X-Content-Type-Options': 'nosniff',
        'Referrer-Policy': 'no-referrer',
        'X-Frame-Options': 'DENY',
        'Cache-Control': 'no-cache',
        ETag: file.etag,
        Vary: 'Accept-Encoding',
      });
      ctx.type = file.type;
      ctx.status = 200;
      if (ctx.fresh) {
        ctx.status = 304;
        return;
      }
      const packed = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
      if (packed) ctx.set('Content-Encoding', 'gzip');
      ctx.body = packed ? file.packed : file.body;
    },
  ];
};

export const DOCS: Record<string, Handler[]> = {
  '/docs': give(() => fileOf(new URL('page.html', import.meta.url), 'text/html; charset=utf-8')),
  '/docs/page.css': give(() => fileOf(new URL('page.css', import.meta.url), 'text/css; charset=utf-8')),
  '/docs/rapidoc.js': give(() =>
    fileOf(import.meta.resolve('rapidoc/dist/rapidoc-min.js'), 'text/javascript; charset=utf-8'),
  ),
};
