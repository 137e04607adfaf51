/** What the page and its worker say to each other. The worker holds the outputs of one request. */
import type { Answer } from '../../api_calls.ts';
import type { Failure } from '../api/failure.ts';
import type {
  C2paReport,
  ComparisonAnswer,
  HlsReport,
  PolicyResult,
  ProbeReport,
  QcReport,
  QcWaived,
} from '../../api_types.ts';
import type { Found } from './rows.ts';

export type Detail = Answer<'GET media/log/:id'>;

/** What the log says of a request, without what the tools printed. */
export type Facts = { [K in keyof Detail as K extends `${string}-response${string}` ? never : K]: Detail[K] };

export type StoredComparison = Pick<ComparisonAnswer, 'runs' | 'fields' | 'summary'>;

/** Null: it did not run, failed, or its output was not JSON. */
export interface Reports {
  report: ProbeReport | null;
  hls: HlsReport | null;
  c2pa: C2paReport | null;
  qc: QcReport | null;
  waived: QcWaived[] | null;
  policy: PolicyResult | null;
  comparison: StoredComparison | null;
}

export interface Output {
  name: string;
  title: string;
  characters: number;
  rows: number;
}

export interface Opened {
  facts: Facts;
  reports: Reports;
  outputs: Output[];
  /** The answer is too long to be shown: only the facts are here. */
  tooLong: boolean;
}

export interface Asked {
  open: { id: string };
  rows: { output: string; from: number; to: number };
  find: { output: string; text: string };
  /** Of an output as it was printed. */
  whole: { output: string };
}
export interface Told {
  open: Opened;
  rows: string[];
  find: Found;
  whole: Blob;
}

export type Question = { [K in keyof Asked]: { number: number; ask: K; of: Asked[K] } }[keyof Asked];
export type Reply = { number: number; told: Told[keyof Told] } | { number: number; failure: Failure };
