/** The frame of a page: all pages by section, the sections of this one, its neighbours. */
import { escaped } from './highlight.ts';
import type { Rendered } from './markdown.ts';
import { INTRODUCTION, SECTIONS, type Page } from './pages.ts';

export interface Assets {
  style: string;
  script: string;
  icon: string;
  index: string;
}

export interface Shown {
  /** Null: the first page. */
  page: Page | null;
  title: string;
  html: string;
  headings: Rendered['headings'];
  before?: Rendered | undefined;
  after?: Rendered | undefined;
}

export const addressOf = (page: Page | null): string => `/docs/${page?.address ?? ''}`;
const markdownOf = (page: Page | null): string => `/docs/${page?.address ?? 'index'}.md`;

export const link = (address: string, text: string, attributes = ''): string =>
  `<a href="${escaped(address)}"${attributes}>${escaped(text)}</a>`;

function contents(titles: ReadonlyMap<Page, string>, current: Page | null): string {
  const section = ({ title, pages }: (typeof SECTIONS)[number]): string => {
    const items = pages.map(
      (page) => `<li>${link(addressOf(page), titles.get(page)!, page === current ? ' aria-current="page"' : '')}</li>`,
    );
    const open = current !== null && pages.includes(current) ? ' open' : '';
    return `<details${open}><summary>${escaped(title)}</summary><ul>${items.join('')}</ul></details>`;
  };
  return SECTIONS.map(section).join('\n');
}

function onThisPage(headings: Rendered['headings']): string {
  const second = headings.filter(({ depth }) => depth === 2);
  if (second.length < 2) return '';
  const items = second.map(({ text, anchor }) => `<li>${link(`#${anchor}`, text)}</li>`);
  return `<details class="here"><summary>On this page</summary><ul>${items.join('')}</ul></details>`;
}

const neighbour = (rendered: Rendered | undefined, label: string): string =>
  rendered ? `<p>${label}: ${link(addressOf(rendered.page), rendered.title)}</p>` : '';

export const pageHtml = (shown: Shown, assets: Assets, titles: ReadonlyMap<Page, string>): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escaped(shown.page?.description ?? INTRODUCTION)}">
<title>${escaped(shown.page === null ? shown.title : `${shown.title} · Probeyard`)}</title>
<link rel="icon" href="${assets.icon}">
<link rel="alternate" type="text/markdown" href="${markdownOf(shown.page)}">
<link rel="stylesheet" href="${assets.style}">
<script type="module" src="${assets.script}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="name" href="/docs/">Probeyard</a>
<search>
<label for="search">Search</label>
<input id="search" type="search" role="combobox" aria-expanded="false" aria-controls="found" aria-autocomplete="list"
 autocomplete="off" spellcheck="false" data-index="${assets.index}">
<ul id="found" role="listbox" aria-label="Found" hidden></ul>
<p id="said" role="status"></p>
</search>
<nav aria-label="Product"><a href="/docs/api">API</a> <a href="/app/">Console</a></nav>
</header>
<div class="columns">
<nav class="contents" aria-label="Documentation">
${contents(titles, shown.page)}
</nav>
<main id="content" tabindex="-1">
${onThisPage(shown.headings)}
${shown.html}
<footer>
${neighbour(shown.before, 'Before')}${neighbour(shown.after, 'Next')}
<p><a href="${markdownOf(shown.page)}">This page as Markdown</a></p>
</footer>
</main>
</div>
</body>
</html>
`;
