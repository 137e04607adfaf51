/**
 * `GET /docs/api`: the description as a page that can send requests. Everything is served from here: nothing is loaded
 * from other addresses, and the page's policy forbids it. `GET /docs/api.md` is the same as text.
 */
import { readFileSync } from 'node:fs';
import type { Operation } from '../../openapi/operation.ts';
import type { Handler } from '../../http/request_context.ts';
import { methods } from '../../http/middleware.ts';
import { packedFile, pageHeaders, sendStaticFile, type StaticFile } from '../../http/static_files.ts';

const entry = ({ method, path, summary, description, permission }: Operation): string =>
  [
    `### ${method.toUpperCase()} ${path}`,
    '',
    `${summary}.${permission === undefined ? '' : ` Permission: \`${permission}\`.`}`,
    ...(description === undefined ? [] : ['', description]),
    '',
  ].join('\n');

function referenceText(operations: readonly Operation[]): string {
  const byTag = Map.groupBy(operations, ({ tag }) => tag);
  return [
    '# API reference',
    '',
    'Fields, types and errors of each operation are in [/openapi.json](/openapi.json).',
    '',
    ...[...byTag].flatMap(([tag, all]) => [`## ${tag}`, '', ...all.map(entry)]),
  ].join('\n');
}

/** The web component creates style elements; scripts are only loaded from files served here. */
const HEADERS = pageHeaders({
  'script-src': `'self'`,
  'style-src': `'self' 'unsafe-inline'`,
  'connect-src': `'self'`,
  'img-src': 'data:',
});

type Content = () => { body: Buffer; type: string };

const file = (url: URL | string, type: string): Content => {
  return () => ({ body: readFileSync(new URL(url)), type });
};

const give = (read: Content): Handler[] => {
  let kept: StaticFile | undefined;
  return [
    methods('GET', 'HEAD'),
    function answerFile(ctx) {
      kept ??= packedFile(read());
      sendStaticFile(ctx, kept, { headers: HEADERS, isAsset: false });
    },
  ];
};

export const referenceRoutes = (operations: readonly Operation[]): Record<string, Handler[]> => ({
  '/docs/api': give(file(new URL('page.html', import.meta.url), 'text/html; charset=utf-8')),
  '/docs/api/page.css': give(file(new URL('page.css', import.meta.url), 'text/css; charset=utf-8')),
  '/docs/api/rapidoc.js': give(
    file(import.meta.resolve('rapidoc/dist/rapidoc-min.js'), 'text/javascript; charset=utf-8'),
  ),
  '/docs/api.md': give(() => ({
    body: Buffer.from(referenceText(operations)),
    type: 'text/markdown; charset=utf-8',
  })),
});
