/** The schemas of what tools print, where its form is known. */
import Type, { type TSchema } from 'typebox';
import { HlsReportSchema } from '../../../../media/hls/schema.ts';
import { ProbeReportSchema } from '../../../../media/report/schema.ts';
import { C2paReportSchema } from '../../../../media/tools/c2pa_schema.ts';
import type { ResultName } from '../../../../media/tools/table.ts';

interface Report {
  /** For the titles of schemas with this one. */
  title: string;
  schema: TSchema;
}

/** Of results whose schemas the runners are not to load. Other tools have theirs in the descriptor. */
const ELSEWHERE: Partial<Record<ResultName, Report>> = {
  probe_report: { title: 'ProbeReport', schema: ProbeReportSchema },
  c2pa: { title: 'C2pa', schema: C2paReportSchema },
  msv: { title: 'Hls', schema: HlsReportSchema },
};

/** `Msv` for msv. */
export const titleOf = (name: ResultName): string => `${name[0]!.toUpperCase()}${name.slice(1)}`;

export const reportOf = ({ name, report }: { name: ResultName; report?: TSchema }): Report | undefined =>
  ELSEWHERE[name] ?? (report && { title: titleOf(name), schema: report });

export const ANY_OUTPUT = Type.Unsafe<unknown>({
  description: "The tool's own output: a JSON value if its format is JSON, else a string; null if it printed nothing.",
});
