/** The site for programs: each page as Markdown, `/llms.txt`, and all pages for callers in one text. */
import { targetOf } from './links.ts';
import type { Rendered } from './markdown.ts';
import { INTRODUCTION, SECTIONS, type Page } from './pages.ts';

const LINK = /(?<!!)\[((?:[^[\]]|\[[^[\]]*\])*)\]\(([^()\s]+)\)/g;
const PICTURE = /!\[([^\]]*)\]\([^()\s]+\)/g;

/** Links lead to the Markdown of other pages, from the root. Code stays as it is, and comments go. */
export function markdownOf(page: Page, markdown: string): string {
  const prose = (text: string): string =>
    text
      .replaceAll(/<!--[\s\S]*?-->\n*/g, '')
      .replaceAll(/<a id="[\w-]+"><\/a>\n*/g, '')
      .replaceAll(PICTURE, '$1')
      .replaceAll(LINK, (whole, label: string, href: string) => {
        const target = targetOf(page, href);
        if (target.kind === 'repository') return label;
        if (target.kind !== 'page') return whole;
        const anchor = target.anchor === '' ? '' : `#${target.anchor}`;
        return `[${label}](${target.page === page ? '' : markdownAddress(target.page)}${anchor})`;
      });
  return markdown
    .split(/^( *```[\s\S]*?^ *```$)/m)
    .map((part, index) => (index % 2 === 1 ? part : prose(part)))
    .join('')
    .replaceAll(/\n{3,}/g, '\n\n');
}

const markdownAddress = (page: Page | null): string => `/docs/${page?.address ?? 'index'}.md`;

/** The list of all pages. The first page as Markdown is the same list. */
export function llmsText(byPage: ReadonlyMap<Page, Rendered>, addressOf: (page: Page) => string): string {
  const line = (page: Page): string => `- [${byPage.get(page)!.title}](${addressOf(page)}): ${page.description}`;
  return [
    '# Probeyard',
    '',
    `> ${INTRODUCTION}`,
    '',
    'The API is described by OpenAPI 3.1 at [/openapi.json](/openapi.json). [/llms-full.txt](/llms-full.txt) has all',
    'pages for callers in one text. Each page is also Markdown, at its address with `.md`.',
    '',
    ...SECTIONS.flatMap(({ title, pages }) => [`## ${title}`, '', ...pages.map(line), '']),
  ].join('\n');
}

export const llmsFullText = (texts: ReadonlyMap<Page, string>): string =>
  SECTIONS.filter(({ forCallers }) => forCallers)
    .flatMap(({ pages }) => pages.map((page) => `<!-- ${markdownAddress(page)} -->\n\n${texts.get(page)!.trim()}\n`))
    .join('\n');
