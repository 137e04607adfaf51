/** docs/hls-rules.md: every rule of the HLS validator. */
import type { Rule } from '../../src/media/hls/rule.ts';
import { APPLE_CODES, CHAPTERS, type RuleId } from '../../src/media/hls/rules/catalog.ts';

const INTRODUCTION = `# Rules of the HLS validator

Each rule, what is wrong where it is broken, and what to do. Clauses are those of the second edition of the HLS
specification (draft-pantos-hls-rfc8216bis), or chapters of Apple's authoring specification.
`;

function row([id, { level, clause, finding, remedy }]: [string, Rule]): string {
  const apple = APPLE_CODES[id as RuleId];
  const from = `${clause.replace('rfc8216bis ', '')}${apple === undefined ? '' : `; Apple ${apple}`}`;
  return `| \`${id}\` | ${level} | ${from} | ${finding} | ${remedy} |`;
}

const chapterOf = (title: string, rules: Record<string, Rule>): string => `## ${title}

| rule | level | clause | what is wrong | what to do |
|---|---|---|---|---|
${Object.entries(rules).map(row).join('\n')}
`;

export const hlsRulesPage = (): string =>
  [INTRODUCTION, ...Object.entries(CHAPTERS).map(([title, rules]) => chapterOf(title, rules))].join('\n');
