import assert from 'node:assert/strict';
import { lstatSync, readFileSync } from 'node:fs';
import { madeFiles } from '../../charts/generate.ts';
import { STILL_WIDE } from './still_wide.ts';
import { ROOT, tracked } from './tracked.ts';

const COLUMNS = 120;
const TEXT = /\.(?:ts|mjs|js|sh|md|ya?ml|tpl|c|h|rs|go|css|html|sql|cron)$|(?:^|\/)(?:Makefile|Dockerfile)$/;
/** Programs of other projects, and origins of files. */
const DATA = /\.min\.js$|^images\/catalog\.yaml$/;

const generated = new Set(madeFiles().keys());
const isChecked = (path: string): boolean =>
  TEXT.test(path) &&
  !DATA.test(path) &&
  !generated.has(path) &&
  !path.startsWith('docs/reports/') &&
  !lstatSync(new URL(path, ROOT)).isSymbolicLink();

/** Lines that cannot be wrapped: a row of a table, an address, a regular expression. */
const isWhole = (line: string, path: string): boolean =>
  (path.endsWith('.md') && /^\s*(?:\||<!-- prints: )/.test(line)) ||
  /https?:\/\/\S{60,}/.test(line) ||
  /^\s*\/(?!\*|\/).*\/[dgimsuvy]*[,;]?$/.test(line);

const widths = new Map(
  tracked()
    .filter(isChecked)
    .map((path) => [
      path,
      readFileSync(new URL(path, ROOT), 'utf8')
        .split('\n')
        .flatMap((line, index) => (line.length > COLUMNS && !isWhole(line, path) ? [index + 1] : [])),
    ]),
);

describe('line width', () => {
  it(`no line is wider than ${COLUMNS} columns`, () => {
    const wide = [...widths].filter(([path, lines]) => lines.length > 0 && !STILL_WIDE.includes(path));
    assert.deepEqual(
      wide.flatMap(([path, lines]) => lines.map((line) => `${path}:${line}`)),
      [],
    );
  });
});
