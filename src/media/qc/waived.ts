/** Findings that somebody accepts. The report stays as it is; they are listed beside it. */
import Type, { type Static } from 'typebox';
import { getOrMake } from '../../base/get_or_make.ts';
import { count, described, oneOf, WaivedSchema } from '../../base/schema_parts.ts';
import type { QcReport } from './schema.ts';
import { passagesIn, waivableOf, remarksIn, WAIVABLE } from './words.ts';

const time = (description: string) => Type.Unsafe<number | null>({ type: ['number', 'null'], description });

export const QcWaivedSchema = described('QcWaived', 'A finding that is waived now.', {
  check: oneOf(WAIVABLE, 'The check that found it.'),
  stream: count('Index of the stream.'),
  from: time('Its start in seconds, as in the report; null: it has no time.'),
  to: time('Its end in seconds, as in the report; null: it has no time.'),
  waived: WaivedSchema,
});
export type QcWaived = Static<typeof QcWaivedSchema>;
type Finding = Omit<QcWaived, 'waived'>;
/** `from` and `to`: what it covers, null of a check without times. */
export type QcWaiver = QcWaived;

/** Two versions of ffmpeg, and two thresholds, put an edge some pictures apart. */
const TOLERANCE_S = 0.5;

const covers = ({ from, to }: QcWaiver, found: Finding): boolean =>
  from === null || to === null || found.from === null || found.to === null
    ? found.from === null
    : found.from >= from - TOLERANCE_S && found.to <= to + TOLERANCE_S;

const findingsOf = (report: QcReport): Finding[] => [
  ...passagesIn(report).flatMap(({ check, stream, list }) => list.map(({ from, to }) => ({ check, stream, from, to }))),
  ...remarksIn(report).flatMap((remark) => waivableOf(remark) ?? []),
];

/** Passages that the report only counts are not among them: where they lie is not known. */
export function waivedIn(report: QcReport, waivers: readonly QcWaiver[]): QcWaived[] {
  const place = ({ check, stream }: Finding): string => `${check} ${stream}`;
  const at = new Map<string, QcWaiver[]>();
  for (const waiver of waivers) getOrMake(at, place(waiver), () => []).push(waiver);
  return findingsOf(report).flatMap((finding) => {
    const found = at.get(place(finding))?.find((waiver) => covers(waiver, finding));
    return found ? [{ ...finding, waived: found.waived }] : [];
  });
}
