/**
 * The console under `/app`. Its page answers every address below that is not an asset: the page itself reads the
 * address. Assets carry a hash of their content in their name, and are kept for ever.
 */
import type { Logger } from '../../log.ts';
import { notFound } from '../errors.ts';
import type { Context, Handler } from '../http/context.ts';
import { methods } from '../http/middleware.ts';
import { readConsoleFiles, type ConsoleFile, type ConsoleFiles, type Packing } from './files.ts';

/** Scripts, styles and data from this address alone; no frame around it, no form that leaves it. */
const POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self'`,
  `connect-src 'self'`,
  `worker-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  Vary: 'Accept-Encoding',
};

function give(ctx: Context, { type, bodies }: ConsoleFile, cacheControl: string): void {
  const packing = (ctx.acceptsEncodings('br', 'gzip', 'identity') || 'identity') as Packing;
  ctx.set({ ...HEADERS, 'Cache-Control': cacheControl });
  if (packing !== 'identity') ctx.set('Content-Encoding', packing);
  ctx.status = 200;
  ctx.type = type;
  ctx.body = bodies[packing];
}

/** Null: they were not bundled, as in a checkout. */
function filesIn(folder: string, log: Logger): ConsoleFiles | null {
  try {
    return readConsoleFiles(folder);
  } catch (error) {
    log.warn({ err: error, folder }, 'cannot read the console; /app is not served');
    return null;
  }
}

const redirectTo = (path: string): Handler =>
  function redirect(ctx) {
    ctx.set('Cache-Control', 'no-cache');
    ctx.redirect(path);
  };

/** By path. Links of mails lead to `/verify` and `/reset`; what stands behind their # follows the redirect. */
export function consoleRoutes(folder: string, log: Logger): Record<string, Handler[]> {
  const files = filesIn(folder, log);
  if (!files) return {};
  const read = methods('GET', 'HEAD');
  return {
    '/': [read, redirectTo('/app/')],
    '/verify': [read, redirectTo('/app/verify')],
    '/reset': [read, redirectTo('/app/reset')],
    '/app/assets/:name': [
      read,
      function answerAsset(ctx) {
        const asset = files.assets.get((ctx['params'] as { name: string }).name);
        if (!asset) throw notFound();
        give(ctx, asset, 'public, max-age=31536000, immutable');
      },
    ],
    '/app{/*path}': [
      read,
      function answerPage(ctx) {
        if (ctx.path === '/app') return redirectTo('/app/')(ctx, async () => {});
        give(ctx, files.page, 'no-cache');
      },
    ],
  };
}
