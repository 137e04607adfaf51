/**
 * The console under `/app` (images/console_bundle.ts); the command line as `/cli.tgz` and `/probeyard.mjs`
 * (images/cli_bundle.ts); the documentation under `/docs/`, each page also as Markdown, and the texts for programs at
 * the root (docs/site/build.ts). The API reference is part of it, and its pages can send requests. Nothing is loaded
 * from other addresses, and the policies of the pages forbid it.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../../../base/log.ts';
import { notFound } from '../errors.ts';
import { methods } from '../http/middleware.ts';
import { type Context, type Handler, paramOf } from '../http/request_context.ts';

// Files of pages as the image brings them, each beside its packed forms (images/packed.ts).

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

type StaticFile = ReturnType<typeof readStaticFile>;

const isStatic = (name: string): boolean => extname(name) in TYPES;

const etagOf = (body: Buffer): string => createHash('sha256').update(body).digest('base64url').slice(0, 22);

function readStaticFile(path: string) {
  const bodies = new Map<Packing, Buffer>();
  for (const [packing, extension] of Object.entries(PACKINGS) as [Packing, string][])
    if (packing === 'identity' || existsSync(path + extension)) bodies.set(packing, readFileSync(path + extension));
  return { type: TYPES[extname(path)]!, etag: etagOf(bodies.get('identity')!), bodies };
}

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

interface Sending {
  /** The name of an asset contains a hash of its content; anything else is checked again each time. */
  isAsset?: boolean;
  status?: number;
}

function send(
  ctx: Context,
  file: StaticFile | undefined,
  headers: Record<string, string>,
  { isAsset = false, status = 200 }: Sending = {},
): void {
  if (!file) throw notFound();
  const { type, etag, bodies } = file;
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

/** Beside the sources of the image. */
const beside = (folder: string): string => fileURLToPath(new URL(`../../../../${folder}`, import.meta.url));
/** Of the image. */
export const foldersOf = ({ console }: { console: boolean }) => ({
  consoleFolder: console ? beside('console') : null,
  siteFolder: beside('site'),
  clientFolder: beside('client'),
});

const CLIENT = pageHeaders({});
/** Scripts, styles and data from this address alone. */
const OWN = { 'script-src': `'self'`, 'style-src': `'self'`, 'img-src': `'self'`, 'connect-src': `'self'` };
const SITE = pageHeaders(OWN);
const CONSOLE = pageHeaders({ ...OWN, 'worker-src': `'self'` });
type Files = ReadonlyMap<string, StaticFile>;
type Routes = Record<string, Handler[]>;

/**
 * By path below the folder. All are held in memory: they are smaller than one result. Null: they were not built, as in
 * a checkout.
 */
function filesIn(folder: string, log: Logger, failed: string): Files | null {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(isStatic);
    return new Map(names.map((name) => [`/${name}`, readStaticFile(join(folder, name))]));
  } catch (error) {
    log.warn({ err: error, folder }, failed);
    return null;
  }
}

const redirect = (ctx: Context, path: string): void => {
  ctx.set('Cache-Control', 'no-cache');
  ctx.redirect(path);
};

const answered = (answer: (ctx: Context) => void): Handler[] => [
  methods('GET', 'HEAD'),
  function answerPage(ctx) {
    answer(ctx);
  },
];
const redirected = (path: string): Handler[] => answered((ctx) => redirect(ctx, path));

/**
 * The page of the console answers every address below `/app` that is not an asset: it reads the address itself. Links
 * of mails lead to `/verify` and `/reset`; what stands behind their # follows the redirect.
 */
export function consoleRoutes(folder: string, log: Logger): Routes {
  const failed = 'cannot read the console; /app is not served';
  const files = filesIn(folder, log, failed);
  const page = files?.get('/index.html');
  if (files && !page) log.warn({ folder }, failed);
  if (!files || !page) return {};
  return {
    '/': redirected('/app/'),
    '/verify': redirected('/app/verify'),
    '/reset': redirected('/app/reset'),
    '/app/assets/:name': answered((ctx) =>
      send(ctx, files.get(`/assets/${paramOf(ctx, 'name')}`), CONSOLE, { isAsset: true }),
    ),
    '/app{/*path}': answered((ctx) => (ctx.path === '/app' ? redirect(ctx, '/app/') : send(ctx, page, CONSOLE))),
  };
}

/** Nobody needs an account to have them: what they ask is checked when they ask. */
export function clientRoutes(folder: string, log: Logger): Routes {
  const files = filesIn(folder, log, 'cannot read the command line; /cli.tgz and /probeyard.mjs are not served');
  return Object.fromEntries(
    [...(files ?? [])].map(([path, file]) => [path, answered((ctx) => send(ctx, file, CLIENT))]),
  );
}

/** An asset or a text has its suffix in its address already. */
function pathOf(path: string): string {
  if (path === '/docs/') return '/docs/index.html';
  return isStatic(path) ? path : `${path}.html`;
}

export function siteRoutes(folder: string, log: Logger): Routes {
  const files = filesIn(folder, log, 'cannot read the documentation; /docs/ is not served');
  if (!files) return {};
  return {
    '/llms.txt': answered((ctx) => send(ctx, files.get('/llms.txt'), SITE)),
    '/llms-full.txt': answered((ctx) => send(ctx, files.get('/llms-full.txt'), SITE)),
    '/docs{/*path}': answered((ctx) => {
      const { path } = ctx;
      if (path === '/docs') return redirect(ctx, '/docs/');
      if (path !== '/docs/' && path.endsWith('/') && files.has(pathOf(path.slice(0, -1))))
        return redirect(ctx, path.slice(0, -1));
      const found = files.get(pathOf(path));
      const page = found || isStatic(path) ? undefined : files.get('/docs/404.html');
      if (page) send(ctx, page, SITE, { status: 404 });
      else send(ctx, found, SITE, { isAsset: path.startsWith('/docs/assets/') });
    }),
  };
}
