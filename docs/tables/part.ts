import { readFileSync, writeFileSync } from 'node:fs';

/** A part is between `<!-- name -->` and `<!-- /name -->`. The first may say more: `<!-- name: its source -->`. */
const patternOf = (name: string): RegExp => new RegExp(`(<!-- ${name}(?:: [^>]*)? -->\n)([^]*?)(<!-- /${name} -->)`);

/** The page with the text of one part replaced. */
function withPart(page: string, name: string, text: string): string {
  const pattern = patternOf(name);
  if (!pattern.test(page)) throw new Error(`the page has no part "${name}"`);
  return page.replace(pattern, (_, begin: string, _before: string, end: string) => `${begin}\n${text}\n\n${end}`);
}

function readPart(file: string, name: string): string {
  const found = patternOf(name).exec(readFileSync(file, 'utf8'))?.[2];
  if (found === undefined) throw new Error(`${file} has no part "${name}"`);
  return found;
}

/** The rows of a table in a part, by the last name in backticks at the end of a cell. */
export const rowsOf = (file: string, part: string): Map<string, string> =>
  new Map(
    readPart(file, part)
      .split('\n')
      .flatMap((line) => {
        const name = /^\| .*`(\w+)` \|/.exec(line)?.[1];
        return name === undefined ? [] : [[name, line] as const];
      }),
  );

export function writePart(file: string, name: string, text: string): void {
  writeFileSync(file, withPart(readFileSync(file, 'utf8'), name, text));
}
