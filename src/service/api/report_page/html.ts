/**
 * HTML as templates. All that is put into one is escaped, and characters that are not seen are named, unless it came
 * from a template itself: text of media cannot become markup, nor hide in it.
 */
import { SIGNS, signOf, type Tone } from '../../../base/signs.ts';
import { visible } from '../../../base/visible.ts';
import { escapeXml } from '../../../base/xml.ts';

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
  const whole = typeof value === 'string' ? value : JSON.stringify(value);
  // Named, a character takes up to ten.
  const shown = visible(whole.slice(0, most));
  const isCut = whole.length > most || shown.length > most;
  return html`<bdi>${shown.slice(0, most)}${isCut && `… (${whole.length} characters)`}</bdi>`;
}

/** A sign and words, so that the colour is never alone. */
export const told = (tone: Tone, content: Content, sign = SIGNS[tone]): Markup =>
  html`<span class="${tone}"><span aria-hidden="true">${sign}</span> ${content}</span>`;

/** An outcome, a state or a level, by its word. */
export function status(word: string): Markup {
  const { tone, sign } = signOf(word);
  return told(tone, word, sign);
}

export const quiet = (content: Content): Markup => html`<span class="quiet">${content}</span>`;

/** Null: there is none. `right`: a number. */
export interface Column<Row> {
  title: string;
  cell: (row: Row) => Content;
  right?: true;
}

const MOST_ROWS = 100;

export const furtherOnes = (all: readonly unknown[], most: number): Content =>
  all.length > most && html`<p class="quiet">and ${all.length - most} more, which are not listed here.</p>`;

/** Where it is narrow, each cell has the title of its column. */
export function table<Row>(caption: string, rows: readonly Row[], columns: readonly Column<Row>[]): Content {
  if (rows.length === 0) return null;
  const side = ({ right }: Column<Row>): string => (right ? 'right' : 'left');
  const head = columns.map((column) => html`<th scope="col" class="${side(column)}">${column.title}</th>`);
  const cell = (row: Row) => (column: Column<Row>) =>
    html`<td class="${side(column)}" data-title="${column.title}"><div>${column.cell(row) ?? '–'}</div></td>`;
  // prettier-ignore
  return html`<table><caption>${caption}</caption><thead><tr>${head}</tr></thead>
    <tbody>${rows.slice(0, MOST_ROWS).map((row) => html`<tr>${columns.map(cell(row))}</tr>`)}</tbody></table>
    ${furtherOnes(rows, MOST_ROWS)}`;
}

/** What is not known is left out. */
export function facts(all: readonly (readonly [name: string, value: Content])[]): Markup {
  const known = all.filter(([, value]) => value !== undefined && value !== null);
  // prettier-ignore
  return html`<dl>${known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export const section = (title: string, ...content: Content[]): Markup =>
  html`<section>
    <h2>${title}</h2>
    ${content}
  </section>`;
