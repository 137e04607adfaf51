/**
 * HTML as templates. All that is put into one is escaped, and characters that are not seen are named, unless it came
 * from a template itself: text of media cannot become markup, nor hide in it.
 */
import { SIGNS, signOf, type Tone } from '../../../base/signs.ts';
import { visible } from '../../../base/visible.ts';
import { escapeXml } from '../../../base/xml.ts';
import {
  type Cell,
  type Part,
  type Section,
  type Span,
  spansIn,
  type Table,
  valueWords,
} from '../../../media/answer/section.ts';

/** Made by `html` alone. A value that was read as JSON is never an instance. */
class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
export type { Markup };

export type Content = Markup | string | number | false | null | undefined | readonly Content[];

function textOf(content: Content): string {
  if (content instanceof Markup) return content.text;
  if (Array.isArray(content)) return content.map(textOf).join('');
  return content === false || content === null || content === undefined ? '' : escapeXml(visible(String(content)));
}

/** Values of attributes stand in quotes. */
export const html = (strings: TemplateStringsArray, ...contents: Content[]): Markup =>
  new Markup(String.raw({ raw: strings }, ...contents.map(textOf)));

const LONGEST = 300;

/** Text of media: in its own direction, and cut as it is shown. Other values are shown as JSON. Null: there is none. */
export function stranger(value: unknown, most = LONGEST): Markup | null {
  if (value === undefined || value === null || value === '') return null;
  const whole = valueWords(value);
  // Named, a character takes up to ten.
  const named = visible(whole.slice(0, most));
  const isCut = whole.length > most || named.length > most;
  return html`<bdi>${named.slice(0, most)}${isCut && `… (${whole.length} characters)`}</bdi>`;
}

/** A sign and words, so that the colour is never alone. */
export const told = (tone: Tone, content: Content, sign = SIGNS[tone]): Markup =>
  html`<span class="${tone}"><span aria-hidden="true">${sign}</span> ${content}</span>`;

export const quiet = (content: Content): Markup => html`<span class="quiet">${content}</span>`;

/** Of a cell: a runner stores what it likes. */
const MOST_SPANS = 40;

/** A page cannot unfold what is cut: it shows more of it than the console does at first. */
function spanOf({ text, as, most = 0 }: Span): Content {
  const content = stranger(text, Math.max(most, LONGEST));
  switch (as) {
    case undefined:
      return content;
    case 'status': {
      const { tone, sign } = signOf(text);
      return told(tone, content, sign);
    }
    case 'code':
      return html`<code>${content}</code>`;
    case 'chosen':
      return html`<b>${told('good', content)}</b> <span class="unseen">(chosen)</span>`;
    case 'line':
      return html`<div class="line">${content}</div>`;
    default:
      return quiet(content);
  }
}

/** Null: there is nothing to show. */
function shown(cell: Cell): Content {
  const spans = spansIn(cell).slice(0, MOST_SPANS);
  return spans.length === 0 ? null : spans.map((span) => [spanOf(span), ' ']);
}

const MOST_ROWS = 100;
const MOST_COLUMNS = 20;

export const furtherOnes = (all: readonly unknown[], most: number): Content =>
  all.length > most && html`<p class="quiet">and ${all.length - most} more, which are not listed here.</p>`;

/** Where it is narrow, each cell has the title of its column. */
function tableOf({ caption, rows, columns: all }: Table<unknown>): Content {
  if (rows.length === 0) return null;
  const columns = all.slice(0, MOST_COLUMNS).map((column) => ({ ...column, side: column.right ? 'right' : 'left' }));
  const head = columns.map(({ title, side }) => html`<th scope="col" class="${side}">${title}</th>`);
  const cells = (row: unknown): Content =>
    columns.map(
      ({ title, side, cell }) =>
        html`<td class="${side}" data-title="${title}"><div>${shown(cell(row)) ?? '–'}</div></td>`,
    );
  // prettier-ignore
  return html`<table><caption>${caption}</caption><thead><tr>${head}</tr></thead>
    <tbody>${rows.slice(0, MOST_ROWS).map((row) => html`<tr>${cells(row)}</tr>`)}</tbody></table>
    ${furtherOnes(rows, MOST_ROWS)}`;
}

function factsOf(all: readonly (readonly [name: string, value: Cell])[]): Content {
  const known = all.map(([name, value]) => [name, shown(value)] as const).filter(([, value]) => value !== null);
  // prettier-ignore
  return known.length > 0 &&
    html`<dl>${known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function partOf(part: Part): Content {
  if ('columns' in part) return tableOf(part);
  if ('facts' in part) return factsOf(part.facts);
  const content = 'sentence' in part ? shown(part.sentence) : null;
  return content && html`<p>${content}</p>`;
}

export const section = (title: string, ...content: Content[]): Markup =>
  html`<section>
    <h2>${title}</h2>
    ${content}
  </section>`;

/** Nothing, if it has nothing that is not left out of a page. */
export function sectionOf({ title, parts }: Section): Content {
  const contents = parts.map(partOf).filter(Boolean);
  return contents.length > 0 && section(title, contents);
}
