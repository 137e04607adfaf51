/** What a comparison says: its type, its description in OpenAPI, and the validator in tests. */
import Type, { type Static } from 'typebox';
import { count, oneOf, titled, untitled } from '../../base/schema_parts.ts';
import { REPORT_TOOLS } from '../tools/probe_report.ts';
import { CHANGES, LEVELS, LONGEST_PATH, MOST_FIELDS } from './limits.ts';

const KnownSchema = titled('KnownChange', {
  release: Type.String({ description: 'The first release of the catalog with this change.' }),
  note: Type.String({ description: 'What was changed, and what to read instead.' }),
});

export const ChangedFieldSchema = titled('ChangedField', {
  path: Type.String({
    maxLength: LONGEST_PATH,
    description:
      'Canonical: `container.duration`, `video[0].size.width` (the first video stream). Raw: the path in the ' +
      "tool's own output; streams are matched by index, tracks by type, other lists by position.",
  }),
  tool: oneOf(REPORT_TOOLS, 'Whose output this is.'),
  level: oneOf(LEVELS, 'canonical: after normalisation, as in probe_report. raw: as the tool printed it.'),
  change: oneOf(
    CHANGES,
    'What changes from one run to the next, in the order of the runs. With several changes the strongest: type, ' +
      'value, renamed, removed, added, rounding. rounding: within the tolerance of probe_report, or printed with ' +
      'other decimals.',
  ),
  to: Type.Optional(Type.String({ maxLength: LONGEST_PATH, description: 'The other name of a renamed field.' })),
  values: Type.Record(
    Type.String(),
    Type.Unsafe<string | number | boolean | null>({ type: ['string', 'number', 'boolean', 'null'] }),
    { description: 'By run: its version, or `a` and `b`. A run without the field is left out; long values are cut.' },
  ),
  count: Type.Optional(
    Type.Integer({
      minimum: 2,
      description: 'In lists that are matched by position: how many items have this change; `path` is the first.',
    }),
  ),
  known: Type.Optional(KnownSchema),
});
export type ChangedField = Static<typeof ChangedFieldSchema>;

const NotComparedSchema = untitled({
  tool: oneOf(REPORT_TOOLS, 'Whose run this is.'),
  run: Type.String({ description: 'The version, or `a` or `b`.' }),
  why: Type.String({ maxLength: 300 }),
});

export const SummarySchema = titled('ComparisonSummary', {
  fields: count('Fields that change, known changes included.'),
  told: count('Those of them that stand in `fields`.'),
  known: count('Those of them that the list of known changes explains.'),
  canonical: count('Those of them at the canonical level.'),
  raw: count('Those of them at the raw level.'),
  changes: untitled(Object.fromEntries(CHANGES.map((change) => [change, count(`Fields with ${change}.`)]))),
  not_compared: Type.Array(NotComparedSchema, {
    maxItems: 32,
    description: 'Runs that are not compared, or not at the raw level, and why.',
  }),
});

export const ComparisonSchema = titled('Comparison', {
  fields: Type.Array(ChangedFieldSchema, { maxItems: MOST_FIELDS }),
  summary: SummarySchema,
});
export type Comparison = Static<typeof ComparisonSchema>;
export type Summary = Comparison['summary'];
