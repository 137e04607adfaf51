/**
 * The console under `/app` (images/console_bundle.ts). Its page answers every address below that is not an asset: the
 * page itself reads the address. Assets carry a hash of their content in their name, and are kept for ever.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isStatic, pageHeaders, readStaticFile, sendStaticFile, type StaticFile } from '../http/static_files.ts';
import type { Logger } from '../../../base/log.ts';
import { notFound } from '../errors.ts';
import type { Handler } from '../http/request_context.ts';
import { methods } from '../http/middleware.ts';

/** Beside the sources of the image. */
export const CONSOLE_FOLDER = fileURLToPath(new URL('../../../../console', import.meta.url));

interface ConsoleFiles {
  page: StaticFile;
  assets: ReadonlyMap<string, StaticFile>;
}

/** All of them are held in memory: they are smaller than one result. */
function readConsoleFiles(folder: string): ConsoleFiles {
  const names = readdirSync(join(folder, 'assets')).filter(isStatic);
  return {
    page: readStaticFile(join(folder, 'index.html')),
    assets: new Map(names.map((name) => [name, readStaticFile(join(folder, 'assets', name))])),
  };
}

/** Scripts, styles and data from this address alone. */
const HEADERS = pageHeaders({
  'script-src': `'self'`,
  'style-src': `'self'`,
  'img-src': `'self'`,
  'connect-src': `'self'`,
  'worker-src': `'self'`,
});

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
        sendStaticFile(ctx, asset, { headers: HEADERS, isAsset: true });
      },
    ],
    '/app{/*path}': [
      read,
      function answerPage(ctx) {
        if (ctx.path === '/app') return redirectTo('/app/')(ctx, async () => {});
        sendStaticFile(ctx, files.page, { headers: HEADERS, isAsset: false });
      },
    ],
  };
}
