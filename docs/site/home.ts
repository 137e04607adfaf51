/** The first page: what can be done here, in six tiles, then every page with its description. */
import { escaped } from './highlight.ts';
import { addressOf, link } from './page_html.ts';
import { INTRODUCTION, PAGES, SECTIONS, type Page } from './pages.ts';

interface Tile {
  title: string;
  text: string;
  /** Files below docs/; the title leads to the first one. */
  files: readonly [string, ...string[]];
}

const TILES: readonly Tile[] = [
  {
    title: 'See what is in a file or stream',
    text: 'ffprobe and mediainfo read it. A report says where they disagree, which is right, and how sure that is.',
    files: ['quickstart.md', 'guides/report-types.md', 'guides/sources.md', 'guides/streaming.md', 'report.md'],
  },
  {
    title: 'Judge files before they go out',
    text: 'Rules as data turn a result into a verdict, for one file or in CI, with the reason of each failure.',
    files: ['policies.md', 'guides/ci.md', 'guides/hand-on.md', 'c2pa.md'],
  },
  {
    title: 'Validate HLS',
    text: 'Playlists alone in a second, or segments too. Each finding says what is wrong and what to do about it.',
    files: ['guides/hls.md', 'hls.md', 'hls-rules.md'],
  },
  {
    title: 'Compare versions and files',
    text: 'Which fields another version of a tool reports differently, and what differs between two files.',
    files: ['compare.md', 'report-names.md', 'options.md'],
  },
  {
    title: 'Call it from programs and agents',
    text: 'In place of ffprobe and mediainfo, over HTTP with webhooks, in a shell, and as tools of a language model.',
    files: [
      'api.md',
      'reference/README.md',
      'guides/from-ffprobe.md',
      'guides/reliable-ffprobe.md',
      'cli.md',
      'batches.md',
      'bucket-sources.md',
      'guides/clients.md',
      'guides/webhooks.md',
      'mcp.md',
    ],
  },
  {
    title: 'Run it on your cluster',
    text: 'An operator with a Helm chart: check the cluster, install, size the pools, watch it, and upgrade.',
    files: [
      'operating/install.md',
      'operating/doctor.md',
      'production.md',
      'operating/pools.md',
      'operating/observe.md',
    ],
  },
];

const byFile = new Map(PAGES.map((page) => [page.file, page]));

function pageOf(file: string): Page {
  const page = byFile.get(file);
  if (!page) throw new Error(`a tile leads to docs/${file}, which is no page of the site`);
  return page;
}

export function homeHtml(titles: ReadonlyMap<Page, string>): string {
  const linkTo = (page: Page): string => link(addressOf(page), titles.get(page)!);
  const tile = ({ title, text, files }: Tile): string => {
    const items = files.map((file) => `<li>${linkTo(pageOf(file))}</li>`).join('');
    const heading = `<h3>${link(addressOf(pageOf(files[0])), title)}</h3>`;
    return `<li>${heading}<p>${escaped(text)}</p><ul>${items}</ul></li>`;
  };
  const section = ({ title, pages }: (typeof SECTIONS)[number]): string => {
    const items = pages.map((page) => `<li>${linkTo(page)}: ${escaped(page.description)}</li>`);
    return `<h3>${escaped(title)}</h3>\n<ul>\n${items.join('\n')}\n</ul>`;
  };
  return `<h1>Probeyard</h1>
<p>${escaped(INTRODUCTION)}</p>
<h2>What you can do here</h2>
<ul class="tiles">
${TILES.map(tile).join('\n')}
</ul>
<h2>All pages</h2>
<p>For programs, <a href="/openapi.json">/openapi.json</a> describes the API, <a href="/llms.txt">/llms.txt</a> lists
all pages as Markdown, and
<a href="/llms-full.txt">/llms-full.txt</a> is one text of those about using an installation.</p>
${SECTIONS.map(section).join('\n')}`;
}
