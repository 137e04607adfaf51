/** docs/mutations.md, from what came of each mutation. */
import type { Mutation } from './mutation.ts';
import type { Verdict } from './trial.ts';

/** `unsound`: its tests are not green without it, or it does not apply. */
export interface Outcome { mutation: Mutation; verdict: Verdict | 'unsound'; detail: string; ms: number }

export const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const WORDS: Record<Outcome['verdict'], string> = { red: 'red', green: '**green**', late: '**not done in time**', broken: '**did not run**', unsound: '**not tried**' };

/** What stands in a page: the verdict of each guard, as it was when that was last tried. */
export function verdictsIn(text: string): Map<string, Outcome['verdict']> {
  const known = Object.entries(WORDS) as [Outcome['verdict'], string][];
  return new Map(text.split('\n').flatMap((line) => {
    const [, guard, word] = /^\| (.*) \| `[^`]+` \| (\*\*[^*]+\*\*|red): /.exec(line) ?? [];
    const verdict = known.find(([, words]) => words === word)?.[0];
    return guard === undefined || verdict === undefined ? [] : [[guard, verdict] as const];
  }));
}

export function page(areas: readonly { title: string; outcomes: readonly Outcome[] }[]): string {
  const all = areas.flatMap(({ outcomes }) => outcomes);
  const red = all.filter(({ verdict }) => verdict === 'red').length;
  const tables = areas.map(({ title, outcomes }) => `## ${title}

| what holds | taken out of | goes red |
|---|---|---|
${outcomes.map(({ mutation: { guard, file, test, grep }, verdict }) => `| ${cell(guard)} | \`${file}\` | ${WORDS[verdict]}: \`${test}\`${grep === undefined ? '' : `, "${cell(grep)}"`} |`).join('\n')}
`);
  return `# What each guard is worth

Each line is a guard and a change that takes it out (test/mutations/guards). \`make mutations\` makes each change alone in a copy of the tree, after its
tests were green without it, and runs them: **${red} of ${all.length}** turn a test red. With \`ONLY=\` some are tried and their rows alone change. That a change
still applies is checked by every \`make test\`.

${tables.join('\n')}`;
}
