/**
 * The documentation as a site: `node docs/site/build.ts <folder>`. The same sources and packages give the same bytes. A
 * link that leads nowhere ends the build.
 */
import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { build } from 'esbuild-wasm';
import { assetAddress, writePacked, type Asset, type WritePage } from '../../images/packed.ts';
import { homeHtml } from './home.ts';
import { render, type Rendered } from './markdown.ts';
import { addressOf, pageHtml, type Shown } from './page_html.ts';
import { DOCS, PAGES, type Page } from './pages.ts';
import { searchIndex } from './search_index.ts';
import { llmsFullText, llmsText, markdownOf } from './texts.ts';

const browser = join(import.meta.dirname, 'browser');

async function bundled(entry: string): Promise<string> {
  const { outputFiles, warnings } = await build({
    entryPoints: [join(browser, entry)],
    tsconfig: join(browser, 'tsconfig.json'),
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    legalComments: 'none',
    logLevel: 'silent',
    write: false,
  });
  if (warnings.length > 0) throw new Error(`${entry}: ${warnings.map(({ text }) => text).join('; ')}`);
  return outputFiles[0]!.text;
}

/** Of an address below `/docs/` that leads to no page. */
const NOT_FOUND = `<h1>Page not found</h1>
<p>There is no page at this address. Search for it above, or choose from <a href="/docs/">all pages</a>.</p>`;

const pictureOf = (file: string): Asset => ({
  name: basename(file, extname(file)),
  extension: extname(file).slice(1),
  content: readFileSync(join(DOCS, file)),
});

export interface Pages {
  byPage: ReadonlyMap<Page, Rendered>;
  sources: ReadonlyMap<Page, string>;
  pictures: readonly Asset[];
}

/** All pages. Throws with every link that leads to no page, section or picture. */
export function renderPages(): Pages {
  const sources = new Map(PAGES.map((page) => [page, readFileSync(join(DOCS, page.file), 'utf8')]));
  const pictures = new Map<string, Asset>();
  const addresses = {
    page: addressOf,
    picture(file: string) {
      const picture = pictures.get(file) ?? pictureOf(file);
      pictures.set(file, picture);
      return `/docs/${assetAddress(picture)}`;
    },
  };
  const byPage = new Map([...sources].map(([page, text]) => [page, render(page, text, addresses)]));
  const broken = [...byPage.values()].flatMap(({ page, links }) =>
    links
      .filter(({ target }) => {
        if (target.kind !== 'page' || target.anchor === '') return false;
        return target.page === null || byPage.get(target.page)?.anchors.has(target.anchor) !== true;
      })
      .map(({ href }) => `${page.file}: ${href}`),
  );
  if (broken.length > 0) throw new Error(`links that lead nowhere:\n${broken.join('\n')}`);
  return { byPage, sources, pictures: [...pictures.values()] };
}

export async function buildSite(folder: string, writePage: WritePage = writePacked): Promise<void> {
  const { byPage, sources, pictures } = renderPages();
  const rendered = [...byPage.values()];
  const [style, script] = [await bundled('site.css'), await bundled('site.ts')];
  const texts: Asset[] = [
    { name: 'site', extension: 'css', content: style },
    { name: 'site', extension: 'js', content: script },
    { name: 'icon', extension: 'svg', content: readFileSync(join(DOCS, '../src/console/icon.svg'), 'utf8') },
    { name: 'search', extension: 'json', content: JSON.stringify(searchIndex(rendered)) },
  ];
  const [styleAt, scriptAt, iconAt, indexAt] = texts.map((asset) => `/docs/${assetAddress(asset)}`);
  const assets = { style: styleAt!, script: scriptAt!, icon: iconAt!, index: indexAt! };
  const titles = new Map(rendered.map(({ page, title }) => [page, title]));
  const first: Shown = { page: null, title: 'Probeyard', html: homeHtml(titles), headings: [] };

  await rm(folder, { recursive: true, force: true });
  const write = (path: string, content: string) => writePage(folder, path, content);
  await write('docs/index.html', pageHtml(first, assets, titles));
  await write('docs/404.html', pageHtml({ ...first, title: 'Page not found', html: NOT_FOUND }, assets, titles));
  await write('docs/index.md', llmsText(byPage, addressOf));
  const markdown = new Map([...sources].map(([page, text]) => [page, markdownOf(page, text)]));
  for (const [number, one] of rendered.entries()) {
    const shown: Shown = { ...one, before: rendered[number - 1], after: rendered[number + 1] };
    await write(`docs/${one.page.address}.html`, pageHtml(shown, assets, titles));
    await write(`docs/${one.page.address}.md`, markdown.get(one.page)!);
  }
  for (const asset of texts) await write(`docs/${assetAddress(asset)}`, String(asset.content));
  for (const picture of pictures) {
    const path = join(folder, 'docs', assetAddress(picture));
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, picture.content);
  }
  await write(
    'llms.txt',
    llmsText(byPage, (page) => `${addressOf(page)}.md`),
  );
  await write('llms-full.txt', llmsFullText(markdown));
}

if (import.meta.main) {
  const folder = process.argv[2];
  if (folder === undefined) throw new Error('usage: build.ts <folder>');
  await buildSite(folder);
}
