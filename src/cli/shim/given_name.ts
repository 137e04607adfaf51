/**
 * The service hides user info, the values of a query and where a file lay. The binary would print the address or path
 * as it was given, in the escapes of the output's format.
 */
import type { GivenSource } from '../given_source.ts';
import { shownSource } from '../source_text.ts';

type Escape = (text: string) => string;

const inXml: Escape = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const inJson: Escape = (text) => JSON.stringify(text).slice(1, -1);

/** By ffprobe's names in lower case, and mediainfo's; the others print a name as it is. */
const ESCAPES: Readonly<Record<string, Escape>> = {
  json: inJson,
  ini: (text) => text.replaceAll(/[\\#=:]/g, String.raw`\$&`),
  flat: (text) => text.replaceAll(/[\\"`$]/g, String.raw`\$&`),
  csv: (text) => (/[,"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text),
  xml: inXml,
  JSON: inJson,
  XML: inXml,
};

/** Those of addresses, whose shown form may need an escape itself. */
const OF_ADDRESSES: readonly Escape[] = [
  (text) => text,
  (text) => text.replaceAll(/[:=#]/g, String.raw`\$&`),
  (text) => text.replaceAll('/', String.raw`\/`),
  inXml,
];

const percent = (sign: string): string => `%${sign.codePointAt(0)!.toString(16).toUpperCase()}`;
/** As the service calls a file that was sent. */
const sentAs = (name: string): string => `upload:///${encodeURIComponent(name).replaceAll(/[!'()*]/g, percent)}`;

export function asGiven(
  output: string,
  { text: given, file }: Pick<GivenSource, 'text' | 'file'>,
  format = '',
): string {
  if (file) {
    const escape = ESCAPES[format] ?? ((text: string) => text);
    return output.replaceAll(escape(sentAs(file.name)), () => escape(given));
  }
  const shown = shownSource(given);
  if (shown === given) return output;
  return OF_ADDRESSES.reduce((text, form) => text.replaceAll(form(shown), () => form(given)), output);
}
