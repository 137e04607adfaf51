/** Where a link of a page leads: to a page of the site, a picture, elsewhere, or to a file of the repository alone. */
import { join, relative } from 'node:path/posix';
import { PAGES, type Page } from './pages.ts';

export type Target =
  | { kind: 'page'; page: Page | null; anchor: string }
  | { kind: 'picture'; file: string }
  | { kind: 'elsewhere'; address: string }
  | { kind: 'site'; address: string }
  | { kind: 'repository'; path: string };

const byFile = new Map(PAGES.map((page) => [page.file, page]));

/** `from`: the page's file below docs/. The page null is the index. */
export function targetOf(from: Page, href: string): Target {
  if (/^[a-z][a-z0-9+.-]*:/i.test(href)) return { kind: 'elsewhere', address: href };
  if (href.startsWith('/')) return { kind: 'site', address: href };
  const [path = '', anchor = ''] = href.split('#', 2);
  if (path === '') return { kind: 'page', page: from, anchor };
  const file = join('docs', from.file, '..', path);
  const below = relative('docs', file);
  if (below === 'README.md') return { kind: 'page', page: null, anchor };
  const page = byFile.get(below) ?? byFile.get(join(below, 'README.md'));
  if (page) return { kind: 'page', page, anchor };
  if (below.startsWith('pictures/')) return { kind: 'picture', file: below };
  return { kind: 'repository', path: file };
}
