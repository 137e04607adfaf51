/** No function of `src` is longer than a screen or two; the list of those that still are only shrinks. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { STILL_LONG } from './still_long.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MOST_LINES = 80;

interface Diagnostic {
  filename: string;
  message: string;
}

/** Lines of each function with more than `MOST_LINES`, by file and name. */
function longFunctions(): Record<string, number> {
  const folder = mkdtempSync(join(tmpdir(), 'probeyard-functions-'));
  try {
    const config = join(folder, 'oxlint.json');
    const rule = { 'max-lines-per-function': ['error', { max: MOST_LINES }] };
    writeFileSync(config, JSON.stringify({ categories: { correctness: 'off' }, rules: rule }));
    const { stdout, error } = spawnSync(join(ROOT, 'node_modules/.bin/oxlint'), ['-c', config, '-f', 'json', 'src'], {
      cwd: ROOT,
      encoding: 'utf8',
      timeout: 60_000,
      maxBuffer: 64 * 1024 * 1024,
    });
    if (error) throw error;
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] };
    return Object.fromEntries(
      diagnostics.map(({ filename, message }) => {
        const [, name = 'a function without a name', lines] = /^The .*?(?:`(\w+)` )?has too many lines \((\d+)\)/.exec(
          message,
        )!;
        return [`${filename} ${name}`, Number(lines)];
      }),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('functions', () => {
  it(`none has more than ${MOST_LINES} lines, but those of a list that only shrinks`, () => {
    const found = longFunctions();
    const grown = Object.entries(found).filter(([name, lines]) => lines > (STILL_LONG[name] ?? MOST_LINES));
    assert.deepEqual(grown, [], 'these are too long: split them');
    const shrunk = Object.entries(STILL_LONG).filter(([name, lines]) => (found[name] ?? 0) < lines);
    assert.deepEqual(shrunk, [], 'these are shorter now: say so in test/repository/still_long.ts');
  });
});
