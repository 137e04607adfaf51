/** docs/operating/values.md, read from the comments of values.yaml. */
import { isMap, isScalar, parseDocument, type Node, type Pair, type YAMLMap } from 'yaml';
import { wrapped } from './wrapped.ts';

export interface ValueRow {
  path: string;
  fallback: string;
  text: string;
}

/** Below these the value's own type is Kubernetes' or the ProbePool's: one comment stands for all of it. */
const WHOLE = [/^pools\.[^.]+$/, /(^|\.)resources$/, /(^|\.)(annotations|labels|podLabels)$/];

const isWhole = (path: string): boolean => WHOLE.some((pattern) => pattern.test(path));

const clean = (comment: string | null | undefined): string =>
  (comment ?? '')
    .trim()
    .split('\n\n')
    .at(-1)!
    .split('\n')
    .map((line) => line.trim())
    .join(' ');

function visit(map: YAMLMap, prefix: string, rows: ValueRow[]): void {
  for (const [index, pair] of (map.items as Pair<Node, Node | null>[]).entries()) {
    const name = isScalar(pair.key) ? String(pair.key.value) : '';
    const path = prefix ? `${prefix}.${name}` : name;
    // The comment before the first member of a map belongs to the map itself in the parser's eyes.
    const comment = pair.key.commentBefore ?? (index === 0 ? map.commentBefore : undefined);
    const value = pair.value;
    if (isMap(value) && value.items.length > 0 && !isWhole(path)) visit(value, path, rows);
    else rows.push({ path, fallback: JSON.stringify(value?.toJSON() ?? null), text: clean(comment) });
  }
}

export function valueRows(valuesYaml: string): ValueRow[] {
  const rows: ValueRow[] = [];
  visit(parseDocument(valuesYaml).contents as YAMLMap, '', rows);
  return rows;
}

const shown = (fallback: string): string => (fallback.length > 60 ? 'see values.yaml' : `\`${fallback}\``);

const lineOf = ({ path, fallback, text }: ValueRow): string => wrapped(`- \`${path}\` (${shown(fallback)}): ${text}`);

/** The whole page, with a section for each name at the top of the file. */
export function valuesPage(valuesYaml: string): string {
  const sections = Map.groupBy(valueRows(valuesYaml), ({ path }) => path.split('.')[0]!);
  const texts = [...sections].map(([name, rows]) => `## ${name}\n\n${rows.map(lineOf).join('\n')}\n`);
  return [
    '# Values of the chart\n',
    'Each value with its default. `values.schema.json` refuses a name that is not here.\n',
    ...texts,
  ].join('\n');
}
