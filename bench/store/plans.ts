/** Query plans as explained by Postgres, for docs/reports/queries.md and for tests of what queries read. */
import type pg from 'pg';
import type { Database, Query } from '../../src/platform/store/connection.ts';
import { statementsOf, type Case } from './cases.ts';

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Loops'?: number;
  'Actual Rows'?: number;
  Plans?: Node[];
}

/** The reads of a query: each kind of access with its tables, where partitions count as one. */
export interface Read {
  how: string;
  table: string;
  index?: string;
  partitions: number;
  rows: number;
}

const family = (name: string) => name.replace(/_(\d{6}|\d{8}|default)(?=_|$)/, '');

function visit(node: Node, reads: Map<string, Read>): void {
  const table = node['Relation Name'];
  if (table !== undefined && (node['Actual Loops'] ?? 1) > 0) {
    const index = node['Index Name'] === undefined ? undefined : family(node['Index Name']);
    const key = `${node['Node Type']} ${family(table)} ${index ?? ''}`;
    const seen = reads.get(key) ?? {
      how: node['Node Type'],
      table: family(table),
      ...(index === undefined ? {} : { index }),
      partitions: 0,
      rows: 0,
    };
    seen.partitions += 1;
    seen.rows += (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 1);
    reads.set(key, seen);
  }
  for (const child of node.Plans ?? []) visit(child, reads);
}

export async function planOf(client: pg.Client, { text, values }: Query): Promise<Read[]> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Node }] }>({
    text: `explain (analyze, format json, timing off) ${text}`,
    values,
  });
  const reads = new Map<string, Read>();
  visit(rows[0]!['QUERY PLAN'][0].Plan, reads);
  return [...reads.values()];
}

export function words({ how, table, index, partitions, rows }: Read): string {
  const parts = partitions > 1 ? ` (${partitions} parts)` : '';
  const by = index === undefined ? '' : ` by ${index}`;
  return `${how} on ${table}${parts}${by}: ${Math.round(rows)} rows`;
}

/** One section per case. Cases with the same reads share one. */
export async function explained(
  client: pg.Client,
  database: Database,
  cases: readonly Case[],
  aUser: number,
  largest: number,
): Promise<string[]> {
  const sections = new Map<string, string[]>();
  for (const of of cases) {
    const plans: string[] = [];
    for (const query of await statementsOf(of, database, of.whose === 'largest' ? largest : aUser))
      plans.push((await planOf(client, query)).map((read) => `- ${words(read).replace(/: \d+ rows$/, '')}`).join('\n'));
    const key = plans.join('\n\nand then, or at the same time:\n\n');
    sections.set(key, [...(sections.get(key) ?? []), `${of.group}: ${of.what} (${of.whose})`]);
  }
  return [...sections].map(([plan, which]) => {
    const more = which.length > 6 ? [`and ${which.length - 6} more that read the same`] : [];
    return `${[...which.slice(0, 6), ...more].join('; ')}:\n\n${plan}`;
  });
}
