/**
 * Names recent commits whose subject is too long or that change too much to be read at once: `make check` prints them,
 * and fails for none.
 */
import { execFileSync } from 'node:child_process';
import { madeFiles } from '../../charts/generate.ts';
import { ROOT } from './tracked.ts';

const RECENT = 50;
const MOST_LETTERS = 72;
const MOST_LINES = 400;

/** Moves, generated files and fixtures are not read line by line. */
const isRead = (path: string, made: ReadonlySet<string>): boolean =>
  !made.has(path) && !/^package-lock\.json$|^docs\/reports\/|^docs\/third-party\.md$|\/fixtures?\//.test(path);

export interface Commit {
  id: string;
  subject: string;
  files: { path: string; lines: number }[];
}

/** Reads `git log --format=%x00%h %s --numstat`. */
export const commitsIn = (log: string): Commit[] =>
  log
    .split('\0')
    .slice(1)
    .map((text) => {
      const [head = '', ...rows] = text.trim().split('\n');
      const [id = '', ...words] = head.split(' ');
      const files = rows
        .filter((row) => row.includes('\t'))
        .map((row) => {
          const [added, removed, path = ''] = row.split('\t');
          return { path, lines: (Number(added) || 0) + (Number(removed) || 0) };
        });
      return { id, subject: words.join(' '), files };
    });

export function remarks(commits: readonly Commit[], made: ReadonlySet<string>): string[] {
  return commits.flatMap(({ id, subject, files }) => {
    const lines = files.filter(({ path }) => isRead(path, made)).reduce((sum, file) => sum + file.lines, 0);
    return [
      ...(subject.length > MOST_LETTERS ? [`${id} has a subject of ${subject.length} letters: ${subject}`] : []),
      ...(lines > MOST_LINES ? [`${id} changes ${lines} lines: ${subject}`] : []),
    ];
  });
}

if (import.meta.main) {
  const log = execFileSync('git', ['log', `-${RECENT}`, '--no-merges', '-M', '--format=%x00%h %s', '--numstat'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  for (const remark of remarks(commitsIn(log), new Set(madeFiles().keys()))) console.log(`  ${remark}`);
}
