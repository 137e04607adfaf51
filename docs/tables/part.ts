import { readFileSync, writeFileSync } from 'node:fs';

/**
 * The page with the text of one part replaced. A part is between `<!-- name -->` and `<!-- /name -->`. The first may
 * say more: `<!-- name: its source -->`.
 */
function withPart(page: string, name: string, text: string): string {
  const pattern = new RegExp(`(<!-- ${name}(?:: [^>]*)? -->\n)[^]*?(<!-- /${name} -->)`);
  if (!pattern.test(page)) throw new Error(`the page has no part "${name}"`);
  return page.replace(pattern, (_, begin: string, end: string) => `${begin}\n${text}\n\n${end}`);
}

export function writePart(file: string, name: string, text: string): void {
  writeFileSync(file, withPart(readFileSync(file, 'utf8'), name, text));
}
