/** The tool search: fields, rules, options and endpoints by words. */
import Type from 'typebox';
import { RULES } from '../../../media/hls/rules/catalog.ts';
import { OPERATOR_NAMES } from '../../../media/policy/operators.ts';
import { ProbeReportSchema } from '../../../media/report/schema.ts';
import { FILE_ROWS, sectionOf } from '../../../media/tools/table.ts';
import { joined } from './answer_text.ts';
import { describedOption } from '../probe/tool_versions.ts';
import type { Operation } from '../openapi/operation.ts';
import { tool, type Tool } from './tools.ts';

interface Entry {
  kind: 'report field' | 'hls rule' | 'tool option' | 'policy operator' | 'endpoint';
  name: string;
  text: string;
}

interface Part {
  properties?: Record<string, Part>;
  items?: Part;
  description?: string;
}

function reportFields({ properties = {}, items, description }: Part, path: string): Entry[] {
  const own: Entry[] =
    description === undefined || path === '' ? [] : [{ kind: 'report field', name: path, text: description }];
  return [
    ...own,
    ...(items === undefined ? [] : reportFields(items, `${path}[]`)),
    ...Object.entries(properties).flatMap(([name, member]) => reportFields(member, joined(path, name))),
  ];
}

const entriesOf = (operations: readonly Operation[]): Entry[] => [
  ...reportFields(ProbeReportSchema as Part, ''),
  ...Object.entries(RULES).map(([id, { level, clause, finding, remedy }]) => ({
    kind: 'hls rule' as const,
    name: id,
    text: `${level}: ${finding} (${clause}). ${remedy}`,
  })),
  ...FILE_ROWS.flatMap((row) =>
    row.options.map((spec) => ({
      kind: 'tool option' as const,
      name: `${sectionOf(row)}.${spec.name}`,
      text: describedOption(spec).help,
    })),
  ),
  ...OPERATOR_NAMES.map((name) => ({
    kind: 'policy operator' as const,
    name,
    text: 'An operator of a policy rule: {"name": …, "field": …, OPERATOR: …}.',
  })),
  ...operations.map(({ method, path, summary, description = '' }) => ({
    kind: 'endpoint' as const,
    name: `${method.toUpperCase()} ${path}`,
    text: `${summary}. ${description}`.slice(0, 600),
  })),
];

const wordsIn = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];

/** More for rare words, for words of the name, and a little for the beginning of a word. */
function makeIndex(entries: readonly Entry[]) {
  const indexed = entries.map((entry) => ({
    entry,
    inName: new Set(wordsIn(entry.name)),
    inText: new Set(wordsIn(entry.text)),
  }));
  const counts = new Map<string, number>();
  for (const { inName, inText } of indexed)
    for (const word of new Set([...inName, ...inText])) counts.set(word, (counts.get(word) ?? 0) + 1);
  const weightOf = (word: string): number => Math.log(1 + entries.length / (1 + (counts.get(word) ?? 0)));
  const beginsWith = (words: ReadonlySet<string>, start: string): boolean =>
    start.length > 2 && [...words].some((word) => word.startsWith(start));
  return (query: string, limit: number): Entry[] => {
    const asked = [...new Set(wordsIn(query))].slice(0, 20);
    const scored = indexed.map(({ entry, inName, inText }) => {
      let score = 0;
      for (const word of asked) {
        if (inName.has(word)) score += 3 * weightOf(word);
        else if (beginsWith(inName, word)) score += weightOf(word);
        if (inText.has(word)) score += weightOf(word);
      }
      return { entry, score };
    });
    return scored
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, limit)
      .map(({ entry }) => entry);
  };
}

/** `operations`: a function, because this tool belongs to one of them. */
export function searchTool(operations: () => readonly Operation[]): Tool {
  let find: ReturnType<typeof makeIndex> | undefined;
  return tool({
    name: 'search',
    title: 'Search the reference',
    description:
      'Finds fields of the report, HLS rules, options of the tools, operators of policies and endpoints of the API ' +
      'by words. Needs no file.',
    fields: {
      query: Type.String({ minLength: 1, maxLength: 300, description: 'A few words.' }),
      limit: Type.Integer({ minimum: 1, maximum: 50, default: 10, description: 'How many to list.' }),
    },
    async run(_calls, { query, limit }) {
      find ??= makeIndex(entriesOf(operations()));
      const found = find(query, limit);
      return { lead: found.length === 0 ? ['Nothing was found: try other words.'] : [], data: found };
    },
  });
}
