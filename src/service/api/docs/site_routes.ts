/**
 * The documentation under `/docs/`, each page also as Markdown, and the texts for programs at the root
 * (docs/site/build.ts).
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../../../base/log.ts';
import { notFound } from '../errors.ts';
import type { Context, Handler } from '../http/request_context.ts';
import { methods } from '../http/middleware.ts';
import { isStatic, pageHeaders, readStaticFile, sendStaticFile, type StaticFile } from '../http/static_files.ts';

/** Beside the sources of the image. */
export const SITE_FOLDER = fileURLToPath(new URL('../../../../site', import.meta.url));

const HEADERS = pageHeaders({
  'script-src': `'self'`,
  'style-src': `'self'`,
  'img-src': `'self'`,
  'connect-src': `'self'`,
});

type Files = ReadonlyMap<string, StaticFile>;

/** By path from the root. Null: they were not built, as in a checkout. */
function filesIn(folder: string, log: Logger): Files | null {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(isStatic);
    return new Map(names.map((name) => [`/${name}`, readStaticFile(join(folder, name))]));
  } catch (error) {
    log.warn({ err: error, folder }, 'cannot read the documentation; /docs/ leads to the API reference alone');
    return null;
  }
}

function send(ctx: Context, files: Files, path: string): void {
  const file = files.get(path);
  if (!file) throw notFound();
  sendStaticFile(ctx, file, { headers: HEADERS, isAsset: path.startsWith('/docs/assets/') });
}

/** An asset or a text has its suffix in its address already. */
function pathOf(path: string): string {
  if (path === '/docs/') return '/docs/index.html';
  return isStatic(path) ? path : `${path}.html`;
}

const redirect = (ctx: Context, path: string): void => {
  ctx.set('Cache-Control', 'no-cache');
  ctx.redirect(path);
};

/** By path. They follow those of the API reference, which is below `/docs/`, too. */
export function siteRoutes(folder: string | null, log: Logger): Record<string, Handler[]> {
  const files = folder === null ? null : filesIn(folder, log);
  const read = methods('GET', 'HEAD');
  if (!files)
    return {
      '/docs': [
        read,
        function leadToReference(ctx) {
          redirect(ctx, '/docs/api');
        },
      ],
    };
  const text = (path: string): Handler[] => [
    read,
    function answerText(ctx) {
      send(ctx, files, path);
    },
  ];
  return {
    '/llms.txt': text('/llms.txt'),
    '/llms-full.txt': text('/llms-full.txt'),
    '/docs{/*path}': [
      read,
      function answerPage(ctx) {
        if (ctx.path === '/docs') return redirect(ctx, '/docs/');
        if (ctx.path !== '/docs/' && ctx.path.endsWith('/') && files.has(pathOf(ctx.path.slice(0, -1))))
          return redirect(ctx, ctx.path.slice(0, -1));
        send(ctx, files, pathOf(ctx.path));
      },
    ],
  };
}
