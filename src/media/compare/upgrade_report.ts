/** Many comparisons as one report: which fields change, and on how many files. */
import Type, { type Static } from 'typebox';
import { count, titled, untitled } from '../../base/schema_parts.ts';
import { LEVELS } from './limits.ts';
import { type ChangedField, ChangedFieldSchema, type Comparison } from './schema.ts';

/** Different fields that are counted, and that are told. */
const MOST_COUNTED = 5_000;
const MOST_TOLD = 500;
const MOST_EXAMPLES = 3;

const { path, tool, level, change, to, values, known } = ChangedFieldSchema.properties;

export const ReportedFieldSchema = titled('ReportedField', {
  path,
  tool,
  level,
  change,
  to,
  files: count('Comparisons with this change.'),
  known,
  examples: Type.Array(untitled({ request_id: Type.String(), path, values }), { maxItems: MOST_EXAMPLES }),
});
export type ReportedField = Static<typeof ReportedFieldSchema>;

export const UpgradeSummarySchema = titled('UpgradeSummary', {
  comparisons: count('Comparisons that the report is made of.'),
  changed: count('Those of them with at least one change that is not known.'),
  unchanged: count('Those without any change.'),
  cut: count('Those that had more changes than a comparison tells: their counts are too low.'),
  fields: count('Different fields that change.'),
  told: count('Those of them that stand in `fields`.'),
  known: count('Those of them that the list of known changes explains.'),
});
export type UpgradeSummary = Static<typeof UpgradeSummarySchema>;

/** `streams[3].tags.x` and `streams[4].tags.x` are one field; `track[@type=Audio]` and `track[@type=Video]` are two. */
const withoutPlaces = (text: string): string => text.replaceAll(/\[\d+\]/g, '[]');

export class UpgradeReport {
  readonly #fields = new Map<string, ReportedField>();
  readonly #summary: UpgradeSummary = {
    comparisons: 0,
    changed: 0,
    unchanged: 0,
    cut: 0,
    fields: 0,
    told: 0,
    known: 0,
  };
  #uncounted = 0;

  add(requestId: string, { fields, summary }: Comparison): void {
    const own = this.#summary;
    own.comparisons += 1;
    if (summary.fields > summary.known) own.changed += 1;
    if (summary.fields === 0) own.unchanged += 1;
    if (summary.told < summary.fields) own.cut += 1;
    const seen = new Set<string>();
    for (const field of fields) {
      const general = withoutPlaces(field.path);
      const key = JSON.stringify([field.tool, field.level, general, field.change, field.known !== undefined]);
      // Once for a file, however many of its streams have it.
      if (seen.has(key)) continue;
      seen.add(key);
      this.#count(key, general, requestId, field);
    }
  }

  #count(key: string, general: string, requestId: string, field: ChangedField): void {
    let one = this.#fields.get(key);
    if (!one) {
      if (this.#fields.size >= MOST_COUNTED) {
        this.#uncounted += 1;
        return;
      }
      one = {
        path: general,
        tool: field.tool,
        level: field.level,
        change: field.change,
        ...(field.to === undefined ? {} : { to: withoutPlaces(field.to) }),
        files: 0,
        ...(field.known ? { known: field.known } : {}),
        examples: [],
      };
      this.#fields.set(key, one);
    }
    one.files += 1;
    if (one.examples.length < MOST_EXAMPLES)
      one.examples.push({ request_id: requestId, path: field.path, values: field.values });
  }

  /** What most files have first; of the same number the canonical level, and news before what is known. */
  end(): { fields: ReportedField[]; summary: UpgradeSummary } {
    const all = [...this.#fields.values()].sort(
      (a, b) =>
        b.files - a.files ||
        LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level) ||
        Number(a.known !== undefined) - Number(b.known !== undefined) ||
        (a.path < b.path ? -1 : 1),
    );
    const fields = all.slice(0, MOST_TOLD);
    return {
      fields,
      summary: {
        ...this.#summary,
        fields: all.length + this.#uncounted,
        told: fields.length,
        known: all.filter((field) => field.known).length,
      },
    };
  }
}
