/**
 * `make mutations`: takes out every guard of list.ts, one at a time, and runs its test, which must fail. Also runs each
 * of these tests unchanged, which must pass. Writes docs/reports/mutations.md. `ONLY=runner` selects guards with that
 * word.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AREAS, GUARDS } from './list.ts';
import type { Guard } from './guard.ts';
import { isFound, runTest, runWithout, type Tried } from './trial.ts';

const page = join(import.meta.dirname, '..', '..', 'docs', 'reports', 'mutations.md');
const only = process.env['ONLY'] ?? '';
const wanted = GUARDS.filter(({ keeps }) => keeps.includes(only));
const red: string[] = [];

for (const test of new Set(wanted.map((guard) => guard.test))) {
  const { passed, failed, broken } = await runTest(test);
  console.log(`${test}: ${passed} passed`);
  if (broken !== undefined || failed.length > 0 || passed === 0)
    red.push(`${test} fails with every guard in place: ${failed[0] ?? broken}`);
}

const tried = new Map<Guard, Tried>();
for (const guard of wanted) {
  const ran = await runWithout(guard);
  tried.set(guard, ran);
  console.log(`${isFound(ran) ? 'found' : 'NOT FOUND'}: ${guard.keeps}: ${ran.failed.length} of its tests fail`);
  if (!isFound(ran))
    red.push(`${guard.test} does not notice that "${guard.keeps}" is gone${ran.broken ? `: ${ran.broken}` : ''}`);
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
const rowOf = ({ keeps, test }: Guard, { failed }: Tried): string =>
  `| ${keeps} | \`${test}\` | ${failed.length} | ${cell(failed[0] ?? '')} |`;

/** Keeps the rows of guards that were not tried this time. */
const known = new Map(
  (existsSync(page) ? readFileSync(page, 'utf8') : '').split('\n').flatMap((line) => {
    const keeps = /^\| (.+?) \| `test/.exec(line)?.[1];
    return keeps === undefined ? [] : [[keeps, line] as const];
  }),
);
const sectionOf = ([title, guards]: [string, readonly Guard[]]): string => `## ${title}

| guard | test file | tests that fail | the first of them |
|---|---|---|---|
${guards
  .flatMap((guard) => {
    const now = tried.get(guard);
    return now ? rowOf(guard, now) : (known.get(guard.keeps) ?? []);
  })
  .join('\n')}
`;
const TEXT = `# Mutations

\`make mutations\` takes out each guard that no type and no table holds, one at a time, and runs the test file that must
fail then. A guard is an export or a method that is replaced by what the code would be without it
(\`test/mutations/guards\`). \`make mutate\` looks for others.
`;
if (red.length > 0) {
  console.error(`\n${red.join('\n')}`);
  process.exitCode = 1;
} else writeFileSync(page, [TEXT, ...Object.entries(AREAS).map(sectionOf)].join('\n'));
