const COLUMNS = 120;

/** One item of a list, broken at spaces and indented as prettier does. */
export function wrapped(item: string): string {
  const lines: string[] = [];
  let line = '';
  for (const word of item.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > COLUMNS) {
      lines.push(line);
      line = `  ${word}`;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}
