/** The result of a measurement, as rows of one table, each with its comparison. */
import { summary, type Summary } from './statistics.ts';

export interface Row {
  /** The name in ranges.yaml, if it has a range there. */
  name: string;
  what: string;
  unit: 'ms' | 'jobs/s' | 'requests/s' | 'MB' | 'KB' | 'writes/job' | '×';
  values: Summary;
  /** The bare tool, or a plain Job, in the same run. */
  against?: { what: string; values: Summary };
  /** The ratio of our figure to the compared one. By default that of the medians. */
  ratio?: number;
  note?: string;
}

export interface Measurement {
  name: string;
  title: string;
  /** The installed release is lost with its record, so it is measured only when it is asked for by name. */
  replacesRelease?: true;
  measure(report: (line: string) => void): Promise<Row[]>;
}

export const one = (value: number): Summary => summary([value]);

export const ratioOf = ({ ratio, values, against }: Row): number | undefined =>
  ratio ?? (against ? values.p50 / against.values.p50 : undefined);
