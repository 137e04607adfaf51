/** The list of a new batch as it is typed, and as it is sent: pure. */

/** Of one batch, and of what is sent. */
export const MOST_ITEMS = 10_000;
export const MOST_BYTES = 4_000_000;

interface Line {
  /** From 1, as people count. */
  number: number;
  text: string;
}

/** Without blank lines and remarks. */
export const linesIn = (text: string): Line[] =>
  text
    .split('\n')
    .map((line, index) => ({ number: index + 1, text: line.trim() }))
    .filter(({ text: line }) => line !== '' && !line.startsWith('#'));

/** A line that is no object is an address: the API says what is wrong with either. */
export const bodyOf = (fields: object, lines: readonly Line[]): string =>
  [JSON.stringify(fields), ...lines.map(({ text }) => (text.startsWith('{') ? text : JSON.stringify(text))), ''].join(
    '\n',
  );

/** Places in the list as lines: `items.3.url: …` is about the fourth address. */
export const inLines = (text: string, lines: readonly Line[]): string =>
  text.replaceAll(/\bitems\.(\d+)(?:\.|: )/g, (place, index: string) => {
    const line = lines[Number(index)];
    return line ? `line ${line.number}: ` : place;
  });
