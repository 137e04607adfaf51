/** docs/hls-rules.md: every rule of the HLS validator. */
import type { Rule } from '../../src/hls/rule.ts';
import { CHAPTERS } from '../../src/hls/rules/catalog.ts';

const INTRODUCTION = `# Rules of the HLS validator

Made from \`src/hls/rules\` by \`make generate\`: change them there. Clauses are those of the second edition of the HLS
specification (draft-pantos-hls-rfc8216bis), or chapters of Apple's authoring specification.
`;

const chapterOf = (title: string, rules: Record<string, Rule>): string => `## ${title}

| rule | level | clause | requirement |
|---|---|---|---|
${Object.entries(rules)
  .map(([id, { level, clause, text }]) => `| \`${id}\` | ${level} | ${clause.replace('rfc8216bis ', '')} | ${text} |`)
  .join('\n')}
`;

export const hlsRulesPage = (): string =>
  [INTRODUCTION, ...Object.entries(CHAPTERS).map(([title, rules]) => chapterOf(title, rules))].join('\n');
