/** A page of docs/ as HTML, with what the rest of the site needs to know of it. */
import { Marked, type Token, type Tokens } from 'marked';
import { anchors } from './headings.ts';
import { escaped, highlighted } from './highlight.ts';
import { targetOf, type Target } from './links.ts';
import type { Page } from './pages.ts';

export interface Heading {
  depth: number;
  text: string;
  anchor: string;
}

/** What stands under one heading: the unit that the search finds. */
interface Part {
  heading: Heading;
  text: string;
}

export interface Rendered {
  page: Page;
  title: string;
  html: string;
  headings: readonly Heading[];
  parts: readonly Part[];
  anchors: ReadonlySet<string>;
  links: readonly { href: string; target: Target }[];
}

/** Where a picture and a page of the site are. */
export interface Addresses {
  picture(file: string): string;
  page(page: Page | null): string;
}

const COMMENT = /<!--[\s\S]*?-->/g;
const OWN_ANCHOR = /<(?:a|details) id="([\w-]+)">/g;
const ANCHOR_ALONE = /^<a id="([\w-]+)"><\/a>\s*$/;
/** An endpoint, in a paragraph of its own. */
const OPERATION = /^(?:GET|POST|PUT|DELETE) \//;

const inner = (token: Token): Token[] => {
  if (token.type === 'list') return (token as Tokens.List).items;
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].flatMap((row) => row.flatMap((cell) => cell.tokens));
  }
  return (token as { tokens?: Token[] }).tokens ?? [];
};

/** Without its markup. */
const plain = (token: Token): string => {
  if (token.type === 'html') return '';
  const below = inner(token);
  if (below.length === 0) return 'text' in token ? String(token.text) : '';
  return below.map(plain).join(token.type === 'list' || token.type === 'table' ? ' ' : '');
};

const plainAll = (tokens: readonly Token[]): string => tokens.map(plain).join('').replaceAll(/\s+/g, ' ').trim();

const cell = ({ header, tokens, align }: Tokens.TableCell, html: string): string => {
  // A header without a text would be announced as an empty one.
  const name = header && plainAll(tokens) !== '' ? 'th' : 'td';
  return `<${name}${name === 'th' ? ' scope="col"' : ''}${align ? ` class="${align}"` : ''}>${html}</${name}>`;
};

/** Headings whose anchor is named on the line before them. */
function namedAnchors(tokens: readonly Token[]): ReadonlyMap<unknown, string> {
  const named = new Map<unknown, string>();
  let own: string | undefined;
  for (const token of tokens) {
    if (token.type === 'space') continue;
    if (token.type === 'heading' && own !== undefined) named.set(token, own);
    own = ANCHOR_ALONE.exec(token.raw)?.[1];
  }
  return named;
}

function partsOf(tokens: readonly Token[], headings: readonly Heading[]): Part[] {
  const parts: Part[] = [];
  for (const token of tokens) {
    if (token.type === 'heading') parts.push({ heading: headings[parts.length]!, text: '' });
    else if (parts.length > 0) parts.at(-1)!.text += ` ${plain(token)}`;
  }
  return parts;
}

const isOperation = ([only, ...others]: readonly Token[]): boolean =>
  only?.type === 'codespan' && others.length === 0 && OPERATION.test(String((only as Tokens.Codespan).text));

export function render(page: Page, markdown: string, addresses: Addresses): Rendered {
  const nameOf = anchors();
  const found: Heading[] = [];
  const anchorsOfHeadings = new Set<string>();
  const links: { href: string; target: Target }[] = [];
  const addressOf = (href: string): string | null => {
    const target = targetOf(page, href);
    links.push({ href, target });
    switch (target.kind) {
      case 'page':
        return `${target.page === page ? '' : addresses.page(target.page)}${target.anchor ? `#${target.anchor}` : ''}`;
      case 'picture':
        return addresses.picture(target.file);
      case 'repository':
        return null;
      default:
        return target.address;
    }
  };

  const marked = new Marked({
    gfm: true,
    renderer: {
      html: ({ text }) => text.replaceAll(COMMENT, ''),
      code: ({ text, lang = '' }) => `<pre tabindex="0"><code>${highlighted(text, lang)}</code></pre>\n`,
      heading(token) {
        const { tokens, depth } = token;
        const text = plainAll(tokens);
        const id = nameOf(text);
        const anchor = named.get(token) ?? id;
        found.push({ depth, text, anchor });
        anchorsOfHeadings.add(id);
        const link = depth === 1 ? '' : ` <a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a>`;
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}${link}</h${depth}>\n`;
      },
      paragraph({ tokens }) {
        return `<p${isOperation(tokens) ? ' class="operation"' : ''}>${this.parser.parseInline(tokens)}</p>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const address = addressOf(href);
        return address === null
          ? `<span class="repository">${text} (in the repository)</span>`
          : `<a href="${escaped(address)}">${text}</a>`;
      },
      image: ({ href, text }) => `<img src="${escaped(addressOf(href) ?? '')}" alt="${escaped(text)}" loading="lazy">`,
      table({ header, rows }) {
        const row = (cells: readonly Tokens.TableCell[]) =>
          `<tr>${cells.map((one) => cell(one, this.parser.parseInline(one.tokens))).join('')}</tr>`;
        return (
          `<div class="scroll" role="group" aria-label="Table" tabindex="0"><table><thead>${row(header)}</thead>` +
          `<tbody>${rows.map(row).join('')}</tbody></table></div>\n`
        );
      },
    },
  });

  const tokens = marked.lexer(markdown);
  const named = namedAnchors(tokens);
  const html = marked.parser(tokens);
  const own = [...markdown.matchAll(OWN_ANCHOR)].map(([, id]) => id!);
  const title = found[0];
  if (title?.depth !== 1) throw new Error(`${page.file} does not begin with its title`);
  return {
    page,
    title: title.text,
    html,
    headings: found,
    parts: partsOf(tokens, found),
    anchors: new Set([...anchorsOfHeadings, ...own]),
    links,
  };
}
