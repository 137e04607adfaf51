/** Where a long run leaves what it saw: its own part of docs/reports/fuzzing.md. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const file = join(import.meta.dirname, '..', '..', 'docs', 'reports', 'fuzzing.md');

/** `name` is the make target's; `by` the file that wrote it. */
export function writeSummary(name: string, by: string, text: string): void {
  const [begin, end] = [`<!-- ${name}: written by ${by} -->`, `<!-- /${name} -->`];
  const known = existsSync(file) ? readFileSync(file, 'utf8') : '# Fuzzing\n';
  const at = known.indexOf(begin);
  writeFileSync(
    file,
    at === -1
      ? `${known.trimEnd()}\n\n${begin}\n${text}\n${end}\n`
      : `${known.slice(0, at)}${begin}\n${text}\n${known.slice(known.indexOf(end, at))}`,
  );
}
