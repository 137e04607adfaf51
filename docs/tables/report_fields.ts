/** docs/report-fields.md: every member of a probe_report, from its schema and the table of how fields are compared. */
import { FIELDS, ruleOf } from '../../src/media/report/fields.ts';
import { ProbeReportSchema } from '../../src/media/report/schema.ts';
import type { Tolerance } from '../../src/media/report/tolerances.ts';

interface Schema {
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  description?: string;
  examples?: unknown[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | false;
}

export interface Member {
  path: string;
  type: string;
  meaning: string;
  example: string;
}

const json = (value: unknown): string => `\`${JSON.stringify(value).replaceAll('|', '\\|')}\``;

function typeOf({ type, enum: values, const: only, items }: Schema): string {
  if (values) return values.map(json).join(', ');
  if (only !== undefined) return json(only);
  if (type === 'array') return items?.properties ? 'list of objects' : `list of ${String(items?.type)}s`;
  return [type].flat().join(', ');
}

/** In the order of the schema; objects are a row of their own only where they say more than their members. */
function* membersOf(schema: Schema, path: string): Generator<Member> {
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const own = path === '' ? name : `${path}.${name}`;
    if (member.properties) yield* membersOf(member, own);
    else {
      const { description = '', examples = [] } = member;
      yield {
        path: own,
        type: typeOf(member),
        meaning: description,
        example: examples.length > 0 ? json(examples[0]) : '',
      };
      if (member.items?.properties) yield* membersOf(member.items, `${own}[]`);
    }
  }
}

export const reportMembers = (): Member[] => [...membersOf(ProbeReportSchema as Schema, '')];

const SAID: Record<Tolerance['kind'], (tolerance: Tolerance) => string> = {
  exact: () => 'the same value',
  text: () => 'the same word',
  family: () => 'the same codec, or its family',
  container: () => 'the same container',
  fourcc: () => 'the same characters in any case',
  matrix: () => 'the same coefficients',
  layout: () => 'the same layout',
  percent: (tolerance) => `within ${'percent' in tolerance ? tolerance.percent : 0} %`,
  bits: (tolerance) => `within ${'percent' in tolerance ? tolerance.percent : 0} % and a frame`,
  frame: () => 'within a frame',
};
const said = (tolerance: Tolerance | undefined): string => (tolerance ? SAID[tolerance.kind](tolerance) : '');

const HEAD = '| path | type | meaning | example |\n|---|---|---|---|';
const row = ({ path, type, meaning, example }: Member): string => `| \`${path}\` | ${type} | ${meaning} | ${example} |`;

function comparisonRow(field: string): string {
  const { stream, container, measured = [] } = ruleOf(field);
  const equal = [...new Set([said(stream), said(container)].filter((text) => text !== ''))].join('; ');
  return `| \`${field}\` | ${equal} | ${measured.join(', ') || 'none'} |`;
}

const section = (title: string, introduction: string, members: Member[]): string[] => [
  `## ${title}`,
  '',
  introduction,
  '',
  HEAD,
  ...members.map(row),
  '',
];

export function reportFieldsPage(): string {
  const all = reportMembers();
  const under = (...names: string[]) =>
    all.filter(({ path }) =>
      names.some((name) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`)),
    );
  const nested = under('container', 'streams', 'confidence', 'warnings', 'diff');
  return [
    '# Fields of probe_report',
    '',
    'Each field with its type, its meaning and an example. [report.md](report.md) says how the report is made, and',
    '[report-names.md](report-names.md) has the names of codecs and containers.',
    'A member that is unknown is absent, unless its meaning says otherwise.',
    '',
    ...section(
      'The first video stream',
      'At the top of the report; absent without a video stream. A cover is none.',
      all.filter((member) => !nested.includes(member)),
    ),
    ...section('container', 'The file.', under('container')),
    ...section('streams', 'Every stream, with the members that its type has.', under('streams')),
    ...section(
      'confidence, warnings and diff',
      'How sure the report is, and what is wrong.',
      under('confidence', 'warnings', 'diff'),
    ),
    '## Comparison',
    '',
    'The fields that are compared, when two values agree, and for which parts of a file a confidence is known: the',
    'files that it was learned from have a known truth there.',
    '',
    '| field | two values agree if they are | confidence of |',
    '|---|---|---|',
    ...Object.keys(FIELDS)
      .filter((field) => ruleOf(field).stream ?? ruleOf(field).container)
      .map(comparisonRow),
    '',
  ].join('\n');
}
